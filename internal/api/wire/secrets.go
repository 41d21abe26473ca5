package wire

import "strings"

// Secret reports whether a launch argument of this name holds a credential. Such arguments must be left out of server
// information, because that is stored in files that people share.
func Secret(name string) bool {
	return strings.HasSuffix(name, "api_key") || strings.Contains(name, "password") || strings.Contains(name, "secret")
}

// WithoutUser removes the user name and password from a URL, so that it can be shown in a message. The text need not be
// a valid URL.
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

// WithoutSecrets returns a copy of a JSON value without secret members. It removes them at any depth, because SGLang's
// servers report their arguments twice.
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
