package httpguard

import (
	"context"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// bears tells whether the request brings the key as bearer token, in constant time.
// No key is wanted if it is empty.
func bears(r *http.Request, want string) bool {
	if want == "" {
		return true
	}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(key), []byte(want)) == 1
}

// Guard stands before all routes. A server on loopback without a key trusts every
// local program, but not the web pages a local browser shows: they could make it
// write profile files. So such a server answers only to loopback's names (a page
// may point a name of its own at 127.0.0.1) and to no foreign origin.
func (f *Front) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked(r)
		rc := http.NewResponseController(w)
		// The deadline of an earlier reply on this connection is no longer meant.
		rc.SetWriteDeadline(time.Time{})
		if r.Body != http.NoBody {
			// net/http reads what a handler leaves of the body; that must end too.
			rc.SetReadDeadline(time.Now().Add(f.BodyTimeout))
			room := &held{}
			defer room.release()
			r = r.WithContext(context.WithValue(r.Context(), heldKey{}, room))
		}
		if f.APIKey == "" {
			allowed := f.AllowedHosts
			if f.Public.Load() { // under whatever name one comes, but no page of another makes a browser come
				allowed = []string{hostOf(r.Host)}
			}
			if reason := notLocal(r, allowed); reason != "" {
				f.Refuse(w, r, http.StatusForbidden, reason)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// MayAct looks at a request of a route that acts, and refuses it where it may not: HEAD asks for headers alone, and what
// a browser sends for a page of another site, be it an image, a link or a form, is not its user's wish. Browsers say
// whose page it was, also where they send no Origin; programs say nothing.
func (f *Front) MayAct(w http.ResponseWriter, r *http.Request) bool {
	switch site := strings.ToLower(r.Header.Get("Sec-Fetch-Site")); {
	case r.Method == http.MethodHead:
		f.Refuse(w, r, http.StatusMethodNotAllowed, "Method Not Allowed")
	case site == "cross-site" || site == "same-site":
		f.Refuse(w, r, http.StatusForbidden, "a web page of another origin may not do this")
	default:
		return true
	}
	return false
}

// notLocal says why a server on loopback without a key refuses a request: it names
// another host, or comes from a web page. It is empty for one that is welcome. The
// allowed are names besides those of loopback.
func notLocal(r *http.Request, allowed []string) string {
	if !localName(r.Host, allowed) {
		return "the host name of the request is not one of loopback: use localhost, or allow the name, or set an API key"
	}
	if o := r.Header.Get("Origin"); o != "" {
		if u, err := url.Parse(o); err != nil || u.Host == "" || !localName(u.Host, allowed) {
			return "requests from web pages of other origins need an API key"
		}
	}
	return ""
}

// hostOf is a host without its port.
func hostOf(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// localName reports whether a host, perhaps with a port, names loopback.
func localName(host string, allowed []string) bool {
	host = hostOf(host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "" {
		return true
	}
	// 0.0.0.0 reaches loopback too; SGLang's clients use it as their default.
	if ip := net.ParseIP(host); ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		return true
	}
	return slices.Contains(allowed, host)
}
