package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
)

// configFile is a file with values of a verb's flags, in snake case: JSON or YAML, of which JSON is a part. Flags on the
// command line beat it.
type configFile string

// mostConfig bounds such a file.
const mostConfig = 1 << 20

// BeforeResolve has the file answer for flags that are not given.
func (c configFile) BeforeResolve(k *kong.Context, trace *kong.Path) error {
	path, _ := k.FlagValue(trace.Flag).(configFile)
	if path == "" {
		return nil
	}
	f, err := os.Stat(string(path))
	if err != nil {
		return usagef("--config: %v", err)
	}
	if f.Size() > mostConfig {
		return usagef("--config %s: %d bytes; want at most %d", path, f.Size(), mostConfig)
	}
	text, err := os.ReadFile(string(path))
	if err != nil {
		return usagef("--config: %v", err)
	}
	values := map[string]any{}
	if err := yaml.Unmarshal(text, &values); err != nil {
		return usagef("--config %s: %s", path, firstLine(yaml.FormatError(err, false, false)))
	}
	flags := map[string]*kong.Flag{}
	for _, f := range k.Flags() {
		for _, name := range append([]string{f.Name}, f.Aliases...) {
			flags[strings.ReplaceAll(name, "-", "_")] = f
		}
	}
	answers := map[*kong.Flag]any{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		f := flags[strings.ReplaceAll(key, "-", "_")]
		if f == nil || f == trace.Flag || f.Name == "help" {
			return usagef("--config %s: there is no %s", path, key)
		}
		answers[f] = flagValue(values[key])
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

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
