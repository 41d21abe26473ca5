package route

import (
	"encoding/json"
	"net/http"

	"github.com/stepscope/stepscope/internal/api"
)

// WorkerInfo is a worker in the reply of GET /workers. The fields are those of SGLang's gateway.
type WorkerInfo struct {
	ID            string `json:"id"` // the worker's API is at ROUTER/workers/ID
	URL           string `json:"url"`
	Type          string `json:"worker_type"` // regular, prefill or decode
	Healthy       bool   `json:"is_healthy"`
	Load          int64  `json:"load"` // number of client requests on the worker
	BootstrapPort int64  `json:"bootstrap_port,omitempty"`
}

// WorkerList is the reply of GET /workers.
type WorkerList struct {
	Router  string         `json:"router"` // "stepscope" shows that /workers/{id}/… leads to each worker
	Workers []WorkerInfo   `json:"workers"`
	Total   int            `json:"total"`
	Stats   map[string]int `json:"stats"`
}

func (rt *Router) list() []WorkerInfo {
	out := make([]WorkerInfo, len(rt.workers))
	for i, w := range rt.workers {
		out[i] = WorkerInfo{w.id, w.url, w.kind(), w.up.Load(), w.running.Load(), w.bootstrapPort.Load()}
	}
	return out
}

func (w *worker) kind() string {
	if w.role == "" {
		return "regular"
	}
	return w.role
}

func (rt *Router) listWorkers(rw http.ResponseWriter, _ *http.Request) {
	l := WorkerList{Router: "stepscope", Workers: rt.list(), Total: len(rt.workers), Stats: map[string]int{"prefill_count": 0, "decode_count": 0, "regular_count": 0}}
	for _, w := range rt.workers {
		l.Stats[w.kind()+"_count"]++
	}
	writeJSON(rw, http.StatusOK, l)
}

// health returns 200 if requests can be served.
func (rt *Router) health(rw http.ResponseWriter, _ *http.Request) {
	if rt.draining.Load() || !rt.canServe() {
		rw.WriteHeader(http.StatusServiceUnavailable)
	}
}

// ups returns the workers that are up.
func (rt *Router) ups() (out []*worker) {
	for _, w := range rt.workers {
		if w.up.Load() {
			out = append(out, w)
		}
	}
	return out
}

// gather sends the request to all workers that are up.
func (rt *Router) gather(rw http.ResponseWriter, r *http.Request) ([]outcome, bool) {
	to := rt.ups()
	if len(to) == 0 {
		rt.refuse(rw, r.URL.Path, exhausted(nil))
		return nil, false
	}
	q := &request{method: http.MethodGet, path: r.URL.RequestURI(), header: r.Header}
	all := rt.fan(r.Context(), to, q, nil, startPatience)
	for _, o := range all {
		if o.Success {
			return all, true
		}
	}
	if all[0].Status == 0 {
		rt.refuse(rw, r.URL.Path, &failure{http.StatusBadGateway, all[0].URL + ": " + all[0].Message})
		return nil, false
	}
	all[0].pass(rw)
	return nil, false
}

// serverInfo is GET /server_info. In plain mode the reply is the reply of the first worker with the internal states of
// all workers. In PD mode the reply contains, like the reply of SGLang's balancer, the information of each worker and
// the states of the decode workers.
func (rt *Router) serverInfo(rw http.ResponseWriter, r *http.Request) {
	all, ok := rt.gather(rw, r)
	if !ok {
		return
	}
	out := map[string]any{}
	states, sides := []any{}, map[string][]any{api.Prefill: {}, api.Decode: {}}
	for _, o := range all {
		var info map[string]any
		if !o.Success || json.Unmarshal(o.body, &info) != nil {
			continue
		}
		if own, ok := info["internal_states"].([]any); ok && o.Role != api.Prefill {
			states = append(states, own...)
		}
		if o.Role != "" {
			sides[o.Role] = append(sides[o.Role], info)
		} else if len(out) == 0 {
			out = info
		}
	}
	if rt.plain == nil {
		out[api.Prefill], out[api.Decode] = sides[api.Prefill], sides[api.Decode]
	}
	out["internal_states"], out["workers"] = states, rt.list()
	writeJSON(rw, http.StatusOK, out)
}

// loads is GET /v1/loads. It returns the reply of the first worker with the ranks of all workers.
func (rt *Router) loads(rw http.ResponseWriter, r *http.Request) {
	all, ok := rt.gather(rw, r)
	if !ok {
		return
	}
	var out map[string]any
	list := []any{}
	for _, o := range all {
		var one map[string]any
		if !o.Success || json.Unmarshal(o.body, &one) != nil {
			continue
		}
		if out == nil {
			out = one
		}
		ranks, _ := one["loads"].([]any)
		list = append(list, named(ranks, o.Worker)...)
	}
	if out == nil { // ?format=prometheus is not JSON
		rw.Header().Set("Content-Type", all[0].header.Get("Content-Type"))
		rw.Write(all[0].body)
		return
	}
	out["loads"] = list
	writeJSON(rw, http.StatusOK, out)
}

// oldLoad is GET /get_load. It returns the ranks of all workers.
func (rt *Router) oldLoad(rw http.ResponseWriter, r *http.Request) {
	all, ok := rt.gather(rw, r)
	if !ok {
		return
	}
	list := []any{}
	for _, o := range all {
		var ranks []any
		if o.Success && json.Unmarshal(o.body, &ranks) == nil {
			list = append(list, named(ranks, o.Worker)...)
		}
	}
	writeJSON(rw, http.StatusOK, list)
}

// named adds the worker's name to each rank.
func named(ranks []any, worker string) []any {
	for _, rank := range ranks {
		if fields, ok := rank.(map[string]any); ok {
			fields["worker"] = worker
		}
	}
	return ranks
}
