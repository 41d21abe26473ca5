package wire

import "testing"

// TestRedirected: the message suggests the URL to use, if the redirect gives it, and says that redirects are not
// followed.
func TestRedirected(t *testing.T) {
	const says = "the server answers with a redirect (307 Temporary Redirect) to "
	for _, c := range []struct{ what, base, route, location, want string }{
		{"a proxy that wants HTTPS", "http://llm", "/v1/models", "https://llm/v1/models", says + "https://llm/v1/models: give https://llm as --url"},
		{"another port", "http://llm:30000", "/generate", "http://llm:30001/generate", says + "http://llm:30001/generate: give http://llm:30001 as --url"},
		{"an API below a path", "http://llm/old", "/v1/models", "/new/v1/models", says + "/new/v1/models: give http://llm/new as --url"},
		{"a query", "http://llm", "/v1/files?id=1", "//other/v1/files?id=1", says + "//other/v1/files?id=1: give http://other as --url"},
		{"a page to log in", "http://llm", "/v1/models", "https://sso.example/login?to=llm", says + "https://sso.example/login?to=llm, which is not followed, because it would receive the keys: correct the URL"},
		{"itself", "http://llm/", "/v1/models", "/v1/models", says + "/v1/models, which is not followed, because it would receive the keys: correct the URL"},
		{"no HTTP", "http://llm", "/v1/models", "ftp://llm/v1/models", says + "ftp://llm/v1/models, which is not followed: correct the URL"},
		{"no URL", "http://llm", "/v1/models", "http://%zz", says + "http://%zz, which is not followed: correct the URL"},
		{"a password", "http://llm", "/v1/models", "http://me:pw@llm:1/v1/models", says + "http://llm:1/v1/models: give http://llm:1 as --url"},
		{"no Location", "http://llm", "/v1/models", "", ""},
	} {
		if got := Redirected(307, c.base, c.route, c.location); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.what, got, c.want)
		}
	}
	if got := Redirected(201, "http://llm", "/files", "http://llm/files/1"); got != "" {
		t.Errorf("201 taken for a redirect: %s", got)
	}
}
