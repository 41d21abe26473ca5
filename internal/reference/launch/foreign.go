package launch

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed foreign.txt
var foreignText string

// Foreign is a launch flag of SGLang that stepscope's server, or a benchmark that starts an engine, does not support.
type Foreign struct {
	Value, Values bool   // Value: the flag takes one value; Values: it takes one or more
	Refused       string // reason for which the flag cannot be ignored; "": the flag has no effect and is ignored
	Same          string // value that is accepted even if Refused is set
	Server        bool   // whether the serve command supports the flag; in-process benchmarks do not
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
