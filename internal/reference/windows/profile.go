// Package windows has the routes of profile windows. These are SGLang's routes /start_profile and /stop_profile, and
// stepscope's own routes, which serve the files to clients that share no storage with the server.
package windows

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/base/suggest"
)

// Recorder records windows.
type Recorder interface {
	// StartProfile arms or starts a window on all ranks. It returns without waiting for steps or files. If a window is
	// already armed or open, it returns ErrProfileRunning.
	StartProfile(ctx context.Context, r api.ProfileRequest) error

	// StopProfile ends the window, waits for the files, and returns the result. It returns ErrProfileIdle if no window
	// is open or armed.
	StopProfile(ctx context.Context) (api.ProfileResult, error)
}

// Options configure the routes.
type Options struct {
	Root         string // when listening beyond loopback, all files must be below Root; see httpguard.Path
	WriteTimeout time.Duration
	Log          *slog.Logger
	Getenv       func(string) string
	Now          func() time.Time

	// Refuse writes an error in the format of the server's API. Status returns the HTTP status of an error and the
	// error that Refuse writes for it.
	Refuse func(w http.ResponseWriter, err error)
	Status func(err error) (status int, message string, retry int)
	Idle   func() bool // reports whether no request is queued or running
}

// Windows manages the profile windows of a server.
type Windows struct {
	rec   Recorder
	front *httpguard.Front
	o     Options
	list  list
}

// New returns the routes of a Recorder.
func New(rec Recorder, f *httpguard.Front, o Options) *Windows {
	return &Windows{rec: rec, front: f, o: o}
}

// Table lists the routes.
func (ws *Windows) Table() []httpguard.Route {
	return []httpguard.Route{
		httpguard.At("GET POST", "/start_profile", httpguard.Admin, ws.start),
		// Some guides use /end_profile, although SGLang's servers only have /stop_profile.
		httpguard.At("GET POST", "/stop_profile /end_profile", httpguard.Admin, ws.stop),
		httpguard.At("GET", "/profile_files", httpguard.Admin, ws.files),
		httpguard.At("GET", "/profile_files/{id}/{name}", httpguard.Admin, ws.file),
	}
}

// start is /start_profile, GET and POST. It replies as soon as the window is armed. A body is optional. An error reply
// has an error status, and its body is the reason as plain text, because SGLang's clients print the body of an error
// reply.
func (ws *Windows) start(w http.ResponseWriter, r *http.Request) {
	body, err := ws.front.BodyUpTo(w, r, httpguard.MostControl)
	if err != nil {
		ws.o.Refuse(w, err)
		return
	}
	var req wire.ProfileRequest
	if text := bytes.TrimSpace(body); len(text) > 0 && string(text) != "null" {
		err := wire.Decode(text, &req)
		if err == nil {
			err = known(req.Unknown)
		}
		if err != nil {
			ws.o.Refuse(w, err)
			return
		}
	}
	p, err := ws.request(&req)
	if err == nil {
		err = ws.rec.StartProfile(r.Context(), p)
	}
	if err != nil {
		ws.refuse(w, "start", err)
		return
	}
	ws.list.remember(p, ws.o.Now())
	ws.o.Log.Debug("profile armed", "dir", p.OutputDir, "id", p.ID, "start_step", p.StartStep, "num_steps", p.NumSteps, "by_stage", p.ByStage)
	// A window without requests is not an error, because SGLang's guide instructs users to arm a window before they
	// send load.
	if p.StartStep == 0 && !p.ByStage && ws.o.Idle() {
		ws.o.Log.Warn("profile armed while no request is running: nothing is recorded until load arrives", "id", p.ID)
	}
	httpguard.WriteText(w, http.StatusOK, wire.ProfileStarted)
}

// known rejects fields that SGLang does not know. If they were ignored, a window with a misspelt num_steps would never
// end.
func known(unknown []string) error {
	if len(unknown) == 0 {
		return nil
	}
	near := suggest.Closest(strings.ToLower(unknown[0]), wire.ProfileFields)
	if near != "" {
		return wire.Refuse(unknown[0], "unknown field; did you mean %s?", near)
	}
	return wire.Refuse(unknown[0], "unknown field; choose from %s", strings.Join(wire.ProfileFields, ", "))
}

// stop is /stop_profile and /end_profile. It replies only after the files have been written.
func (ws *Windows) stop(w http.ResponseWriter, r *http.Request) {
	if _, err := ws.front.BodyUpTo(w, r, httpguard.MostControl); err != nil { // SGLang's clients send at least {}
		ws.o.Refuse(w, err)
		return
	}
	// Ignore a disconnect of the client, because the window must not be lost.
	res, err := ws.rec.StopProfile(context.WithoutCancel(r.Context()))
	if err != nil {
		ws.refuse(w, "stop", err)
		return
	}
	ws.o.Log.Debug("profile stopped", "dir", res.Dir, "id", res.ID, "files", len(res.Files), "merged", res.Merged, "message", res.Message)
	httpguard.WriteText(w, http.StatusOK, wire.ProfileStopped)
}

func (ws *Windows) refuse(w http.ResponseWriter, what string, err error) {
	status, message, retry := ws.o.Status(err)
	// Clients check for these messages, so pass them on unchanged.
	for _, known := range []error{api.ErrProfileRunning, api.ErrProfileIdle} {
		if errors.Is(err, known) {
			message = known.Error()
		}
	}
	ws.o.Log.Warn("profile request refused", "what", what, "status", status, "reason", message)
	if retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(retry))
	}
	httpguard.WriteText(w, status, message+"\n")
}

// namePart matches a valid part of a trace's file name. It does not match names that contain a directory.
var namePart = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+=@,-]{0,127}$`)

// dir returns the directory for the files of a window. named is the directory in the request, or nil if the request
// names none.
func (ws *Windows) dir(named *string) (string, error) {
	return ws.front.Path("output_dir", cmp.Or(or(named, ""), httpguard.ProfileRoot(ws.o.Getenv)), ws.o.Root, ws.o.Getenv)
}

// request applies the defaults and the environment to a request.
func (ws *Windows) request(req *wire.ProfileRequest) (api.ProfileRequest, error) {
	env := ws.o.Getenv
	dir, err := ws.dir(req.OutputDir)
	if err != nil {
		return api.ProfileRequest{}, err
	}
	p := api.ProfileRequest{
		ID:           or(req.ProfileID, ""),
		OutputDir:    dir,
		Prefix:       or(req.ProfilePrefix, ""),
		StartStep:    or(req.StartStep, 0),
		NumSteps:     or(req.NumSteps, 0),
		ByStage:      req.ProfileByStage,
		StageNames:   httpguard.EnvBool(env("SGLANG_PROFILE_V2"), false),
		WithStack:    or(req.WithStack, true) && httpguard.EnvBool(env("SGLANG_PROFILE_WITH_STACK"), true),
		RecordShapes: or(req.RecordShapes, true) && httpguard.EnvBool(env("SGLANG_PROFILE_RECORD_SHAPES"), true),
		Detailed:     req.Detailed,
		Merge:        req.MergeProfiles,
		MemEntries:   envInt(env("SGLANG_MEM_PROFILE_MAX_ENTRIES"), 100000),
		DecodeMinBS:  envInt(env("SGLANG_PROFILE_BY_STAGE_DECODE_MIN_BS"), 0),
	}
	if p.ID == "" {
		p.ID = api.PythonTime(ws.o.Now())
	}
	for name, part := range map[string]string{"profile_id": p.ID, "profile_prefix": p.Prefix} {
		if part != "" && !namePart.MatchString(part) {
			return p, wire.Refuse(name, "%q cannot be part of a file name: use letters, digits and ._+=@,-", part)
		}
	}
	if p.ByStage {
		p.StartStep = 0 // as in SGLang, stages have no start step
		p.Prefill = req.ProfileStages == nil || slices.Contains(req.ProfileStages, api.Prefill)
		p.Decode = req.ProfileStages == nil || slices.Contains(req.ProfileStages, api.Decode)
		if !p.Prefill && !p.Decode {
			return p, wire.Refuse("profile_stages", "is empty")
		}
	}
	p.Activities, err = ws.activities(req.Activities)
	return p, err
}

// activities parses the names of activities. If at least one name is known, activities ignores unknown names. Otherwise
// it returns an error, whereas SGLang replies with 200 and records nothing.
func (ws *Windows) activities(names []string) (api.Activity, error) {
	if names == nil {
		return api.ActivityCPU | api.ActivityGPU, nil
	}
	var out api.Activity
	for _, name := range names {
		switch name {
		case "CPU":
			out |= api.ActivityCPU
		case "GPU":
			out |= api.ActivityGPU
		case "MEM":
			out |= api.ActivityMem
		case "CUDA_PROFILER":
			out |= api.ActivityCUDAProfiler
		default:
			ws.o.Log.Warn("unknown profile activity ignored", "name", name)
		}
	}
	if out == 0 {
		return 0, wire.Refuse("activities", "nothing to record in %q: this server supports CPU, GPU, MEM and CUDA_PROFILER", strings.Join(names, " "))
	}
	return out, nil
}

func envInt(v string, absent int) int {
	n, err := strconv.Atoi(v)
	if err != nil {
		return absent
	}
	return n
}

// or returns the value that v points to. If v is nil, it returns absent.
func or[T any](v *T, absent T) T {
	if v == nil {
		return absent
	}
	return *v
}
