package server

import (
	"log/slog"
	"unicode/utf8"
)

// logReceived logs the start of a request, with the details that Options.LogRequestsLevel selects.
func (s *Server) logReceived(q *sequence) {
	if !s.o.LogRequests {
		return
	}
	attrs := []any{"rid", q.req.ID, "prompt_tokens", len(q.req.Input), "stream", q.b.stream}
	if s.o.LogRequestsLevel >= 1 {
		p := q.req.Params
		attrs = append(attrs, slog.Group("sampling",
			"max_new_tokens", p.MaxNewTokens, "temperature", p.Temperature, "top_p", p.TopP, "top_k", p.TopK, "ignore_eos", p.IgnoreEOS, "stop", q.stops))
	}
	if s.o.LogRequestsLevel >= 2 {
		attrs = append(attrs, "text", s.logText(s.tok.Decode(q.req.Input, false)))
	}
	s.o.Log.Info("receive request", attrs...)
}

// logFinished logs the end of a request. The caller holds q.b.mu.
func (s *Server) logFinished(q *sequence) {
	if !s.o.LogRequests {
		return
	}
	attrs := []any{
		"rid", q.req.ID, "finish", q.finish.Type, "prompt_tokens", len(q.req.Input), "completion_tokens", q.n, "cached_tokens", q.cached, "dur", q.e2e,
	}
	if q.finish.Message != "" {
		attrs = append(attrs, "reason", q.finish.Message)
	}
	if s.o.LogRequestsLevel >= 2 {
		attrs = append(attrs, "text", s.logText(unescape(q.text)))
	}
	s.o.Log.Info("finish request", attrs...)
}

// logText truncates a text for the log, unless the log level selects complete texts.
func (s *Server) logText(text string) string {
	const most = 2 << 10
	if s.o.LogRequestsLevel >= 3 || len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
