package server

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// authorized checks the request's key, in constant time.
func (s *Server) authorized(level auth, r *http.Request) bool {
	want := s.o.APIKey
	if level == authAdmin && s.o.AdminAPIKey != "" {
		want = s.o.AdminAPIKey
	}
	if level == authNone || want == "" {
		return true
	}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(key), []byte(want)) == 1
}

// guard stands before all routes. A server on loopback without a key trusts every
// local program, but not the web pages a local browser shows: they could make it
// write profile files. So such a server answers only to loopback's names (a page
// may point a name of its own at 127.0.0.1) and to no foreign origin.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		// The deadline of an earlier reply on this connection is no longer meant.
		rc.SetWriteDeadline(time.Time{})
		if r.Body != http.NoBody {
			// net/http reads what a handler leaves of the body; that must end too.
			rc.SetReadDeadline(time.Now().Add(s.o.BodyTimeout))
		}
		if s.o.APIKey == "" && !s.public.Load() {
			if !s.localName(r.Host) {
				s.refuse(w, dialectGeneral, &apiError{status: http.StatusForbidden,
					message: "the host name of the request is not one of loopback: use localhost, or allow the name, or set an API key"})
				return
			}
			if o := r.Header.Get("Origin"); o != "" && !s.localOrigin(o) {
				s.refuse(w, dialectGeneral, &apiError{status: http.StatusForbidden, message: "requests from web pages of other origins need an API key"})
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) localOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && s.localName(u.Host)
}

// localName reports whether a host, perhaps with a port, names loopback.
func (s *Server) localName(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "" {
		return true
	}
	// 0.0.0.0 reaches loopback too; SGLang's clients use it as their default.
	if ip := net.ParseIP(host); ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		return true
	}
	return slices.Contains(s.o.AllowedHosts, host)
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}
