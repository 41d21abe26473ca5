package wire

import (
	"encoding/json"
	"maps"
)

// DefaultBootstrapPort is the port on which prefill servers listen for decode servers.
const DefaultBootstrapPort = 8998

// Bootstraps holds the fields with which a router pairs a prefill server and a decode server. The fields are lists if
// the request is a batch.
type Bootstraps struct {
	Host OneOrMany[string]
	Port OneOrMany[int]   // 0: DefaultBootstrapPort
	Room OneOrMany[int64] // at least 0
}

// ParseBootstraps reads the fields from the extra fields of a request.
func ParseBootstraps(extra map[string]json.RawMessage) (b Bootstraps, err error) {
	f := &fields{raw: maps.Clone(extra)}
	value(f, "bootstrap_host", &b.Host, parseOneOrMany(parseString))
	value(f, "bootstrap_port", &b.Port, parseOneOrMany(func(raw json.RawMessage) (int, error) {
		if string(raw) == "null" {
			return 0, nil
		}
		n, err := parseCount(raw)
		if err == nil && (n < 1 || n > 65535) {
			err = Refuse("", "want a port, got %d", n)
		}
		return n, err
	}))
	value(f, "bootstrap_room", &b.Room, parseOneOrMany(func(raw json.RawMessage) (int64, error) {
		n, err := parseInt(raw)
		if err == nil && n < 0 {
			err = Refuse("", "want at least 0, got %d", n)
		}
		return n, err
	}))
	return b, f.err
}
