package server

import (
	"net/http"
	"strings"
)

// auth is how a route is protected.
type auth int

const (
	authNone  auth = iota // probes and scrapes need no secret
	authKey               // the API key, when there is one
	authAdmin             // the admin key when there is one, else the API key
)

type route struct {
	methods string // space-separated
	paths   string // space-separated: the present name first, then older ones
	auth    auth
	handler http.HandlerFunc
}

// table lists every route. Old and new names are the same route.
func (s *Server) table() []route {
	return []route{
		{"GET", "/health /health_generate /ping", authNone, s.health},
		{"GET", "/ready", authNone, s.ready},
		{"GET", "/metrics", authNone, s.scrape},

		{"POST PUT", "/generate", authKey, s.generate},
		{"POST", "/v1/completions", authKey, s.completions},
		{"POST", "/v1/chat/completions", authKey, s.chat},
		{"POST", "/v1/embeddings", authKey, s.embeddings},
		{"POST", "/tokenize /v1/tokenize", authKey, s.tokenize},
		{"POST", "/detokenize /v1/detokenize", authKey, s.detokenize},

		{"GET", "/v1/models", authKey, s.models},
		{"GET", "/v1/models/{model...}", authKey, s.model},
		{"GET", "/model_info /get_model_info", authKey, s.modelInfo},
		{"GET", "/server_info /get_server_info", authKey, s.serverInfo},
		{"GET", "/v1/loads", authKey, s.loads},
		{"GET", "/get_load", authKey, s.oldLoad},

		{"GET POST", "/flush_cache", authAdmin, s.flushCache},
		{"POST", "/abort_request", authAdmin, s.abortRequest},
		{"GET POST", "/start_profile", authAdmin, s.startProfile},
		// Guides call it /end_profile; servers only know /stop_profile.
		{"GET POST", "/stop_profile /end_profile", authAdmin, s.stopProfile},
		{"GET", "/profile_files", authAdmin, s.profileFiles},
		{"GET", "/profile_files/{id}/{name}", authAdmin, s.profileFile},
	}
}

func (s *Server) routes() http.Handler {
	type path struct {
		auth    auth
		methods map[string]http.HandlerFunc
	}
	paths := map[string]*path{}
	for _, r := range s.table() {
		for name := range strings.FieldsSeq(r.paths) {
			p := &path{auth: r.auth, methods: map[string]http.HandlerFunc{}}
			for m := range strings.FieldsSeq(r.methods) {
				p.methods[m] = r.handler
			}
			paths[name] = p
		}
	}
	mux := http.NewServeMux()
	for name, p := range paths {
		mux.HandleFunc(name, func(w http.ResponseWriter, r *http.Request) {
			if !s.authorized(p.auth, r) {
				writeJSON(w, http.StatusUnauthorized, []byte(`{"error":"Unauthorized"}`))
				return
			}
			h := p.methods[r.Method]
			if h == nil && r.Method == http.MethodHead {
				h = p.methods[http.MethodGet]
			}
			if h == nil {
				var allow []string
				for m := range p.methods {
					allow = append(allow, m)
				}
				w.Header().Set("Allow", strings.Join(sorted(allow), ", "))
				s.refuse(w, dialectGeneral, &apiError{status: http.StatusMethodNotAllowed, message: "Method Not Allowed"})
				return
			}
			h(w, r)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if !s.authorized(authKey, r) {
			writeJSON(w, http.StatusUnauthorized, []byte(`{"error":"Unauthorized"}`))
			return
		}
		s.refuse(w, dialectGeneral, &apiError{status: http.StatusNotFound, message: "Not Found"})
	})
	return s.guard(mux)
}
