package wire

import "strings"

// Secret tells of the name of a launch argument whether its value opens something to
// others: what servers say of themselves goes into files that are shown around.
func Secret(name string) bool {
	return strings.HasSuffix(name, "api_key") || strings.Contains(name, "password") || strings.Contains(name, "secret")
}

// WithoutSecrets is a copy of a value of JSON without the members that are secrets,
// wherever they are: SGLang's servers say their arguments twice.
func WithoutSecrets(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, x := range v {
			if !Secret(name) {
				out[name] = WithoutSecrets(x)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = WithoutSecrets(x)
		}
		return out
	}
	return v
}
