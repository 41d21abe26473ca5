package system

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/private"
	"github.com/stepscope/stepscope/internal/capture/gpus"
	"github.com/stepscope/stepscope/internal/capture/nsys"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/runs"
)

// Profile records a window of running servers, collects its files and explains them.
type Profile struct {
	Targets []torch.Target
	Window  torch.Window
	Options torch.Options // Timeout is also the time limit for nsys reports

	Duration time.Duration                       // length of the recording; 0: Window gives the number of steps
	LocalDir string                              // local directory for the files; "": the window's directory
	Root     string                              // directory of the runs; the runs hold nsys sessions; "": none
	Sessions string                              // directory in which Start saves sessions for Stop
	Create   func(runs.About) (*runs.Run, error) // returns a nil run if no run is stored
	Explain  *Options
	Skip     bool   // collect the files without explaining them
	Reach    string // flags with which Stop reaches the servers, with a space before each; "": none
	GPUs     string // source of samples of the GPUs, see gpus.Start; "": none
}

// follow displays the progress of the servers until end is called. The caller must call end before printing anything
// else.
func (p *Profile) follow() (end func()) {
	if p.Explain.Say.Terminal {
		p.Options.Progress = &torch.Progress{Duration: p.Duration}
		return p.Explain.Say.Show(p.Options.Progress.Frame)
	}
	return func() {}
}

// Run records a window and explains it.
func (p *Profile) Run(ctx context.Context) error {
	end := p.follow()
	defer end()
	res, windows, err := p.record(ctx)
	end()
	if err != nil {
		return err
	}
	return p.explain(ctx, res, windows)
}

// Record records a window and stores it as a run.
func (p *Profile) Record(ctx context.Context) (*runs.Run, error) {
	res, _, err := p.record(ctx)
	if err != nil {
		return nil, err
	}
	return p.keep(res)
}

// record records a window, with samples of the GPUs, and collects its files.
func (p *Profile) record(ctx context.Context) (*torch.Result, []*nsys.Window, error) {
	var servers []string
	for i := range p.Targets {
		servers = append(servers, p.Targets[i].URL)
	}
	say := p.Explain.Say
	sampled, err := gpus.Sample(ctx, p.GPUs, servers, func(line string) { say.Warn("%s", line) }, func(problem string) { say.Lack("%s", problem) })
	if err != nil {
		return nil, nil, err
	}
	res, windows, err := p.recordWindow(ctx)
	if states := sampled(); err == nil {
		res.KeepGPUs(states)
	}
	return res, windows, err
}

func (p *Profile) recordWindow(ctx context.Context) (*torch.Result, []*nsys.Window, error) {
	say := p.Explain.Say
	picture, err := torch.FindPicture(ctx, p.Targets, p.Window, p.Options)
	if err != nil {
		return nil, nil, err
	}
	if picture != nil {
		res, err := p.picture(ctx, picture)
		return res, nil, err
	}
	o := p.outer(ctx, p.Window.Activities, false)
	s, err := torch.Start(ctx, p.Targets, p.Window, p.Options)
	if err != nil {
		return nil, nil, err
	}
	dir := p.local(s)
	// This line has the wording of SGLang's program.
	say.Line("Dump profiling traces to " + dir)
	if p.Duration > 0 {
		say.Line(fmt.Sprintf("Recording for %v....", p.Duration))
		recording, stop := context.WithTimeout(ctx, p.Duration)
		s.Guard(recording)
		<-recording.Done()
		stop()
	} else {
		say.Line(fmt.Sprintf("Waiting for %d steps and the trace to be flushed.... (profile_by_stage=%s)",
			p.Window.NumSteps, map[bool]string{true: "True", false: "False"}[p.Window.ByStage]))
	}
	return p.collect(ctx, s, o, dir)
}

// local returns the destination of the files.
func (p *Profile) local(s *torch.Session) string {
	if p.LocalDir != "" {
		return p.LocalDir
	}
	return s.Dir()
}

// picturePrompt is the prompt of requests that serve only for timing.
const picturePrompt = "A lighthouse on a cliff at dawn"

// picture replaces record for a diffusion server without profile routes. It records one request.
func (p *Profile) picture(ctx context.Context, w *torch.Picture) (*torch.Result, error) {
	dir := p.LocalDir
	if dir == "" {
		dir = filepath.Join(torch.OutputDir(p.Window.OutputDir), api.PythonTime(time.Now()))
	}
	return w.Run(ctx, picturePrompt, dir)
}

// Start opens a window and prints a directory. Stop identifies the window by this directory.
func (p *Profile) Start(ctx context.Context) error {
	if err := private.Dir(p.Sessions); err != nil {
		return err
	}
	end := p.follow()
	defer end()
	if picture, err := torch.FindPicture(ctx, p.Targets, p.Window, p.Options); err != nil || picture != nil {
		if err == nil {
			err = picture.NoRoutes()
		}
		return err
	}
	s, err := torch.Start(ctx, p.Targets, p.Window, p.Options)
	if err != nil {
		return err
	}
	dir := p.local(s)
	err = s.Save(p.Sessions, dir)
	if end(); err == nil {
		p.Explain.Say.Line("started; end it with: stepscope profile stop " + dir + p.Reach)
		_, err = fmt.Fprintln(p.Explain.Out, dir)
	}
	if err = cmp.Or(err, context.Cause(ctx)); err != nil { // otherwise no later Stop would find the window
		s.Cancel(ctx, p.Sessions)
	}
	return err
}

// Stop ends a window that Start opened and processes the files. ref is the id or the directory of the window.
func (p *Profile) Stop(ctx context.Context, ref string) error {
	end := p.follow()
	defer end()
	saved, err := torch.FindSaved(p.Sessions, ref)
	if err != nil {
		return err
	}
	s := saved.Resume(p.Targets[0], p.Options)
	o := p.outer(ctx, s.Activities(), true)
	if err := s.Stop(ctx); err != nil {
		return err
	}
	res, windows, err := p.collect(ctx, s, o, cmp.Or(p.LocalDir, saved.Dir))
	end()
	if err != nil {
		return err
	}
	if err := p.explain(ctx, res, windows); err != nil {
		return err
	}
	return saved.Forget()
}

// StopAll ends all recordings of the servers, and prints the recordings that were open.
func (p *Profile) StopAll(ctx context.Context) error {
	open, down, err := torch.StopAll(ctx, p.Targets, p.Options)
	if len(down) > 0 {
		p.Explain.Say.Incomplete()
	}
	for _, url := range slices.Sorted(maps.Keys(open)) {
		switch {
		case open[url]:
			fmt.Fprintf(p.Explain.Out, "%s: stopped\n", url)
		case err == nil:
			fmt.Fprintf(p.Explain.Out, "%s: was not recording\n", url)
		}
	}
	return err
}

// outer finds the nsys sessions that record a window of the activity CUDA_PROFILER.
func (p *Profile) outer(ctx context.Context, activities []string, begun bool) *nsys.Outer {
	if !slices.Contains(activities, "CUDA_PROFILER") {
		return nil
	}
	return nsys.FindOuter(ctx, p.Root, len(p.Targets), begun)
}

// collect collects the files of a session.
func (p *Profile) collect(ctx context.Context, s *torch.Session, o *nsys.Outer, dir string) (*torch.Result, []*nsys.Window, error) {
	res, err := s.Collect(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	windows, err := o.Wait(ctx, p.Explain.Say, p.Options.Timeout)
	return res, windows, err
}

// explain stores the captured window as a run and explains it.
func (p *Profile) explain(ctx context.Context, res *torch.Result, windows []*nsys.Window) error {
	if _, err := p.keep(res); err != nil {
		return err
	}
	explained, err := p.Explain.Captured(ctx, res, p.Skip)
	switch {
	case err != nil:
		return err
	case p.Explain.Form != JSON:
		return p.reports(windows)
	}
	return report.Indented(p.Explain.Out, struct {
		Format int `json:"format"`
		*torch.Result
		*Explained
		Nsys []*nsys.Window `json:"nsys,omitempty"` // reports of a window of CUDA_PROFILER
	}{1, res, explained, windows})
}

// keep stores the window as a run. It returns nil if no run is stored.
func (p *Profile) keep(res *torch.Result) (*runs.Run, error) {
	if res.Incomplete() {
		p.Explain.Say.Incomplete()
	}
	var urls []string
	for _, s := range res.Servers {
		urls = append(urls, s.URL)
	}
	r, err := p.Create(runs.About{Kind: "profile", Tool: "profile", URL: strings.Join(urls, " ")})
	if r == nil {
		return nil, err
	}
	err = res.Keep(r, "")
	if finishErr := r.Finish(runs.Complete, err); err == nil {
		err = finishErr
	}
	if len(r.Traces()) > 0 {
		p.Explain.Say.Told("run kept: %s; view it in the browser with: stepscope view %s", r.Dir(), r.ID())
	} else {
		p.Explain.Say.Told("run kept: %s", r.Dir())
	}
	return r, err
}

// reports lists the nsys reports.
func (p *Profile) reports(windows []*nsys.Window) error {
	for _, w := range windows {
		if w.Error != "" {
			p.Explain.Say.Lack("nsys window %d: %s", w.N, w.Error)
		}
		if w.Report == "" {
			continue
		}
		if _, err := fmt.Fprintf(p.Explain.Out, "nsys report: %s\n  %s; explain it with: stepscope analyze %s\n", w.Report, metric.Bytes(w.Size), runs.CommandLine([]string{w.Report})); err != nil {
			return err
		}
	}
	return nil
}
