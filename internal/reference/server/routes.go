package server

import "github.com/stepscope/stepscope/internal/base/httpguard"

// table lists every route. Old and new names share one route.
func (s *Server) table() []httpguard.Route {
	return append(append(s.windows.Table(), s.foreignRoutes()...),
		httpguard.At("GET", "/health /health_generate /ping", httpguard.Open, s.health),
		httpguard.At("GET", "/ready", httpguard.Open, s.ready),
		httpguard.At("GET", "/metrics", httpguard.Open, s.scrape),

		httpguard.At("POST PUT", "/generate", httpguard.Key, s.generate),
		httpguard.At("POST", "/v1/completions", httpguard.Key, s.completions),
		httpguard.At("POST", "/v1/chat/completions", httpguard.Key, s.chat),
		httpguard.At("POST", "/v1/embeddings", httpguard.Key, s.embeddings),
		httpguard.At("POST", "/tokenize /v1/tokenize", httpguard.Key, s.tokenize),
		httpguard.At("POST", "/detokenize /v1/detokenize", httpguard.Key, s.detokenize),

		httpguard.At("GET", "/v1/models", httpguard.Key, s.models),
		httpguard.At("GET", "/v1/models/{model...}", httpguard.Key, s.model),
		httpguard.At("GET", "/model_info /get_model_info", httpguard.Key, s.modelInfo),
		httpguard.At("GET", "/server_info /get_server_info", httpguard.Key, s.serverInfo),
		httpguard.At("GET", "/v1/loads", httpguard.Key, s.loads),
		httpguard.At("GET", "/get_load", httpguard.Key, s.oldLoad),

		httpguard.At("GET POST", "/flush_cache", httpguard.Admin, s.flushCache),
		httpguard.At("POST", "/abort_request", httpguard.Admin, s.abortRequest),
	)
}
