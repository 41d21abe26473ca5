package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/mcp"
	"github.com/stepscope/stepscope/internal/runs"
)

// agentFlags select the servers on which a coding agent may act.
type agentFlags struct {
	Live         []string `name:"live" sep:"none" placeholder:"URL" help:"A running server whose state the agent may read, and on which it may record windows and send loads, both bounded; repeat it for several."`
	ServerKey    string   `name:"server-api-key" env:"STEPSCOPE_SERVER_API_KEY" placeholder:"KEY" help:"Key sent to these servers as a bearer token."`
	KeyFile      string   `name:"server-api-key-file" into:"server-api-key" placeholder:"FILE" help:"File that holds only the servers' key."`
	AdminKey     string   `name:"admin-api-key" env:"STEPSCOPE_ADMIN_API_KEY" placeholder:"KEY" help:"Key for the profile routes, if a server has a separate one."`
	AdminKeyFile string   `name:"admin-api-key-file" into:"admin-api-key" placeholder:"FILE" help:"File that holds only that key."`
	OutputDir    string   `name:"output-dir" placeholder:"DIR" help:"Directory on the servers for windows, as for profile."`
	fetchFlags
}

// live returns the functions of the tools that act on servers; nil: no server was given.
func (c *mcpCmd) live(e *env, root string) (*mcp.Live, error) {
	if len(c.Live) == 0 {
		return nil, nil
	}
	given := profiledFlags{URL: c.Live, APIKey: c.ServerKey, AdminKey: c.AdminKey}
	targets, err := given.targets()
	if err != nil {
		return nil, usageError{err}
	}
	if root == "" {
		return nil, usagef("--live needs a directory of runs: give --run-dir")
	}
	fetch, err := c.template()
	if err != nil {
		return nil, usageError{err}
	}
	dir, err := profilesDir(c.OutputDir)
	if err != nil {
		return nil, err
	}
	of := func(url string) *torch.Target {
		return &targets[slices.IndexFunc(targets, func(t torch.Target) bool { return t.URL == url })]
	}
	live := &mcp.Live{}
	for i := range targets {
		live.URLs = append(live.URLs, targets[i].URL)
	}
	live.State = func(ctx context.Context, url string) (string, error) {
		return stateOf(ctx, signals.NewReader(url, of(url).Header, nil))
	}
	live.Capture = func(ctx context.Context, url string, steps int) (string, error) {
		r := recorder{targets: []torch.Target{*of(url)}, dir: dir, through: torch.Options{Fetch: fetch}, root: root, sessions: c.windows()}
		return r.record(ctx, e, steps, e.Console, nil)
	}
	live.Bench = func(ctx context.Context, url string, l mcp.Load) (string, error) {
		return c.bench(ctx, of(url), root, l)
	}
	return live, nil
}

// statePause is the time between the two samples from which rates are computed.
const statePause = time.Second

// stateOf describes the load of a server from two samples.
func stateOf(ctx context.Context, r *signals.Reader) (string, error) {
	a, err := r.Read(ctx)
	if err != nil {
		return "", err
	}
	select {
	case <-time.After(statePause):
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	b, err := r.Read(ctx)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	known := func(v float64, text string) string {
		if !signals.Known(v) {
			return "?"
		}
		return text
	}
	fmt.Fprintln(&out, "rank | running | queued | KV cache | tokens/s | prompt tokens/s | time per forward pass")
	for _, f := range signals.Between(a, b).Ranks {
		fmt.Fprintf(&out, "DP%02d | %s | %s | %s | %s | %s | %s\n", f.DP, known(f.Running, fmt.Sprint(f.Running)), known(f.Queued, fmt.Sprint(f.Queued)), known(f.Usage, metric.Percent(f.Usage)),
			known(f.Tokens, metric.Three(f.Tokens)), known(f.Prefill, metric.Three(f.Prefill)), known(f.Step, metric.Duration(f.Step*1e9)))
	}
	return out.String(), nil
}

// bench runs "bench serving" and returns the id of its run. The key of the servers is always given, because
// STEPSCOPE_API_KEY may be the token of the agent's clients.
func (c *mcpCmd) bench(ctx context.Context, server *torch.Target, root string, l mcp.Load) (string, error) {
	backend := "sglang"
	if s, err := signals.NewReader(server.URL, server.Header, nil).Read(ctx); err == nil && s.Kind == servers.VLLM {
		backend = "vllm"
	}
	tag := "mcp-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	args := []string{"bench", "serving", "--url", server.URL, "--backend", backend, "--api-key=" + c.ServerKey, "--dataset-name", "random-ids", "--num-prompts", strconv.Itoa(l.Prompts), "--max-concurrency", strconv.Itoa(l.Concurrency),
		"--random-input-len", strconv.Itoa(l.Input), "--random-output-len", strconv.Itoa(l.Output), "--random-range-ratio", "1", "--disable-tqdm", "--tag", tag, "--run-dir", root}
	if l.Profile {
		args = append(args, "--profile")
		for flag, value := range map[string]string{"output-dir": c.OutputDir, "fetch": c.Fetch} {
			if value != "" {
				args = append(args, "--profile-"+flag+"="+value)
			}
		}
	}
	var out, errs bytes.Buffer
	id, status, err := storedRun(ctx, newEnv(strings.NewReader(""), &out, &errs), args, root, tag)
	if err != nil {
		return "", errors.Join(fmt.Errorf("the load ended with status %d", status), errors.New(lastLine(&errs)))
	}
	return id, nil
}

// lastLine returns the last line of a text.
func lastLine(text *bytes.Buffer) string {
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	return lines[len(lines)-1]
}

// storedRun runs a command line that stores a run with a tag in root. It returns the id of the run and the exit
// status. An error means that there is no such run.
func storedRun(ctx context.Context, e *env, args []string, root, tag string) (id string, status int, err error) {
	status = e.main(ctx, args)
	list, err := runs.List(root)
	if err != nil {
		return "", status, err
	}
	for i := range list {
		if slices.Contains(list[i].Tags, tag) {
			return list[i].ID, status, nil
		}
	}
	return "", status, fmt.Errorf("%s stored no run: status %d", strings.Join(args[:2], " "), status)
}
