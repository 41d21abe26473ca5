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

// bears reports in constant time whether the request carries the key as a bearer token. An empty key accepts every
// request.
func bears(r *http.Request, want string) bool {
	if want == "" {
		return true
	}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(key), []byte(want)) == 1
}

// Guard wraps all routes. A server on loopback without a key trusts every local program. It does not trust web pages in
// a local browser, because they could make the server write profile files. Such a server therefore accepts only
// loopback host names, because a web site may let its own name resolve to 127.0.0.1, and rejects foreign origins.
func (f *Front) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked(r)
		rc := http.NewResponseController(w)
		// Clear the deadline of an earlier reply on this connection.
		rc.SetWriteDeadline(time.Time{})
		if r.Body != http.NoBody {
			// net/http reads the rest of the body after the handler has returned. The deadline limits that read too.
			rc.SetReadDeadline(time.Now().Add(f.BodyTimeout))
			room := &held{}
			defer room.release()
			r = r.WithContext(context.WithValue(r.Context(), heldKey{}, room))
		}
		if f.APIKey == "" {
			allowed := f.AllowedHosts
			if f.Public.Load() { // any host name is allowed, but foreign origins are not
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

// MayAct reports whether a request may use a route that has side effects. If not, it sends a refusal. HEAD is refused
// because it only asks for headers. A request that a page of another site triggers in a browser, by an image, a link or
// a form, is refused because the user did not intend it. Browsers report such a request in Sec-Fetch-Site even if they
// send no Origin. Old browsers, which do not know Sec-Fetch-Site, send the Origin, whose host and port then differ from
// those of the request. Other programs send neither header.
func (f *Front) MayAct(w http.ResponseWriter, r *http.Request) bool {
	switch site := strings.ToLower(r.Header.Get("Sec-Fetch-Site")); {
	case r.Method == http.MethodHead:
		f.Refuse(w, r, http.StatusMethodNotAllowed, "Method Not Allowed")
	case site == "cross-site" || site == "same-site" || site == "" && fromElsewhere(r):
		f.Refuse(w, r, http.StatusForbidden, "web pages of another origin may not do this")
	default:
		return true
	}
	return false
}

// fromElsewhere reports whether the Origin of a request names another host or port than the request itself.
func fromElsewhere(r *http.Request) bool {
	o := r.Header.Get("Origin")
	if o == "" {
		return false
	}
	u, err := url.Parse(o)
	return err != nil || !strings.EqualFold(u.Host, r.Host)
}

// notLocal returns the reason why a server on loopback without a key refuses a request: the request names another host
// or comes from a foreign web page. It returns "" for an acceptable request. allowed lists host names besides those of
// loopback.
func notLocal(r *http.Request, allowed []string) string {
	if !localName(r.Host, allowed) {
		return "the host name of the request is not a loopback name: use localhost, allow the name, or set an API key"
	}
	if o := r.Header.Get("Origin"); o != "" {
		if u, err := url.Parse(o); err != nil || u.Host == "" || !localName(u.Host, allowed) {
			return "requests from web pages of other origins need an API key"
		}
	}
	return ""
}

// hostOf returns the host without its port, in lower case.
func hostOf(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// localName reports whether a host, with or without a port, names loopback or is allowed.
func localName(host string, allowed []string) bool {
	host = hostOf(host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "" {
		return true
	}
	// 0.0.0.0 also reaches loopback, and SGLang's clients use it by default.
	if ip := net.ParseIP(host); ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		return true
	}
	return slices.Contains(allowed, host)
}
