package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/httpguard"
)

func (s *Server) reply(w http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		s.refuse(w, dialectGeneral, err)
		return
	}
	httpguard.WriteJSON(w, http.StatusOK, text)
}

func (s *Server) card() wire.ModelCard {
	return wire.ModelCard{
		ID: s.name, Object: "model", Created: s.created.Unix(), OwnedBy: "sglang", Root: s.name, MaxModelLen: s.info.ContextLen,
	}
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	s.reply(w, wire.ModelList{Object: "list", Data: []wire.ModelCard{s.card()}})
}

func (s *Server) model(w http.ResponseWriter, r *http.Request) {
	if name := r.PathValue("model"); name != s.name {
		text, _ := json.Marshal(map[string]any{"error": map[string]any{
			"message": "The model '" + name + "' does not exist", "type": "invalid_request_error", "param": "model", "code": "model_not_found",
		}})
		httpguard.WriteJSON(w, http.StatusNotFound, text)
		return
	}
	s.reply(w, s.card())
}

func (s *Server) modelInfo(w http.ResponseWriter, _ *http.Request) {
	s.reply(w, wire.ModelInfo{
		ModelPath: s.info.ModelPath, ServedModelName: s.name, TokenizerPath: s.info.TokenizerPath, IsGeneration: true,
		WeightVersion: s.info.WeightVersion, LoadFormat: s.info.LoadFormat, ModelType: s.info.ModelType, DisaggregationMode: cmp.Or(s.info.Role, "null"), Architectures: s.info.Architectures,
	})
}

// args returns the launch arguments without secrets, and adds fields that clients need.
func (s *Server) args() map[string]any {
	out := map[string]any{
		"model_path": s.info.ModelPath, "tokenizer_path": s.info.TokenizerPath, "served_model_name": s.name, "load_format": s.info.LoadFormat,
		"context_length": s.info.ContextLen, "dp_size": max(1, s.info.DP), "tp_size": max(1, s.info.TP), "pp_size": max(1, s.info.PP),
		"ep_size": max(1, s.info.EP), "max_running_requests": s.info.MaxRunningRequests, "enable_metrics": s.o.EnableMetrics,
		"incremental_streaming_output": s.o.IncrementalOutput,
	}
	maps.Copy(out, s.o.Args)
	for key := range out {
		if wire.Secret(key) {
			delete(out, key)
		}
	}
	return out
}

// serverInfo is GET /server_info. It returns the launch arguments and the state of each data-parallel rank.
func (s *Server) serverInfo(w http.ResponseWriter, _ *http.Request) {
	out := s.args()
	states := []map[string]any{}
	for _, st := range s.engine.Stats() {
		state := s.args()
		state["dp_rank"] = st.DPRank
		state["last_gen_throughput"] = st.GenThroughput
		state["memory_usage"] = map[string]any{
			"weight": gib(s.info.WeightBytes), "kvcache": gib(s.info.KVBytes), "graph": gib(s.info.GraphBytes), "token_capacity": s.info.TokenCapacity,
		}
		state["effective_max_running_requests_per_dp"] = s.info.MaxRunningRequests
		state["forward_ct"] = st.ForwardCt
		states = append(states, state)
	}
	out["internal_states"] = states
	out["max_total_num_tokens"] = s.info.TokenCapacity
	out["max_req_input_len"] = s.info.ContextLen - 1
	out["status"] = "ready"
	if s.draining.Load() {
		out["status"] = "draining"
	}
	out["version"] = s.o.Version
	out["kv_events"] = nil
	out["frontend"] = "stepscope"
	out["launch_command"] = s.o.Command
	out["startup_time"] = map[string]any{"scheduler_e2e": s.o.Startup.Engine.Seconds(), "tokenizer_e2e": s.o.Startup.All.Seconds()}
	s.reply(w, out)
}

// gib converts bytes to GiB, which SGLang calls GB, to two decimals.
func gib(bytes int64) float64 {
	return float64(bytes*100/(1<<30)) / 100
}

// flushGrace is the maximum time for which a flush without a timeout waits until the engine has released requests whose
// clients already have the last event.
const flushGrace = time.Second

func (s *Server) flushCache(w http.ResponseWriter, r *http.Request) {
	if _, err := s.front.BodyUpTo(w, r, httpguard.MostControl); err != nil {
		s.refuse(w, dialectGeneral, err)
		return
	}
	wait := 0.0
	if v := r.URL.Query().Get("timeout"); v != "" {
		var err error
		wait, err = strconv.ParseFloat(v, 64)
		if err != nil || !(wait >= 0 && wait <= 86400) {
			s.refuse(w, dialectGeneral, wire.Refuse("timeout", "want seconds in [0, 86400], got %q", v))
			return
		}
	}
	limit := time.Duration(wait * float64(time.Second))
	if limit < flushGrace && s.running() == 0 {
		limit = flushGrace
	}
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	err := s.engine.FlushCache(ctx)
	switch {
	case err == nil:
		httpguard.WriteText(w, http.StatusOK, "Cache flushed.\nPlease check backend logs for more details. "+
			"(When there are running or waiting requests, the operation will not be performed.)\n")
	case errors.Is(err, api.ErrNotIdle), errors.Is(err, context.DeadlineExceeded):
		httpguard.WriteText(w, http.StatusBadRequest, "Flush cache failed.\n")
	default:
		httpguard.WriteText(w, http.StatusBadRequest, "Flush cache failed: "+err.Error()+"\n")
	}
}

// abortRequest is POST /abort_request. As in SGLang, an id also matches every request whose id begins with it.
func (s *Server) abortRequest(w http.ResponseWriter, r *http.Request) {
	var req wire.AbortRequest
	body, err := s.front.BodyUpTo(w, r, httpguard.MostControl)
	if err == nil {
		err = wire.Decode(body, &req)
	}
	if err != nil {
		s.refuse(w, dialectNative, err)
		return
	}
	s.mu.Lock()
	var hit []*sequence
	for id, q := range s.active {
		if !q.req.Probe && (req.AbortAll || req.RID != "" && strings.HasPrefix(id, req.RID)) {
			hit = append(hit, q)
		}
	}
	s.mu.Unlock()
	for _, q := range hit {
		q.cancel(errAborted)
	}
	w.WriteHeader(http.StatusOK)
}

func (s *Server) embeddings(w http.ResponseWriter, r *http.Request) {
	if _, err := s.front.Body(w, r); err != nil {
		s.refuse(w, dialectOpenAI, err)
		return
	}
	s.refuse(w, dialectOpenAI, badRequest("This model does not appear to be an embedding model by default. "+
		"Please add `--is-embedding` when launching the server or try another model."))
}
