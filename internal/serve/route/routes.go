package route

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/serve/server"
)

// auth is how a route is protected.
type auth int

const (
	authNone  auth = iota // probes and scrapes need no secret
	authKey               // the API key, when there is one
	authAdmin             // the admin key when there is one, else the API key
)

type endpoint struct {
	methods string // space-separated
	paths   string // space-separated: the present name first, then older ones
	auth    auth
	handler http.HandlerFunc
}

// table lists every route.
func (rt *Router) table() []endpoint {
	return []endpoint{
		{"GET", "/health /ping /ready", authNone, rt.health},
		{"GET", "/health_generate", authNone, rt.healthGenerate},
		{"GET", "/metrics", authNone, rt.Metrics},

		{"POST PUT", "/generate", authKey, rt.generate},
		{"POST", "/v1/completions /v1/chat/completions", authKey, rt.generate},
		{"POST", "/v1/embeddings /v1/rerank /v1/score /encode /classify", authKey, rt.any},
		{"POST", "/tokenize /v1/tokenize /detokenize /v1/detokenize", authKey, rt.any},
		{"GET", "/v1/models /v1/models/{model...} /model_info /get_model_info", authKey, rt.any},

		{"GET", "/server_info /get_server_info", authKey, rt.serverInfo},
		{"GET", "/v1/loads", authKey, rt.loads},
		{"GET", "/get_load", authKey, rt.oldLoad},
		{"GET", "/workers", authKey, rt.listWorkers},
		{"GET", "/workers/{id}", authKey, rt.oneWorker},

		{"GET POST", "/flush_cache", authAdmin, rt.flushCache},
		{"POST", "/abort_request", authAdmin, rt.abortRequest},
		{"GET POST", "/start_profile", authAdmin, rt.startProfile},
		{"GET POST", "/stop_profile /end_profile", authAdmin, rt.stopProfile},
		{"GET", "/profile_files", authAdmin, rt.profileFiles},
		{"GET", "/profile_files/{window}/{name}", authAdmin, rt.profileFile},
	}
}

// routes joins the table to a handler.
func (rt *Router) routes() http.Handler {
	mux := http.NewServeMux()
	levels := map[string]auth{}
	for _, e := range rt.table() {
		methods := strings.Fields(e.methods)
		for path := range strings.FieldsSeq(e.paths) {
			levels[path] = e.auth
			mux.HandleFunc(path, func(rw http.ResponseWriter, r *http.Request) {
				get := r.Method == http.MethodHead && slices.Contains(methods, http.MethodGet)
				switch {
				case !rt.authorized(e.auth, r):
					unauthorized(rw)
				case !get && !slices.Contains(methods, r.Method):
					rw.Header().Set("Allow", strings.Join(methods, ", "))
					rt.refuse(rw, r.URL.Path, &failure{http.StatusMethodNotAllowed, "Method Not Allowed"})
				default:
					e.handler(rw, r)
				}
			})
		}
	}
	// A worker's own API, under its own rules: what is not known to be harmless needs
	// the admin key.
	mux.HandleFunc("/workers/{id}/{path...}", func(rw http.ResponseWriter, r *http.Request) {
		level, ok := levels["/"+r.PathValue("path")]
		if !ok {
			level = authAdmin
		}
		if !rt.authorized(level, r) {
			unauthorized(rw)
			return
		}
		rt.ofWorker(rw, r, level)
	})
	mux.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
		if !rt.authorized(authKey, r) {
			unauthorized(rw)
			return
		}
		rt.refuse(rw, r.URL.Path, &failure{http.StatusNotFound, "Not Found: the router has no such route; one of a worker is at /workers/ID" + r.URL.Path})
	})
	return rt.guard(mux)
}

func unauthorized(rw http.ResponseWriter) {
	writeJSON(rw, http.StatusUnauthorized, map[string]string{"error": "Unauthorized"})
}

func (rt *Router) authorized(level auth, r *http.Request) bool {
	want := rt.o.APIKey
	if level == authAdmin && rt.o.AdminAPIKey != "" {
		want = rt.o.AdminAPIKey
	}
	return level == authNone || server.Bears(r, want)
}

// guard stands before all routes; see that of package server.
func (rt *Router) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(rw)
		// The deadline of an earlier reply on this connection is no longer meant.
		rc.SetWriteDeadline(time.Time{})
		if r.Body != http.NoBody {
			rc.SetReadDeadline(time.Now().Add(rt.o.BodyTimeout))
		}
		if rt.o.APIKey == "" && !rt.public.Load() {
			if reason := server.NotLocal(r, rt.o.AllowedHosts); reason != "" {
				rt.refuse(rw, r.URL.Path, &failure{http.StatusForbidden, reason})
				return
			}
		}
		next.ServeHTTP(rw, r)
	})
}
