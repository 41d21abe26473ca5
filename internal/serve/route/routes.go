package route

import (
	"net/http"
	"strings"

	"github.com/stepscope/stepscope/internal/serve/front"
)

// table lists every route.
func (rt *Router) table() []front.Route {
	return []front.Route{
		front.At("GET", "/health /ping /ready", front.Open, rt.health),
		front.At("GET", "/health_generate", front.Open, rt.healthGenerate),
		front.At("GET", "/metrics", front.Open, rt.Metrics),

		front.At("POST PUT", "/generate", front.Key, rt.generate),
		front.At("POST", "/v1/completions /v1/chat/completions", front.Key, rt.generate),
		front.At("POST", "/v1/embeddings /v1/rerank /v1/score /encode /classify", front.Key, rt.any),
		front.At("POST", "/tokenize /v1/tokenize /detokenize /v1/detokenize", front.Key, rt.any),
		front.At("GET", "/v1/models /v1/models/{model...} /model_info /get_model_info", front.Key, rt.any),

		front.At("GET", "/server_info /get_server_info", front.Key, rt.serverInfo),
		front.At("GET", "/v1/loads", front.Key, rt.loads),
		front.At("GET", "/get_load", front.Key, rt.oldLoad),
		front.At("GET", "/workers", front.Key, rt.listWorkers),
		front.At("GET", "/workers/{id}", front.Key, rt.oneWorker),

		front.At("GET POST", "/flush_cache", front.Admin, rt.flushCache),
		front.At("POST", "/abort_request", front.Admin, rt.abortRequest),
		front.At("GET POST", "/start_profile", front.Admin, rt.startProfile),
		front.At("GET POST", "/stop_profile /end_profile", front.Admin, rt.stopProfile),
		front.At("GET", "/profile_files", front.Admin, rt.profileFiles),
		front.At("GET", "/profile_files/{window}/{name}", front.Admin, rt.profileFile),
	}
}

// routes joins the table to a handler.
func (rt *Router) routes() http.Handler {
	mux := rt.front.Mux(rt.table(), func(r *http.Request) string {
		return "Not Found: the router has no such route; one of a worker is at /workers/ID" + r.URL.Path
	})
	known := map[string]front.Route{}
	for _, e := range rt.table() {
		for path := range strings.FieldsSeq(e.Paths) {
			known[path] = e
		}
	}
	// A worker's own API, under its own rules: what is not known to be harmless needs
	// the admin key, and acts.
	mux.HandleFunc("/workers/{id}/{path...}", func(rw http.ResponseWriter, r *http.Request) {
		e, ok := known["/"+r.PathValue("path")]
		if !ok {
			e.Auth = front.Admin
		}
		rt.front.Protect(e.Auth, func(rw http.ResponseWriter, r *http.Request) {
			if !e.Acts() || rt.front.MayAct(rw, r) {
				rt.ofWorker(rw, r, e.Auth)
			}
		})(rw, r)
	})
	return rt.front.Guard(mux)
}
