package cli

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/stepscope/stepscope/internal/reference/launch"
)

// foreignFlag is the hidden flag that collects those flags of SGLang's server that have no effect in stepscope.
const foreignFlag = "foreign-flag"

// foreign is embedded in the structs of verbs that accept the command lines of SGLang's server.
type foreign struct {
	Names []string `name:"foreign-flag" sep:"none" hidden:""`
}

// sayForeign reports the ignored flags in one line.
func (f *foreign) sayForeign(e *env) {
	if text := f.line(); text != "" {
		e.Warn("%s", text)
	}
}

// line returns the line that sayForeign prints, or "" if no flags were ignored.
func (f *foreign) line() string {
	if len(f.Names) == 0 {
		return ""
	}
	return strings.Join(f.Names, ", ") + ": ignored (flags of SGLang's server without effect here)"
}

// takeForeign checks whether args begins with a flag of SGLang's server that the verb accepts but does not itself have.
// If so, it returns the name of the flag. taken is the number of arguments that the flag and its values occupy, or 0.
func takeForeign(n *kong.Node, args []string) (name string, taken int, err error) {
	given, value, hasValue := strings.Cut(strings.TrimPrefix(args[0], "--"), "=")
	given = strings.ReplaceAll(given, "_", "-")
	has := func(name string) bool {
		return slices.ContainsFunc(n.Flags, func(f *kong.Flag) bool { return f.Name == name || slices.Contains(f.Aliases, name) })
	}
	f, ok := launch.ForeignFlag(given)
	if !ok || !has(foreignFlag) || has(given) {
		return "", 0, nil
	}
	name, taken = "--"+given, 1
	switch {
	case !f.Value && hasValue:
		return "", 0, usagef("%s takes no value", name)
	case f.Value && !hasValue:
		for taken < len(args) && (taken == 1 || f.Values) && (!strings.HasPrefix(args[taken], "--") || taken == 1 && !f.Values) {
			taken++
		}
		if taken == 1 {
			return "", 0, usagef("%s wants a value", name)
		}
		value = args[1]
	}
	if f.Refused != "" && (f.Same == "" || value != f.Same) {
		return "", 0, usagef("%s is a flag of SGLang's server that cannot be ignored: %s", strings.TrimSpace(name+" "+value), f.Refused)
	}
	return name, taken, nil
}
