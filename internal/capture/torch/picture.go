package torch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/pause"
	"github.com/stepscope/stepscope/internal/capture/collect"
)

// SGLang's diffusion servers have no profile routes. Since 0.5.23, an image request can ask for a recording of its own
// denoising steps. Rank 0 writes the trace before the server sends the reply.

// Picture is a window of one image request.
type Picture struct {
	m    *member
	card *wire.DiffusionCard
}

// FindPicture returns a Picture if the only target is a diffusion server without profile routes. Otherwise it returns
// nil.
func FindPicture(ctx context.Context, targets []Target, w Window, o Options) (*Picture, error) {
	if len(targets) != 1 || targets[0].Role != "" {
		return nil, nil
	}
	targets, err := named(targets)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	m := &member{Target: targets[0], o: &o, w: w, dir: w.OutputDir}
	m.w.OutputDir = OutputDir(w.OutputDir)
	short, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	card, err := m.server("/v1/models").Pipeline(short)
	if err != nil || card == nil { // the caller's next request reports the error
		return nil, nil
	}
	if r, err := m.ask(ctx, "GET", "/profile_files", nil, askPatience); err != nil || r.Status != 404 {
		return nil, err
	}
	m.kind = servers.SGLang
	if !m.askFor(ctx, "/server_info", &m.info) {
		m.info = Info{}
	}
	m.info.TP = max(m.info.TP, card.NumGPUs, 1)
	return &Picture{m, card}, m.checkSizes()
}

// NoRoutes returns an error with the message that windows cannot be opened and closed on this server.
func (p *Picture) NoRoutes() error {
	return fmt.Errorf("%s: is a diffusion server of %s, which has no /start_profile: use profile run, which sends one request and records it", p.m.URL, p.m.kind)
}

// pictureTold returns the number of steps to request so that n denoising steps are recorded. If this number differs
// from n, why is the reason.
func pictureTold(n int) (told int, why string) {
	if n > 1 {
		return n - 1, "it records one denoising step more than requested"
	}
	return n, "it records one denoising step more than requested, and the request must be for at least 1"
}

// Run sends the request and copies the trace to dir.
func (p *Picture) Run(ctx context.Context, prompt, dir string) (*Result, error) {
	m := p.m
	note := ""
	switch r, ok := parseRelease(m.info.Version); {
	case ok && !lastShort.before(r):
		return nil, fmt.Errorf("%s: the diffusion server of SGLang %s ignores profile in requests; 0.5.23 does not: with this version, stop the server and run its model with: sglang generate --profile, or run the server under nsys", m.URL, m.info.Version)
	case ok && r.before(firstFull):
		note = "releases between 0.5.11 and 0.5.23 may ignore profile in requests"
	}
	if m.w.NumSteps < 1 {
		return nil, fmt.Errorf("%s: its window is a number of denoising steps of one request: give --num-steps, not --duration", m.URL)
	}
	if m.w.ByStage || m.w.StartStep > 0 {
		return nil, fmt.Errorf("%s: a diffusion server has neither prefill and decode stages nor a step count to start at: leave out --profile-by-stage and --start-step", m.URL)
	}
	made, err := makeDir(dir)
	defer func() { removeEmpty(made) }()
	if err != nil {
		return nil, fmt.Errorf("%w; give a directory for the files with -o", err)
	}
	told, _ := pictureTold(m.w.NumSteps)
	m.o.Log(fmt.Sprintf("%s: %s, diffusion (%s): sending one request, whose denoising steps are recorded (num_profiled_timesteps %d)", m.URL, m, p.card.PipelineClass, told))
	m.doing("generating an image, which is recorded")
	limited, cancel := context.WithTimeoutCause(ctx, m.o.Timeout, fmt.Errorf("%s: no reply within %v: give a longer --timeout", m.URL, m.o.Timeout))
	defer cancel()
	one := 1
	reply, err := m.server("/v1/images/generations").Images(limited, &wire.ImageRequest{
		Prompt: prompt, Model: p.card.ID, N: &one, ResponseFormat: "b64_json", Profile: true, ProfiledSteps: &told,
	})
	if err != nil {
		return nil, p.refused(limited, err)
	}
	m.doing(doingWait)
	paths, from, err := p.bring(ctx, reply.ID, dir)
	if err != nil {
		return nil, err
	}
	r := ServerResult{
		URL: m.URL, Name: m.Name, Kind: m.kind, Info: m.info, From: from, Dir: dir, Traces: paths,
		Other: []string{}, Missing: []string{}, Broken: []string{}, Notes: []string{},
	}
	if note != "" {
		r.Notes = append(r.Notes, note)
	}
	if m.info.TP > 1 {
		r.Notes = append(r.Notes, "SGLang's diffusion server writes only the trace of rank 0")
	}
	m.picture = true
	m.count(ctx, &r)
	// If as many steps were recorded as the server was told, the deviation is not due to SGLang's counting.
	if s := r.Steps; s != nil && s.Fewest != nil && *s.Fewest == s.Told {
		s.Why = ""
	}
	return &Result{ID: reply.ID, Dir: dir, Servers: []ServerResult{r}}, nil
}

func (p *Picture) refused(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if r, ok := errors.AsType[*client.Refused](err); ok && r.Status == 401 {
		return fmt.Errorf("%s: requires an API key (401): give --api-key KEY", p.m.URL)
	}
	return err
}

// dirs returns the directories in which the trace may be. There are several because SGLang reports the directory only
// in its log.
func (p *Picture) dirs() []string {
	out := []string{p.m.w.OutputDir}
	if p.m.o.Fetch == nil {
		if dir := os.Getenv("SGLANG_DIFFUSION_TORCH_PROFILER_DIR"); dir != "" {
			out = append(out, dir)
		}
		out = append(out, "logs")
	}
	return out
}

// bring waits for the trace of a request and fetches it.
func (p *Picture) bring(ctx context.Context, id, dir string) (paths []string, from string, err error) {
	m := p.m
	end := time.Now().Add(min(afterIdle, m.o.Stall))
	for {
		for _, m.dir = range p.dirs() {
			m.src = nil
			src, err := m.source()
			if err != nil {
				return nil, "", err
			}
			files, err := src.List(ctx)
			if err != nil {
				return nil, "", fmt.Errorf("%s: its directory cannot be listed: %w", m.URL, err)
			}
			for _, f := range files {
				if !strings.HasPrefix(f.Name, id+"-") || !strings.Contains(f.Name, ".trace.json") {
					continue
				}
				to := filepath.Join(dir, f.Name)
				if err = src.Bring(ctx, f.Name, to, m.o.Budget); err == nil {
					err = collect.Whole(ctx, to)
				}
				if err == nil {
					m.o.Log(m.URL + ": " + f.Name)
					return []string{to}, m.dir, nil
				}
			}
		}
		if time.Now().After(end) {
			return nil, "", fmt.Errorf("%s: the image was generated, but there is no complete trace %s-… in %s: give --output-dir, the directory in the server's log (Saved profiler traces to), and also --fetch if the server is on another host",
				m.URL, id, strings.Join(p.dirs(), " or "))
		}
		if !pause.For(ctx, m.o.firstWait) {
			return nil, "", context.Cause(ctx)
		}
	}
}
