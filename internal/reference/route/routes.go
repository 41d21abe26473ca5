package route

import (
	"net/http"
	"strings"

	"github.com/stepscope/stepscope/internal/base/httpguard"
)

// table lists every route.
func (rt *Router) table() []httpguard.Route {
	return []httpguard.Route{
		httpguard.At("GET", "/health /ping /ready", httpguard.Open, rt.health),
		httpguard.At("GET", "/health_generate", httpguard.Open, rt.healthGenerate),
		httpguard.At("GET", "/metrics", httpguard.Open, rt.Metrics),

		httpguard.At("POST PUT", "/generate", httpguard.Key, rt.generate),
		httpguard.At("POST", "/v1/completions /v1/chat/completions", httpguard.Key, rt.generate),
		httpguard.At("POST", "/v1/embeddings /v1/rerank /v1/score /encode /classify", httpguard.Key, rt.any),
		httpguard.At("POST", "/tokenize /v1/tokenize /detokenize /v1/detokenize", httpguard.Key, rt.any),
		httpguard.At("GET", "/v1/models /v1/models/{model...} /model_info /get_model_info", httpguard.Key, rt.any),

		httpguard.At("GET", "/server_info /get_server_info", httpguard.Key, rt.serverInfo),
		httpguard.At("GET", "/v1/loads", httpguard.Key, rt.loads),
		httpguard.At("GET", "/get_load", httpguard.Key, rt.oldLoad),
		httpguard.At("GET", "/workers", httpguard.Key, rt.listWorkers),
		httpguard.At("GET", "/workers/{id}", httpguard.Key, rt.oneWorker),

		httpguard.At("GET POST", "/flush_cache", httpguard.Admin, rt.flushCache),
		httpguard.At("POST", "/abort_request", httpguard.Admin, rt.abortRequest),
		httpguard.At("GET POST", "/start_profile", httpguard.Admin, rt.startProfile),
		httpguard.At("GET POST", "/stop_profile /end_profile", httpguard.Admin, rt.stopProfile),
		httpguard.At("GET", "/profile_files", httpguard.Admin, rt.profileFiles),
		httpguard.At("GET", "/profile_files/{window}/{name}", httpguard.Admin, rt.profileFile),
	}
}

// routes builds the handler of the table.
func (rt *Router) routes() http.Handler {
	mux := rt.front.Mux(rt.table(), func(r *http.Request) string {
		return "Not Found: the router has no such route; routes of a worker are at /workers/ID" + r.URL.Path
	})
	known := map[string]httpguard.Route{}
	for _, e := range rt.table() {
		for path := range strings.FieldsSeq(e.Paths) {
			known[path] = e
		}
	}
	// The API of a single worker has separate rules: all routes that are not known to be harmless need the admin key.
	mux.HandleFunc("/workers/{id}/{path...}", func(rw http.ResponseWriter, r *http.Request) {
		e, ok := known["/"+r.PathValue("path")]
		if !ok {
			e.Auth = httpguard.Admin
		}
		rt.front.Protect(e.Auth, func(rw http.ResponseWriter, r *http.Request) {
			if !e.Acts() || rt.front.MayAct(rw, r) {
				rt.ofWorker(rw, r, e.Auth)
			}
		})(rw, r)
	})
	return rt.front.Guard(mux)
}
