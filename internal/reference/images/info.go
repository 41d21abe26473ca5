package images

import (
	"encoding/json"
	"maps"
	"net/http"

	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/httpguard"
)

// status is the reply to probes.
type status struct {
	Status string `json:"status"`
}

// health is GET /health and /health_generate. Neither route generates an image, because that would take too long for a
// probe.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	err := s.engine.Err()
	if err == nil && s.queue.isClosed() {
		err = errShutdown
	}
	if err == nil {
		s.reply(w, status{"ok"})
		return
	}
	text, _ := json.Marshal(struct {
		Status string `json:"status"`
		Error  string `json:"error"`
	}{"unhealthy", err.Error()}) // cannot fail: only strings
	httpguard.WriteJSON(w, http.StatusServiceUnavailable, text)
}

// precisions are SGLang's names of data types.
var precisions = map[string]string{"bfloat16": "bf16", "float32": "fp32"}

func (s *Server) card() wire.DiffusionCard {
	return wire.DiffusionCard{
		ID: s.name, Object: "model", Created: s.created.Unix(), OwnedBy: "sglang", Root: s.name, NumGPUs: s.info.TP, TaskType: "T2I",
		DiTPrecision: precisions[s.info.DType], VAEPrecision: "fp32",
		PipelineName: s.info.Config.Pipeline, PipelineClass: s.info.Config.Pipeline,
	}
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	s.reply(w, struct {
		Object string               `json:"object"`
		Data   []wire.DiffusionCard `json:"data"`
	}{"list", []wire.DiffusionCard{s.card()}})
}

func (s *Server) model(w http.ResponseWriter, r *http.Request) {
	if name := r.PathValue("model"); name != s.name {
		s.refuse(w, &httpguard.Error{Status: http.StatusNotFound, Message: "The model '" + name + "' does not exist"})
		return
	}
	s.reply(w, s.card())
}

// oldModels is GET /models, which is deprecated in SGLang.
func (s *Server) oldModels(w http.ResponseWriter, _ *http.Request) {
	c := s.card()
	s.reply(w, map[string]any{
		"model_path": s.info.ModelPath, "num_gpus": c.NumGPUs, "task_type": c.TaskType, "dit_precision": c.DiTPrecision, "vae_precision": c.VAEPrecision,
		"pipeline_name": c.PipelineName, "pipeline_class": c.PipelineClass,
	})
}

func (s *Server) modelInfo(w http.ResponseWriter, _ *http.Request) {
	s.reply(w, map[string]any{"model_path": s.info.ModelPath})
}

// serverInfo is GET /server_info. It returns the launch arguments without secrets.
func (s *Server) serverInfo(w http.ResponseWriter, _ *http.Request) {
	out := map[string]any{"model_path": s.info.ModelPath, "served_model_name": s.name, "tp_size": s.info.TP, "num_gpus": s.info.TP}
	maps.Copy(out, s.o.Args)
	for key := range out {
		if wire.Secret(key) {
			delete(out, key)
		}
	}
	// The capture command needs these fields. They give the number of ranks and show whether the ranks are working.
	out["dp_size"], out["internal_states"] = 1, []map[string]any{{"dp_rank": 0, "forward_ct": s.steps.Load()}}
	out["task_type"], out["pipeline_class_name"], out["version"] = "T2I", s.info.Config.Pipeline, s.o.Version
	s.reply(w, out)
}

// loads is GET /v1/loads in the format of the LLM server. A pipeline reports only its queue.
func (s *Server) loads(w http.ResponseWriter, _ *http.Request) {
	waiting, running := s.queue.sizes()
	s.reply(w, map[string]any{
		"timestamp": s.o.Now().UTC().Format("2006-01-02T15:04:05.000000-07:00"), "version": s.o.Version, "dp_rank_count": 1,
		"loads": []map[string]any{{"dp_rank": 0, "num_running_reqs": running, "num_waiting_reqs": waiting}},
	})
}
