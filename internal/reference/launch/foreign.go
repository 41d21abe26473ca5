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
	Value, Values bool   // Value: the flag takes one value; Values: it takes one or more
	Refused       string // why the flag cannot be ignored; "": it has no effect here and is ignored
	Same          string // value with which the flag is accepted although Refused is set
	Server        bool   // the serve command supports the flag, in-process benchmarks do not
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
