package view

import (
	"embed"
	"net/http"
	"strconv"

	"github.com/stepscope/stepscope/internal/base/httpguard"
)

//go:generate go tool esbuild ui/src/main.ts --bundle --format=iife --target=es2022 --charset=utf8 --minify --line-limit=160 --legal-comments=none --entry-names=app --outdir=ui/dist

//go:generate go tool esbuild ui/src/query/worker.ts --bundle --format=iife --target=es2022 --charset=utf8 --minify --legal-comments=none --entry-names=query --outdir=ui/worker

//go:embed ui/index.html ui/dist ui/worker ui/sqlite/*.gz
var files embed.FS

// file returns the embedded file with the given name.
func file(name string) []byte {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the binary was built without its embedded files
	}
	return text
}

// policy allows the page to load resources only from this server, and blocks inline scripts.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// headers adds security headers to every reply.
func headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// pages returns the routes of the page and its resources.
func pages() (routes []httpguard.Route) {
	for _, f := range []struct{ path, file, kind string }{
		{"/{$}", "ui/index.html", "text/html; charset=utf-8"},
		{"/app.js", "ui/dist/app.js", "text/javascript; charset=utf-8"},
		{"/app.css", "ui/dist/app.css", "text/css; charset=utf-8"},
	} {
		text := file(f.file)
		routes = append(routes, httpguard.At("GET", f.path, httpguard.Key, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", f.kind)
			w.Header().Set("Content-Length", strconv.Itoa(len(text)))
			httpguard.WriteWhole(w, http.StatusOK, text)
		}))
	}
	return routes
}

// keyCookie is the cookie that carries the API key, since a browser cannot send custom headers when it requests a page.
const keyCookie = "stepscope-key"

// keyed takes the API key from the printed address and stores it in a cookie. In later requests, it copies the key from
// the cookie to the header that httpguard.Front checks.
func keyed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key := r.URL.Query().Get("key"); key != "" && r.URL.Path == "/" {
			http.SetCookie(w, &http.Cookie{Name: keyCookie, Value: key, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		if c, err := r.Cookie(keyCookie); err == nil && r.Header.Get("Authorization") == "" {
			r.Header.Set("Authorization", "Bearer "+c.Value)
		}
		next.ServeHTTP(w, r)
	})
}
