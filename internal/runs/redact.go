package runs

import (
	"regexp"
	"strings"
)

// Runs are shown to others, so secrets are removed from command lines. Only the full names of flags are recognised,
// because abbreviations are ambiguous.
var (
	secretFlag = regexp.MustCompile(`(?i)^--?[a-z0-9_-]*(api[-_]?key|password|secret|bearer|credential|(access|auth|hf|api)[-_]?token)[a-z0-9_-]*$`)
	headerFlag = regexp.MustCompile(`^(-H|--[a-z_-]*headers?)$`)
	urlFlag    = "--alertmanager" // its URL may have a token in place of a user, or a query
	tokenInURL = regexp.MustCompile(`://[^/]*@|[?#].*`)
	userInURL  = regexp.MustCompile(`(://[^/@\s:]*):[^/@\s]*@`)
)

const hidden = "***"

// redact hides the values of secret flags, the values of HTTP headers, and passwords in URLs.
func redact(args []string) []string {
	out := make([]string, len(args))
	var hide func(string) string // hides the values of the current flag; nil: the values are not secret
	first := false               // the next argument is a value even if it looks like a flag
	for i, a := range args {
		switch name, value, joined := strings.Cut(a, "="); {
		case hide != nil && (first || !strings.HasPrefix(a, "-")):
			a, first = hide(a), false
		case secretFlag.MatchString(name):
			hide, first = func(string) string { return hidden }, !joined
			if joined {
				a, hide = name+"="+hidden, nil
			}
		case headerFlag.MatchString(name):
			hide, first = hideHeader, !joined
			if joined {
				a = name + "=" + hideHeader(value)
			}
		case name == urlFlag:
			hide, first = hideToken, !joined
			if joined {
				a, hide = name+"="+hideToken(value), nil
			}
		default:
			hide = nil
		}
		out[i] = redactURL(a)
	}
	return out
}

// hideHeader hides the value in "Name: value" or "Name=value" and keeps the name.
func hideHeader(h string) string {
	if i := strings.IndexAny(h, ":="); i >= 0 {
		return h[:i+1] + hidden
	}
	return hidden
}

// hideToken hides the user, the password and the query of a URL.
func hideToken(url string) string {
	return tokenInURL.ReplaceAllStringFunc(url, func(s string) string {
		if s[0] == ':' {
			return "://" + hidden + "@"
		}
		return s[:1] + hidden
	})
}

func redactURL(s string) string { return userInURL.ReplaceAllString(s, "$1:"+hidden+"@") }
