package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/stepscope/stepscope/internal/base/yamltree"
)

// configFile is --config: with generate, as with SGLang's, a file with values of its flags, in snake case: JSON or YAML, of
// which JSON is a part. Flags on the command line beat it. Of other verbs it is the file of settings.
type configFile string

// BeforeResolve has the file answer for flags that are not given.
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
		return usagef("--config %s: want flags and their values", path)
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
			return usagef("--config %s:%d:%d: there is no %s", path, e.Line, e.Column, e.Key)
		}
		answers[f] = flagValue(e.Value.Plain())
	}
	k.AddResolver(kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, f *kong.Flag) (any, error) {
		return answers[f], nil
	}))
	return nil
}

// flagValue is a value as kong's decoders take it: lists of texts for lists, texts for the rest.
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

// readYAML reads a file, or as much of it as shows that it is too long.
func readYAML(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, yamltree.MostBytes+1))
}
