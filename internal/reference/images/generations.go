package images

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/diffusion"
)

// Limits and defaults of SGLang's route.
const (
	mostPictures  = 10
	profiledSteps = 5
	defaultSeed   = 42
)

// task is a checked request. Requests are checked before they wait, so that errors are reported early.
type task struct {
	id, prompt string
	jobs       []*diffusion.Job
	dump       string // path; "": none
}

// generations is POST /v1/images/generations.
func (s *Server) generations(w http.ResponseWriter, r *http.Request) {
	var req wire.ImageRequest
	body, err := s.front.Body(w, r)
	if err == nil {
		err = wire.Decode(body, &req)
	}
	var t *task
	if err == nil {
		t, err = s.task(&req)
	}
	if err != nil {
		s.refuse(w, err)
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(s.base, func() { cancel(context.Cause(s.base)) })()
	came := time.Now()
	reply, err := s.make(ctx, t)
	outcome := succeeded
	if err != nil {
		outcome = failed
	}
	s.metrics.finished(outcome, time.Since(came))
	switch {
	case r.Context().Err() != nil: // the client has disconnected
		s.o.Log.Info("the client disconnected", "id", t.id)
	case err != nil:
		s.refuse(w, err)
	default:
		s.reply(w, reply)
	}
}

// task checks a request.
func (s *Server) task(req *wire.ImageRequest) (*task, error) {
	t := &task{id: s.o.NewID(), prompt: req.Prompt}
	q, err := s.request(req)
	if err != nil {
		return nil, err
	}
	n := 1
	if req.N != nil {
		n = *req.N
	}
	if n < 1 || n > mostPictures {
		return nil, wire.Refuse("n", "%d; want 1 to %d", n, mostPictures)
	}
	switch format := strings.ToLower(cmp.Or(req.ResponseFormat, "b64_json")); {
	case format == "url":
		return nil, wire.Refuse("", "response_format='url' requires cloud storage to be configured.")
	case format != "b64_json":
		return nil, wire.Refuse("", "response_format=%s is not supported", req.ResponseFormat)
	case req.OutputFormat != "" && req.OutputFormat != "png":
		return nil, wire.Refuse("output_format", "%q: this server writes only png", req.OutputFormat)
	case req.Background == "transparent":
		return nil, wire.Refuse("background", "transparent images are not supported")
	}
	for i := range n {
		job := &diffusion.Job{Request: *q, ID: t.id, Step: func(int, int) { s.steps.Add(1) }}
		job.Seed += uint64(i)
		if i > 0 {
			job.ID += "-" + strconv.Itoa(i)
		}
		t.jobs = append(t.jobs, job)
	}
	if req.PerfDumpPath != "" {
		if t.dump, err = s.front.Path("perf_dump_path", req.PerfDumpPath, s.o.ProfileRoot, s.o.Getenv); err != nil {
			return nil, err
		}
		if err := atomicfile.TryFile(t.dump); err != nil {
			return nil, wire.Refuse("perf_dump_path", "nothing can be written there: %v", err)
		}
	}
	t.jobs[0].Profile, err = s.profile(req)
	return t, err
}

// request converts and checks the pipeline's part of a request.
func (s *Server) request(req *wire.ImageRequest) (*diffusion.Request, error) {
	negative := ""
	if req.NegativePrompt != nil {
		negative = *req.NegativePrompt
	}
	q, err := s.engine.Request(req.Prompt, negative)
	if err != nil {
		return nil, err
	}
	q.Seed = defaultSeed
	sized := req.Size != "" && req.Size != "auto"
	if sized {
		if q.Width, q.Height, err = wire.ParseSize(req.Size); err != nil {
			return nil, wire.Within("size", err)
		}
	}
	for _, side := range []struct {
		name string
		v    *int
		at   *int
	}{{"width", req.Width, &q.Width}, {"height", req.Height, &q.Height}} {
		if side.v != nil && sized && *side.v != *side.at {
			return nil, wire.Refuse(side.name, "%d contradicts the size %s", *side.v, req.Size)
		}
		if side.v != nil {
			*side.at = *side.v
		}
	}
	if req.Steps != nil {
		q.Steps = *req.Steps
	}
	if req.Guidance != nil {
		q.Guidance = *req.Guidance
	}
	if req.Seed != nil {
		q.Seed = uint64(*req.Seed)
	}
	if err := s.engine.Check(q); err != nil {
		return nil, &httpguard.Error{Status: http.StatusBadRequest, Message: err.Error()}
	}
	return q, nil
}

// profile returns the recording that a request asks for, or nil.
func (s *Server) profile(req *wire.ImageRequest) (*diffusion.Profile, error) {
	if !req.Profile {
		if req.ProfileAllStages {
			return nil, wire.Refuse("profile_all_stages", "requires profile")
		}
		return nil, nil
	}
	steps := profiledSteps
	if req.ProfiledSteps != nil {
		steps = *req.ProfiledSteps
	}
	if steps == 0 || steps < diffusion.All {
		return nil, wire.Refuse("num_profiled_timesteps", "%d; give 1 or more, or -1 for all", steps)
	}
	if err := atomicfile.TryDir(s.o.TraceDir); err != nil {
		return nil, wire.Refuse("profile", "nothing can be written to the trace directory: %v", err)
	}
	return &diffusion.Profile{
		Steps: steps, AllStages: req.ProfileAllStages, Dir: s.o.TraceDir,
		Record: device.RecordOptions{CPU: true, GPU: true, Shapes: true, Stack: true},
	}, nil
}

// make waits until it is the task's turn and then generates the task's images.
func (s *Server) make(ctx context.Context, t *task) (*wire.ImageResponse, error) {
	came := time.Now()
	leave, err := s.queue.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	s.metrics.queued.Observe(time.Since(came).Seconds())
	reply := &wire.ImageResponse{ID: t.id, Data: []wire.ImageData{}}
	var took time.Duration
	for i, job := range t.jobs {
		res, err := s.engine.Generate(ctx, job)
		if err != nil {
			return nil, err
		}
		took += res.Total
		s.metrics.made(res)
		for _, note := range res.Notes {
			s.o.Log.Warn(note)
		}
		if i == 0 && t.dump != "" {
			if err := s.writeDump(t, res); err != nil {
				return nil, err
			}
		}
		pic, err := s.picture(t, job, res)
		if err != nil {
			return nil, err
		}
		reply.Data = append(reply.Data, *pic)
	}
	s.o.Line(fmt.Sprintf("Pixel data generated successfully in %.2f seconds", took.Seconds()))
	seconds := took.Seconds()
	reply.Created, reply.InferenceS = s.o.Now().Unix(), &seconds
	if peak, ok := peakMemory(); ok {
		mb := float64(peak) / (1 << 20)
		reply.PeakMemoryMB = &mb
		s.o.Line(fmt.Sprintf("Peak memory usage: %.2f MB", mb))
	}
	return reply, nil
}

func (s *Server) writeDump(t *task, res *diffusion.Result) error {
	d := res.Dump(t.id, api.DumpServer, s.info.ModelPath)
	if err := diffusion.WriteDump(t.dump, d); err != nil {
		return err
	}
	s.o.Line("Metrics dumped to: " + t.dump)
	return nil
}

// picture encodes an image for the reply and optionally writes it to a file.
func (s *Server) picture(t *task, job *diffusion.Job, res *diffusion.Result) (*wire.ImageData, error) {
	var buf bytes.Buffer
	if err := res.Picture.PNG(&buf); err != nil {
		return nil, err
	}
	text := base64.StdEncoding.EncodeToString(buf.Bytes())
	out := &wire.ImageData{B64: &text, RevisedPrompt: &t.prompt}
	if s.o.OutputDir == "" {
		return out, nil
	}
	path, err := filepath.Abs(filepath.Join(s.o.OutputDir, job.ID+".png"))
	if err == nil {
		err = atomicfile.Write(path, func(w io.Writer) error {
			_, err := w.Write(buf.Bytes())
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("write the image: %w", err)
	}
	out.FilePath = &path
	s.o.Line("Output saved to " + path)
	return out, nil
}

// peakMemory returns the peak memory of this process in bytes. It includes the memory of the devices, which are on the
// CPU.
func peakMemory() (int64, bool) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(string(rest)), " kB"), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}
