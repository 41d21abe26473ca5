package server

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/serve/front"
)

// startProfile is /start_profile, GET and POST. It answers as soon as the window
// is armed. A body is optional; failures have a real status and the reason as
// text, as the stock clients print the body of a failure.
func (s *Server) startProfile(w http.ResponseWriter, r *http.Request) {
	body, err := s.body(w, r)
	if err != nil {
		s.refuse(w, dialectGeneral, err)
		return
	}
	var req wire.ProfileRequest
	if text := bytes.TrimSpace(body); len(text) > 0 && string(text) != "null" {
		if err := wire.Decode(text, &req); err != nil {
			s.refuse(w, dialectGeneral, err)
			return
		}
	}
	p, err := s.profileRequest(&req)
	if err == nil {
		err = s.engine.StartProfile(r.Context(), p)
	}
	if err != nil {
		s.refuseProfile(w, "start", err)
		return
	}
	s.windows.remember(p, s.o.Now())
	s.o.Log.Debug("profile armed", "dir", p.OutputDir, "id", p.ID, "start_step", p.StartStep, "num_steps", p.NumSteps, "by_stage", p.ByStage)
	// SGLang's guide arms first and sends load afterwards, so this is no error.
	if busy := func(st api.Stats) bool { return st.Running+st.Waiting > 0 }; p.StartStep == 0 && !p.ByStage && !slices.ContainsFunc(s.engine.Stats(), busy) {
		s.o.Log.Warn("profile armed while there is no request: nothing is recorded until load comes", "id", p.ID)
	}
	writeText(w, http.StatusOK, wire.ProfileStarted)
}

// stopProfile is /stop_profile and /end_profile. The files are written when it
// answers.
func (s *Server) stopProfile(w http.ResponseWriter, r *http.Request) {
	if _, err := s.body(w, r); err != nil { // stock clients send {} or the start body again
		s.refuse(w, dialectGeneral, err)
		return
	}
	// A client that gives up must not lose the window.
	res, err := s.engine.StopProfile(context.WithoutCancel(r.Context()))
	if err != nil {
		s.refuseProfile(w, "stop", err)
		return
	}
	s.o.Log.Debug("profile stopped", "dir", res.Dir, "id", res.ID, "files", len(res.Files), "merged", res.Merged, "message", res.Message)
	writeText(w, http.StatusOK, wire.ProfileStopped)
}

func (s *Server) refuseProfile(w http.ResponseWriter, what string, err error) {
	e := asAPI(err)
	message := e.message
	// The reasons clients know are passed on as they are.
	for _, known := range []error{api.ErrProfileRunning, api.ErrProfileIdle} {
		if errors.Is(err, known) {
			message = known.Error()
		}
	}
	s.o.Log.Warn("profile request refused", "what", what, "status", e.status, "reason", message)
	if e.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.retry))
	}
	writeText(w, e.status, message+"\n")
}

// namePart is what may stand in a file name: the trace's own name has no room for
// a directory.
var namePart = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+=@,-]{0,127}$`)

// profileRequest applies the defaults and the environment to a request.
func (s *Server) profileRequest(req *wire.ProfileRequest) (api.ProfileRequest, error) {
	env := s.o.Getenv
	dir := front.ProfileRoot(env)
	if req.OutputDir != nil && *req.OutputDir != "" {
		dir = *req.OutputDir
	}
	dir, err := s.front.Path("output_dir", dir, s.o.ProfileRoot, env)
	if err != nil {
		return api.ProfileRequest{}, err
	}
	p := api.ProfileRequest{
		ID:           pick(req.ProfileID, ""),
		OutputDir:    dir,
		Prefix:       pick(req.ProfilePrefix, ""),
		StartStep:    pick(req.StartStep, 0),
		NumSteps:     pick(req.NumSteps, 0),
		ByStage:      req.ProfileByStage,
		StageNames:   envBool(env("SGLANG_PROFILE_V2"), false),
		WithStack:    pick(req.WithStack, true) && envBool(env("SGLANG_PROFILE_WITH_STACK"), true),
		RecordShapes: pick(req.RecordShapes, true) && envBool(env("SGLANG_PROFILE_RECORD_SHAPES"), true),
		Merge:        req.MergeProfiles,
		MemEntries:   envInt(env("SGLANG_MEM_PROFILE_MAX_ENTRIES"), 100000),
		DecodeMinBS:  envInt(env("SGLANG_PROFILE_BY_STAGE_DECODE_MIN_BS"), 0),
	}
	if p.ID == "" {
		p.ID = api.PythonTime(s.o.Now())
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
	p.Activities, err = s.activities(req.Activities)
	return p, err
}

// activities resolves the names. Unknown ones are ignored as long as something is
// left to record: SGLang would answer 200 and record nothing.
func (s *Server) activities(names []string) (api.Activity, error) {
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
			s.o.Log.Warn("unknown profile activity ignored", "name", name)
		}
	}
	if out == 0 {
		return 0, wire.Refuse("activities", "nothing to record in %q: this server knows CPU, GPU, MEM and CUDA_PROFILER", strings.Join(names, " "))
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
