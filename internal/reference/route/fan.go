package route

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/httpguard"
)

// outcome is the result of a request to one worker.
type outcome struct {
	Worker    string `json:"worker"`
	URL       string `json:"url"`
	Role      string `json:"role,omitempty"`
	Success   bool   `json:"success"`
	Status    int    `json:"status"`  // HTTP status of the worker's reply; 0: no reply
	Message   string `json:"message"` // the reply, or the reason for which there is no reply
	OutputDir string `json:"output_dir,omitempty"`

	header http.Header
	body   []byte
}

// pass sends the complete reply of the worker to the client.
func (o *outcome) pass(rw http.ResponseWriter) { passWhole(rw, o.Status, o.header, o.body) }

// outcomes is a combined reply of several workers.
type outcomes struct {
	Success bool      `json:"success"`
	Message string    `json:"message"`
	Workers []outcome `json:"workers"`
}

// chosen returns the workers that a request addresses: all workers, or those selected by ?role= and ?worker=. The value
// of ?worker= is an id or a URL, and the parameter may be repeated.
func (rt *Router) chosen(r *http.Request) ([]*worker, *failure) {
	query := r.URL.Query()
	role := query.Get("role")
	if role != "" && role != api.Prefill && role != api.Decode {
		return nil, &failure{http.StatusBadRequest, fmt.Sprintf("role %q: give prefill or decode", role)}
	}
	for _, name := range query["worker"] {
		if rt.find(name) == nil {
			return nil, &failure{http.StatusNotFound, fmt.Sprintf("no worker %q: GET /workers lists them", name)}
		}
	}
	var out []*worker
	for _, w := range rt.workers {
		named := len(query["worker"]) == 0
		for _, name := range query["worker"] {
			named = named || rt.find(name) == w
		}
		if named && (role == "" || w.role == role) {
			out = append(out, w)
		}
	}
	if len(out) == 0 {
		return nil, &failure{http.StatusNotFound, "no worker has the requested role and name: GET /workers lists them"}
	}
	return out, nil
}

// find returns a worker by its id or URL, or nil.
func (rt *Router) find(name string) *worker {
	for _, w := range rt.workers {
		if w.id == name || w.url == strings.TrimRight(name, "/") {
			return w
		}
	}
	return nil
}

// fan sends a request to many workers in parallel. Workers that are marked as down also get the request, because such
// workers may only be slow.
func (rt *Router) fan(ctx context.Context, to []*worker, q *request, body func(w *worker) []byte, patience time.Duration) []outcome {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	header := q.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Del("Accept-Encoding") // the router reads the replies
	if body != nil {
		header.Set("Content-Type", "application/json")
	}
	out := make([]outcome, len(to))
	var wg sync.WaitGroup
	for i, w := range to {
		wg.Go(func() {
			o := outcome{Worker: w.id, URL: w.url, Role: w.role}
			defer func() { out[i] = o }()
			sent := *q
			sent.header = header
			if body != nil {
				sent.body = body(w)
			}
			res, err := rt.send(ctx, w, &sent)
			if err == nil {
				defer res.Body.Close()
				o.Status, o.header = res.StatusCode, res.Header
				o.body, err = io.ReadAll(io.LimitReader(res.Body, maxReply))
			}
			switch {
			case err != nil && ctx.Err() != nil:
				o.Message = fmt.Sprintf("no answer within %v", patience)
			case err != nil:
				o.Message = err.Error()
			default:
				o.Success, o.Message = o.Status/100 == 2, wire.Reason(o.body)
			}
		})
	}
	wg.Wait()
	return out
}

// status returns the HTTP status of a combined reply. It is the workers' status if all of them are equal, and otherwise
// Bad Gateway.
func status(all []outcome) int {
	for _, o := range all {
		if o.Status == 0 || o.Status != all[0].Status {
			return http.StatusBadGateway
		}
	}
	return all[0].Status
}

// sum combines outcomes into one reply. done is the text of the reply if all workers succeeded.
func sum(all []outcome, done string) outcomes {
	s := outcomes{Workers: all}
	n := 0
	for _, o := range all {
		if o.Success {
			n++
		}
	}
	s.Success = n == len(all)
	s.Message = fmt.Sprintf("%d of %d workers %s", n, len(all), done)
	return s
}

// takeFan performs the first part of all POST routes that address many workers. It reads the request and chooses the
// workers.
func (rt *Router) takeFan(rw http.ResponseWriter, r *http.Request) (*request, []*worker, bool) {
	to, bad := rt.chosen(r)
	var q *request
	if bad == nil {
		q, bad = rt.take(rw, r)
	}
	if bad != nil {
		rt.refuse(rw, r.URL.Path, bad)
		return nil, nil, false
	}
	q.method, q.path, q.admin = http.MethodPost, r.URL.Path, true
	return q, to, true
}

// flushCache is /flush_cache for the chosen workers. If all workers succeed, the client gets the reply of one worker.
func (rt *Router) flushCache(rw http.ResponseWriter, r *http.Request) {
	q, to, ok := rt.takeFan(rw, r)
	if !ok {
		return
	}
	patience := startPatience
	if v := r.URL.Query().Get("timeout"); v != "" {
		// The timeout limits the time for which a worker waits until it is idle.
		q.path += "?timeout=" + url.QueryEscape(v)
		if d, err := time.ParseDuration(v + "s"); err == nil && d > 0 {
			patience += d
		}
	}
	all := rt.fan(r.Context(), to, q, nil, patience)
	for i, w := range to {
		if all[i].Success {
			rt.pool(w.role).policy.forget(w)
		}
	}
	s := sum(all, "flushed their caches")
	if !s.Success {
		writeJSON(rw, status(all), s)
		return
	}
	all[0].pass(rw)
}

// abortRequest forwards the abort to all chosen workers, because any worker may have the request.
func (rt *Router) abortRequest(rw http.ResponseWriter, r *http.Request) {
	q, to, ok := rt.takeFan(rw, r)
	if !ok {
		return
	}
	all := rt.fan(r.Context(), to, q, nil, startPatience)
	writeJSON(rw, status(all), sum(all, "received the abort"))
}

// healthGenerate makes each worker generate a token. Status 200 means that requests can be served.
func (rt *Router) healthGenerate(rw http.ResponseWriter, r *http.Request) {
	q := &request{method: http.MethodGet, path: "/health_generate"}
	well := map[string]bool{}
	for _, o := range rt.fan(r.Context(), rt.workers, q, nil, startPatience) {
		well[o.Role] = well[o.Role] || o.Success
	}
	if rt.draining.Load() || !well[""] && !(well[api.Prefill] && well[api.Decode]) {
		rw.WriteHeader(http.StatusServiceUnavailable)
	}
}

// oneWorker is GET /workers/{id}.
func (rt *Router) oneWorker(rw http.ResponseWriter, r *http.Request) {
	for _, w := range rt.list() {
		if w.ID == r.PathValue("id") {
			writeJSON(rw, http.StatusOK, w)
			return
		}
	}
	rt.refuse(rw, r.URL.Path, &failure{http.StatusNotFound, fmt.Sprintf("no worker %q: GET /workers lists them", r.PathValue("id"))})
}

// ofWorker is /workers/{id}/…. It is the unchanged API of one worker, for clients that cannot reach that worker
// directly.
func (rt *Router) ofWorker(rw http.ResponseWriter, r *http.Request, level httpguard.Auth) {
	w := rt.find(r.PathValue("id"))
	if w == nil {
		rt.refuse(rw, r.URL.Path, &failure{http.StatusNotFound, fmt.Sprintf("no worker %q: GET /workers lists them", r.PathValue("id"))})
		return
	}
	q, bad := rt.take(rw, r)
	if bad != nil {
		rt.refuse(rw, r.URL.Path, bad)
		return
	}
	// The part of the path after "/workers/ID", as escaped by the client.
	_, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/workers/"), "/")
	q.path, q.admin, q.native = "/"+rest, level == httpguard.Admin, native("/"+rest)
	if r.URL.RawQuery != "" {
		q.path += "?" + r.URL.RawQuery
	}
	ctx, done := rt.context(r)
	defer done()
	p, err := rt.open(ctx, w, q)
	if err != nil {
		if ctx.Err() == nil {
			rt.refuse(rw, q.path, exhausted(err))
		}
		return
	}
	rt.finish(rw, p, q.native)
}
