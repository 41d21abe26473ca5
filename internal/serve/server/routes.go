package server

import "github.com/stepscope/stepscope/internal/serve/front"

// table lists every route. Old and new names are the same route.
func (s *Server) table() []front.Route {
	return append(append(s.windows.Table(), s.foreignRoutes()...),
		front.At("GET", "/health /health_generate /ping", front.Open, s.health),
		front.At("GET", "/ready", front.Open, s.ready),
		front.At("GET", "/metrics", front.Open, s.scrape),

		front.At("POST PUT", "/generate", front.Key, s.generate),
		front.At("POST", "/v1/completions", front.Key, s.completions),
		front.At("POST", "/v1/chat/completions", front.Key, s.chat),
		front.At("POST", "/v1/embeddings", front.Key, s.embeddings),
		front.At("POST", "/tokenize /v1/tokenize", front.Key, s.tokenize),
		front.At("POST", "/detokenize /v1/detokenize", front.Key, s.detokenize),

		front.At("GET", "/v1/models", front.Key, s.models),
		front.At("GET", "/v1/models/{model...}", front.Key, s.model),
		front.At("GET", "/model_info /get_model_info", front.Key, s.modelInfo),
		front.At("GET", "/server_info /get_server_info", front.Key, s.serverInfo),
		front.At("GET", "/v1/loads", front.Key, s.loads),
		front.At("GET", "/get_load", front.Key, s.oldLoad),

		front.At("GET POST", "/flush_cache", front.Admin, s.flushCache),
		front.At("POST", "/abort_request", front.Admin, s.abortRequest),
	)
}
