package wire

import (
	"encoding/json"
	"maps"
)

// DefaultBootstrapPort is where prefill servers listen for decode servers.
const DefaultBootstrapPort = 8998

// Bootstraps are the fields by which a router has a prefill and a decode server meet:
// lists where the request is a batch.
type Bootstraps struct {
	Host OneOrMany[string]
	Port OneOrMany[int]   // 0: the default one
	Room OneOrMany[int64] // at least 0
}

// ParseBootstraps finds the fields among those that a request's type does not name.
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
