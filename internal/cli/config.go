package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/stepscope/stepscope/internal/base/yamltree"
)

// configFile is the value of --config. For the verb generate, it is a file with values of generate's flags, as in
// SGLang. The keys are the flag names in snake case, and the format is YAML or JSON (a subset of YAML). Flags on the
// command line override the file. For other verbs, configFile is the settings file.
type configFile string

// BeforeResolve sets the flags that are not on the command line to the values in the file.
func (c configFile) BeforeResolve(k *kong.Context, trace *kong.Path, e *env) error {
	path, _ := k.FlagValue(trace.Flag).(configFile)
	if path == "" || e.verb != "generate" {
		return nil
	}
	text, err := readYAML(string(path))
	if err != nil {
		return usagef("--config: %v", err)
	}
	tree, problems := yamltree.Parse(text)
	if len(problems) > 0 {
		return usagef("--config %s:%v", path, problems[0])
	}
	if tree.Kind != yamltree.Map && tree.Kind != yamltree.Null {
		return usagef("--config %s: expected flags and their values", path)
	}
	flags := map[string]*kong.Flag{}
	for _, f := range k.Flags() {
		for _, name := range append([]string{f.Name}, f.Aliases...) {
			flags[strings.ReplaceAll(name, "-", "_")] = f
		}
	}
	answers := map[*kong.Flag]any{}
	for _, e := range tree.Entries {
		f := flags[strings.ReplaceAll(e.Key, "-", "_")]
		if f == nil || f == trace.Flag || f.Name == "help" {
			return usagef("--config %s:%d:%d: there is no flag %s", path, e.Line, e.Column, e.Key)
		}
		answers[f] = flagValue(e.Value.Plain())
	}
	k.AddResolver(kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, f *kong.Flag) (any, error) {
		return answers[f], nil
	}))
	return nil
}

// flagValue converts a value to the form that kong decodes: a list of strings for a list, a string for any other value.
func flagValue(v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = fmt.Sprint(v[i])
		}
		return out
	}
	return fmt.Sprint(v)
}

// readYAML reads a file. If the file is too large, readYAML reads only one byte more than the maximum size, so that the
// parser rejects the text.
func readYAML(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, yamltree.MostBytes+1))
}
