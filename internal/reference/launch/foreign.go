package launch

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed foreign.txt
var foreignText string

// Foreign is a launch flag of SGLang that this server, or a benchmark that starts an engine, does not have.
type Foreign struct {
	Value, Values bool   // it takes a value; one or more values
	Refused       string // why a server that ignored it would be wrong; "": it has no effect here
	Same          string // value with which it is not refused
	Server        bool   // serve supports it, in-process benchmarks do not
}

// ForeignFlag returns the flag with the given name.
func ForeignFlag(name string) (Foreign, bool) {
	f, ok := foreignFlags()[name]
	return f, ok
}

var foreignFlags = sync.OnceValue(func() map[string]Foreign {
	flags, refused, server := map[string]Foreign{}, "", false
	for line := range strings.Lines(foreignText) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		if why, ok := strings.CutPrefix(line, "refused: "); ok {
			refused = why
			continue
		}
		if line == "a server's:" {
			refused, server = "", true
			continue
		}
		for word := range strings.FieldsSeq(line) {
			name, same, value := strings.Cut(word, "=")
			f := Foreign{Value: value, Refused: refused, Same: same, Server: server}
			if same == "+" {
				f.Values, f.Same = true, ""
			}
			flags[name] = f
		}
	}
	return flags
})
