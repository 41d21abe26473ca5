package open

import (
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"mime"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
)

var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/page.css
	pageCSS string
	//go:embed page/page.js
	pageJS string

	page = template.Must(template.New("page").Parse(pageHTML))
)

// maxReport is the maximum size of a report's body, in bytes.
const maxReport = 4 << 10

// site answers three requests under one path: GET of the page, GET of the trace, and POST of a report.
//
// Any other user or web page on this machine can reach a loopback port. So a site that runs a server of its own has
// three safeguards. Its path is unguessable. The Host header must be a loopback literal, which a rebound DNS name never
// is. It accepts reports only from its own page. As part of another server ([Handler]) the site's path is not secret,
// because that server controls access.
type site struct {
	token string
	opts  Options
	link  link
	size  int64 // size of the file when Serve began, bytes

	once  sync.Once
	taken chan struct{} // closed by the first report of success

	mu      sync.Mutex
	failure string // latest failure reported by the page
}

func (s *site) root() string { return "/" + s.token + "/" }

// newSite checks the file and builds the link that opens Perfetto.
func newSite(opts Options) (*site, error) {
	opts = opts.withDefaults()
	size, err := check(opts.File)
	if err != nil {
		return nil, err
	}
	if size > wasmHeap {
		opts.Log.Warn("trace may be too large for a browser: cut it, or write it as .pftrace", "path", opts.File, "bytes", size)
	}
	link, err := newLink(opts)
	if err != nil {
		return nil, err
	}
	if link.dropped > 0 {
		opts.Log.Warn("startup commands omitted: the link would be too long",
			"kept", len(opts.Commands)-link.dropped, "dropped", link.dropped, "limit_bytes", maxLink)
	}
	return &site{token: rand.Text(), opts: opts, link: link, size: size, taken: make(chan struct{})}, nil
}

// Handler returns the hand-over as a handler for another server, which must control access. The page must be served at
// a path that ends in a slash. The trace and the report are at paths below the page's path.
func Handler(opts Options) (http.Handler, error) {
	s, err := newSite(opts)
	if err != nil {
		return nil, err
	}
	return headed(http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
	}))), nil
}

func (s *site) handler() http.Handler {
	ours := http.NewCrossOriginProtection().Handler(http.HandlerFunc(s.route))
	return headed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopbackHost(r.Host) {
			http.Error(w, "this server answers on loopback only", http.StatusMisdirectedRequest)
			return
		}
		ours.ServeHTTP(w, r)
	}))
}

// headed sets the headers of every answer.
func headed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")              // the path of a standalone site is secret
		h.Set("Cross-Origin-Resource-Policy", "same-origin") // no page of another site may embed the trace
		// With "same-origin" the browser would disconnect the page from the tab that the page opens.
		h.Set("Cross-Origin-Opener-Policy", "unsafe-none")
		next.ServeHTTP(w, r)
	})
}

// route selects the handler without a mux. A mux would redirect and clean paths, and so reveal more than whether a path
// exists.
func (s *site) route(w http.ResponseWriter, r *http.Request) {
	token, name, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if !ok || subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 {
		http.NotFound(w, r)
		return
	}
	s.answer(w, r, name)
}

func (s *site) answer(w http.ResponseWriter, r *http.Request, name string) {
	method, handle := http.MethodGet, http.HandlerFunc(nil)
	switch name {
	case "":
		handle = s.servePage
	case "trace":
		handle = s.serveTrace
	case "report":
		method, handle = http.MethodPost, s.takeReport
	default:
		http.NotFound(w, r)
		return
	}
	if r.Method != method {
		w.Header().Set("Allow", method)
		http.Error(w, "want "+method, http.StatusMethodNotAllowed)
		return
	}
	handle(w, r)
}

// loopbackHost reports whether a Host header names only this machine. It ignores the port, because an SSH tunnel may
// use a different one.
func loopbackHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	switch strings.Trim(name, "[]") {
	case "127.0.0.1", "localhost", "::1":
		return true
	}
	return false
}

// setup is the configuration of the page's script, as JSON in an attribute of its body.
type setup struct {
	Link     string `json:"link"`
	Origin   string `json:"origin"`
	Title    string `json:"title"`
	FileName string `json:"fileName"`
	Patience int64  `json:"patience"` // ms
}

func (s *site) servePage(w http.ResponseWriter, _ *http.Request) {
	file := filepath.Base(s.opts.File)
	config, err := json.Marshal(setup{s.link.url, s.link.origin, s.opts.Title, file, s.opts.Patience.Milliseconds()})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	nonce := rand.Text()
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; script-src 'nonce-%[1]s'; style-src 'nonce-%[1]s'; "+
		"img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", nonce))
	err = page.Execute(w, map[string]any{
		"Nonce": nonce,
		"CSS":   template.CSS(pageCSS),
		"JS":    template.JS(pageJS),
		"Setup": string(config),
		"Title": s.opts.Title,
		"File":  file,
		"Size":  bytesText(s.size),
		"UI":    strings.TrimPrefix(s.link.origin, "https://"),
		"Home":  s.link.origin,
	})
	if err != nil { // the browser disconnected
		s.opts.Log.Debug("page not sent", "err", err)
	}
}

func (s *site) serveTrace(w http.ResponseWriter, r *http.Request) {
	f, info, err := open(s.opts.File)
	if err != nil {
		s.opts.Log.Warn("trace cannot be read any more", "err", err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer f.Close()
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	if d := mime.FormatMediaType("attachment", map[string]string{"filename": info.Name()}); d != "" {
		h.Set("Content-Disposition", d)
	}
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// takeReport receives the outcome of the hand-over: {"state":"done"} or {"state":"failed","reason":…}.
func (s *site) takeReport(w http.ResponseWriter, r *http.Request) {
	var report struct{ State, Reason string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxReport)).Decode(&report); err != nil {
		http.Error(w, "report: "+err.Error(), http.StatusBadRequest)
		return
	}
	switch report.State {
	case "done":
		w.WriteHeader(http.StatusNoContent)
		s.opts.Log.Info("perfetto has the trace", "path", s.opts.File)
		s.once.Do(func() { close(s.taken) })
	case "failed":
		w.WriteHeader(http.StatusNoContent)
		s.mu.Lock()
		s.failure = report.Reason
		s.mu.Unlock()
		s.opts.Log.Warn("hand-over failed; try again on the page", "path", s.opts.File, "reason", report.Reason)
	default:
		http.Error(w, fmt.Sprintf("report: unknown state %q", report.State), http.StatusBadRequest)
	}
}

// interrupted returns the error of an unfinished hand-over, together with the latest failure that the page reported.
func (s *site) interrupted(cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure != "" {
		return fmt.Errorf("open %s in perfetto: %w; the page had reported: %s", s.opts.File, cause, s.failure)
	}
	return fmt.Errorf("open %s in perfetto: %w", s.opts.File, cause)
}

// bytesText formats a size for people, in powers of 1000.
func bytesText(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	v, unit := float64(n), ""
	for _, unit = range []string{"kB", "MB", "GB", "TB"} {
		if v /= 1000; v < 999.95 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}
