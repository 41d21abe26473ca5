package wire

import "strings"

// Secret tells of the name of a launch argument whether its value opens something to
// others: what servers say of themselves goes into files that are shown around.
func Secret(name string) bool {
	return strings.HasSuffix(name, "api_key") || strings.Contains(name, "password") || strings.Contains(name, "secret")
}

// WithoutUser is text that should be a URL, for a message, without the user and the password that may stand in it. It
// need not be one: what cannot be parsed is told, too.
func WithoutUser(url string) string {
	from, to := strings.Index(url, "://")+len("://"), strings.LastIndex(url, "@")
	if from < len("://") {
		from = 0
	}
	if to < from {
		return url
	}
	return url[:from] + url[to+1:]
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
