package httpguard

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestMayAct checks the pages that may use routes with side effects.
func TestMayAct(t *testing.T) {
	f := &Front{Log: slog.New(slog.DiscardHandler), Refuse: func(w http.ResponseWriter, _ *http.Request, status int, _ string) { w.WriteHeader(status) }}
	for _, c := range []struct {
		what, method, site, origin string
		may                        bool
	}{
		{"a program", "POST", "", "", true},
		{"the page itself", "POST", "same-origin", "http://localhost:8000", true},
		{"the page in an old browser", "POST", "", "http://localhost:8000", true},
		{"an address that the user has typed", "GET", "none", "", true},
		{"a page of another port", "POST", "same-site", "http://localhost:9000", false},
		{"a page of another port in an old browser", "POST", "", "http://localhost:9000", false},
		{"a page of another name in an old browser", "POST", "", "http://127.0.0.1:8000", false},
		{"a sandboxed page in an old browser", "POST", "", "null", false},
		{"a page of another site", "POST", "cross-site", "https://evil.example", false},
		{"a request for headers", "HEAD", "", "", false},
	} {
		r := httptest.NewRequest(c.method, "http://localhost:8000/api/live/capture", nil)
		for name, value := range map[string]string{"Sec-Fetch-Site": c.site, "Origin": c.origin} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if got := f.MayAct(httptest.NewRecorder(), r); got != c.may {
			t.Errorf("%s: %t", c.what, got)
		}
	}
}
