package cli

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/measure/system"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/view/live"
)

// liveFlags select the running servers that "view" shows.
type liveFlags struct {
	URL          []string `name:"url" sep:"none" placeholder:"URL" help:"A running server to show and to record windows of, or NAME=URL; repeat it for several."`
	PrefillURL   []string `name:"prefill-url" sep:"none" placeholder:"URL" help:"A prefill server; repeat it for several."`
	DecodeURL    []string `name:"decode-url" sep:"none" placeholder:"URL" help:"A decode server; repeat it for several."`
	ServerKey    string   `name:"server-api-key" env:"STEPSCOPE_SERVER_API_KEY" placeholder:"KEY" help:"Key sent to these servers as a bearer token."`
	KeyFile      string   `name:"server-api-key-file" into:"server-api-key" placeholder:"FILE" help:"File that holds only the servers' key."`
	AdminKey     string   `name:"admin-api-key" env:"STEPSCOPE_ADMIN_API_KEY" placeholder:"KEY" help:"Key for the profile routes, if a server has a separate one."`
	AdminKeyFile string   `name:"admin-api-key-file" into:"admin-api-key" placeholder:"FILE" help:"File that holds only that key."`
	Header       []string `name:"header" sep:"none" placeholder:"NAME=VALUE" help:"Header sent to these servers with each request."`
	LogFile      []string `name:"log" sep:"none" placeholder:"[NAME=]FILE" help:"Log of an SGLang, stepscope or vLLM server, which adds data that the server does not report; - for stdin. With several servers, NAME is the server's name or URL."`
	podFlags
	OutputDir string `name:"output-dir" placeholder:"DIR" help:"Directory on the servers for windows, as for profile."`
	fetchFlags
}

// live shows the servers that the flags name. It stores the windows of these servers in subdirectories of root. It
// returns nil if the flags name no servers.
func (c *viewCmd) live(ctx context.Context, e *env, root string) (*live.Live, error) {
	f := &c.liveFlags
	var targets []torch.Target
	if len(f.URL)+len(f.PrefillURL)+len(f.DecodeURL) > 0 || f.given() {
		var err error
		servers := profiledFlags{URL: f.URL, PrefillURL: f.PrefillURL, DecodeURL: f.DecodeURL, APIKey: f.ServerKey, AdminKey: f.AdminKey, Header: f.Header}
		if targets, err = servers.targets(); err != nil {
			return nil, usageError{err}
		}
	} else if len(f.LogFile) == 0 {
		return nil, nil
	}
	fetch, err := f.template()
	if err != nil {
		return nil, usageError{err}
	}
	dir, err := profilesDir(f.OutputDir)
	if err != nil {
		return nil, err
	}
	through := torch.Options{Fetch: fetch}
	if f.given() {
		pods, err := f.podFlags.reach(ctx, e)
		if err != nil {
			return nil, err
		}
		targets = podTargets(pods, targets[0])
		reachPods(pods, &through)
	}
	o := live.Options{Targets: standing(ctx, targets, through, e.reach), Client: through.Client}
	if err := f.logs(&o); err != nil {
		return nil, err
	}
	if root != "" && len(targets) > 0 {
		record := recorder{targets: targets, dir: dir, through: through, root: root, sessions: c.windows()}
		o.Record = func(ctx context.Context, steps int, say *progress.Console, far *torch.Progress) (string, error) {
			return record.record(ctx, e, steps, say, far)
		}
	}
	return live.New(o), nil
}

// recorder records windows of servers in the same way as the verb profile with the default values of its flags.
type recorder struct {
	targets  []torch.Target
	dir      string        // directory on the servers
	through  torch.Options // the client, and how files are fetched
	root     string        // directory of the runs
	sessions string
}

// record records a window of some steps and returns the id of its run.
func (r *recorder) record(ctx context.Context, e *env, steps int, say *progress.Console, far *torch.Progress) (string, error) {
	e.hold("the servers to write their windows")
	defer e.holds.Store(nil)
	options := r.through
	options.Wait, options.Pace, options.Log, options.Progress, options.Sessions = profileWait, paceTime, say.Line, far, r.sessions
	p := &system.Profile{
		Targets: r.targets, Window: torch.Window{OutputDir: r.dir, NumSteps: steps, Activities: []string{"CPU", "GPU"}},
		Options: options, Root: r.root, Explain: &system.Options{Say: say},
		Create: func(about runs.About) (*runs.Run, error) {
			about.Args = e.args
			return runs.Create(r.root, about, 64<<20)
		},
	}
	run, err := p.Record(ctx)
	if err != nil {
		return "", err
	}
	return run.ID(), nil
}

// logs assigns logs to their servers. A log without a server is shown separately.
func (f *liveFlags) logs(o *live.Options) error {
	var servers [][2]string
	for _, t := range o.Targets {
		servers = append(servers, [2]string{t.Name, t.URL})
	}
	o.Tails = map[int]*signals.Tail{}
	for _, text := range f.LogFile {
		l := logOf(text)
		i, err := l.Of(servers)
		if err != nil {
			return usageError{err}
		}
		t, err := signals.OpenTail(l.Path)
		if err != nil {
			return err
		}
		if i < 0 {
			i = len(o.Targets)
			o.Targets = append(o.Targets, torch.Target{Name: l.Path})
		}
		o.Tails[i] = t
	}
	return nil
}

// standing resolves the servers to query. A router is replaced by the workers that it has when the viewer starts. If a
// server does not answer, its address is kept as given, because the server may start later.
func standing(ctx context.Context, targets []torch.Target, o torch.Options, within time.Duration) []torch.Target {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	each := make([][]torch.Target, len(targets))
	var all sync.WaitGroup
	for i, t := range targets {
		all.Go(func() {
			reached, _, err := torch.Reach(ctx, []torch.Target{t}, o)
			if err != nil || len(reached) == 1 && reached[0].Front.URL == reached[0].URL {
				each[i] = []torch.Target{t}
				return
			}
			for _, r := range reached {
				each[i] = append(each[i], torch.Target{Name: r.URL, URL: r.Base, Role: r.Role, Header: r.Header})
			}
		})
	}
	all.Wait()
	return slices.Concat(each...)
}
