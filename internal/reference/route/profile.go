package route

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
)

const (
	startPatience = 30 * time.Second
	// stopPatience limits the wait for the reply to a stop. The limit is long because SGLang replies only after the
	// traces have been written, which can take minutes.
	stopPatience = 30 * time.Minute
)

// startProfile is /start_profile for the chosen workers. If there are several workers, each worker's id is appended to
// output_dir as a subdirectory, so that files with equal names cannot collide. Without output_dir, the ids become part
// of the file names.
func (rt *Router) startProfile(rw http.ResponseWriter, r *http.Request) {
	q, to, ok := rt.takeFan(rw, r)
	if !ok {
		return
	}
	var fields map[string]json.RawMessage
	if text := strings.TrimSpace(string(q.body)); text != "" && text != "null" {
		if json.Unmarshal(q.body, &fields) != nil {
			rt.refuse(rw, r.URL.Path, &failure{http.StatusBadRequest, "the body is not a JSON object"})
			return
		}
	}
	var root, prefix string
	json.Unmarshal(fields["output_dir"], &root) // if the value is not a string, the worker rejects it
	json.Unmarshal(fields["profile_prefix"], &prefix)
	dir := func(w *worker) string {
		if len(to) > 1 && root != "" {
			return path.Join(root, w.id)
		}
		return root
	}
	all := rt.fan(r.Context(), to, q, func(w *worker) []byte {
		if len(to) == 1 {
			return q.body
		}
		name, value := "profile_prefix", strings.TrimPrefix(prefix+"-"+w.id, "-")
		if root != "" {
			name, value = "output_dir", dir(w)
		}
		own := map[string]json.RawMessage{}
		maps.Copy(own, fields)
		own[name], _ = json.Marshal(value) // cannot fail: a string
		text, _ := json.Marshal(own)       // cannot fail, because own was parsed from JSON
		return text
	}, startPatience)
	for i, w := range to {
		if all[i].Success {
			all[i].OutputDir = dir(w)
		}
		rt.o.Log.Info("start profile", "worker", w.id, "status", all[i].Status, "reply", all[i].Message)
	}
	writeJSON(rw, status(all), sum(all, "started profiling"))
}

// stopProfile is /stop_profile for the chosen workers. If some of several workers have no open window, that is not a
// failure, because windows with a step count close by themselves.
func (rt *Router) stopProfile(rw http.ResponseWriter, r *http.Request) {
	q, to, ok := rt.takeFan(rw, r)
	if !ok {
		return
	}
	q.path = "/stop_profile"
	// Ignore a disconnect of the client, because the windows must not be lost.
	all := rt.fan(context.WithoutCancel(r.Context()), to, q, nil, stopPatience)
	stopped, idle := 0, 0
	for i, w := range to {
		switch {
		case all[i].Success:
			stopped++
		case all[i].Status == http.StatusConflict, strings.Contains(all[i].Message, strings.TrimSuffix(api.ErrProfileIdle.Error(), ".")):
			idle++
		}
		rt.o.Log.Info("stop profile", "worker", w.id, "status", all[i].Status, "reply", all[i].Message)
	}
	s := sum(all, "stopped profiling")
	code := status(all)
	if stopped > 0 && stopped+idle == len(all) {
		code, s.Success = http.StatusOK, true
	}
	if idle > 0 {
		s.Message += fmt.Sprintf(", %d had nothing to stop", idle)
	}
	writeJSON(rw, code, s)
}

// profileFiles is GET /profile_files. It returns the reply of the chosen worker or, for several workers, the combined
// list.
func (rt *Router) profileFiles(rw http.ResponseWriter, r *http.Request) {
	to, bad := rt.chosen(r)
	if bad != nil {
		rt.refuse(rw, r.URL.Path, bad)
		return
	}
	q := &request{method: http.MethodGet, path: "/profile_files", header: r.Header, admin: true}
	all := rt.fan(r.Context(), to, q, nil, startPatience)
	if len(all) == 1 && all[0].Status != 0 {
		all[0].pass(rw)
		return
	}
	type files struct {
		outcome
		Windows []wire.ProfileWindow `json:"windows"`
	}
	list := make([]files, len(all))
	for i, o := range all {
		var have wire.ProfileFiles
		if o.Success && json.Unmarshal(o.body, &have) == nil {
			o.Message = ""
		}
		list[i] = files{o, have.Windows}
		if have.Windows == nil {
			list[i].Windows = []wire.ProfileWindow{}
		}
	}
	writeJSON(rw, http.StatusOK, map[string]any{"workers": list})
}

// profileFile is GET /profile_files/{window}/{name}. It returns the file from the chosen worker or, for several
// workers, from the first worker that has the file.
func (rt *Router) profileFile(rw http.ResponseWriter, r *http.Request) {
	to, bad := rt.chosen(r)
	if bad != nil {
		rt.refuse(rw, r.URL.Path, bad)
		return
	}
	ctx, done := rt.context(r)
	defer done()
	q := &request{method: r.Method, path: r.URL.EscapedPath(), header: r.Header, admin: true}
	var last error
	for i, w := range to {
		p, err := rt.open(ctx, w, q)
		if err == nil && (p.res.StatusCode != http.StatusNotFound || i == len(to)-1) {
			rt.finish(rw, p, false)
			return
		}
		if err == nil {
			p.close()
		} else {
			last = err
		}
	}
	if ctx.Err() == nil {
		rt.refuse(rw, r.URL.Path, exhausted(last))
	}
}
