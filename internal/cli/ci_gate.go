package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/gate"
	"github.com/stepscope/stepscope/internal/capture/collect"
	"github.com/stepscope/stepscope/internal/ci"
	"github.com/stepscope/stepscope/internal/explain/report"
)

// ciGateCmd is "ci gate".
type ciGateCmd struct {
	URL       string   `name:"url" default:"http://127.0.0.1:30000" placeholder:"URL" help:"The server of the new build, and of all builds that --start starts (default: ${default})."`
	BaseURL   string   `name:"base-url" placeholder:"URL" without:"base-run: both give the base; start: the command starts the base, too" help:"The server of the base, which runs beside the new one."`
	BaseRun   string   `name:"base-run" placeholder:"RUN[,RUN]" help:"Loads of the base that exist: runs by id or directory."`
	Start     string   `name:"start" placeholder:"COMMAND" needs:"base-ref|base-run: the commit to start as the base, or its loads; ref|base-run: the commit to start" help:"Shell command that starts a build at --url. It reads STEPSCOPE_REF, STEPSCOPE_URL and STEPSCOPE_SIDE (base or new). Its processes are ended after the load."`
	Stop      string   `name:"stop" placeholder:"COMMAND" needs:"start" help:"Shell command that stops what --start left running, such as a container."`
	BaseRef   string   `name:"base-ref" placeholder:"COMMIT" needs:"start" help:"The base, for --start."`
	Ref       string   `name:"ref" placeholder:"COMMIT" needs:"start" help:"The new build, for --start."`
	Starts    int      `name:"starts" default:"1" limits:"1..32" placeholder:"N" help:"Start each build this many times, alternately. With 4 or more, each start is one sample, which shows the differences between starts of one build."`
	Ready     int      `name:"ready-timeout" default:"600" limits:"1.." placeholder:"S" help:"Seconds within which a server must be ready (default: ${default})."`
	BenchArgs string   `name:"bench-args" placeholder:"FLAGS" help:"Flags for bench serving, in one word: '--num-prompts 400 --request-rate 8 --profile'."`
	SLO       string   `name:"slo" placeholder:"LIMITS" help:"Limits in ms for each request, as for bench serving."`
	Fail      string   `name:"fail" default:"95%" placeholder:"SHARE" help:"Exit with status 4 if a smaller share of the new build's requests meets --slo (default: ${default})."`
	FailOn    []string `name:"fail-on" sep:"none" default:"5%" placeholder:"5%|NAME>5%" help:"Exit with status 4 if a figure certainly got worse by more than this, as for compare (default: ${default})."`
	Out       string   `name:"out" default:"stepscope-ci" placeholder:"DIR" help:"Directory for the report, the page, the result and the runs (default: ${default})."`
	Strict    bool     `name:"strict" help:"Keep exit status 3, which is 0 otherwise: too little data to judge."`
}

// Help returns the end of the verb's help text.
func (c *ciGateCmd) Help() string {
	return `Examples:
  stepscope ci gate --base-url http://old:30000 --url http://new:30000 --bench-args '--num-prompts 400 --seed 1 --repeat 4'
  stepscope ci gate --start './serve.sh "$STEPSCOPE_REF"' --base-ref main --ref HEAD --starts 4
  stepscope ci gate --base-run last-good --fail-on 'ttft.p99>5%,tpot>3%' --strict

Writes report.md, report.html, gate.json and the runs to --out. In GitHub Actions
it also sets the outputs status, verdict, report, page and run, and adds the
report to the summary of the job. Exit status: 0 passed, or not judged without
--strict, 1 failed or not comparable, 2 usage, 3 not judged, 4 regression.

Keys of the servers: STEPSCOPE_API_KEY, as for bench serving. With --start nothing
may answer at --url before, since the gate would measure that server.`
}

// Run loads both builds, compares them and writes the result.
func (c *ciGateCmd) Run(ctx context.Context, e *env) error {
	words, err := c.check()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(c.Out, "runs"), 0o755); err != nil {
		return err
	}
	if err := c.findBase(); err != nil {
		return err
	}
	found := ci.Result{Format: 1, Base: []string{}, New: []string{}, Report: filepath.Join(c.Out, "report.md")}
	var text bytes.Buffer
	err = c.load(ctx, e, words, &found)
	below := errors.Is(err, errRegression)
	if err == nil || below {
		e.Line(fmt.Sprintf("ci gate: comparing %s with %s", strings.Join(found.New, ", "), c.base(&found)))
		found.Status, err = c.compare(ctx, e, &found, &text)
	} else {
		found.Status = newEnv(e.stdin, e.out, e.errs).exit(ctx, err)
	}
	switch {
	case below:
		missed := fmt.Sprintf("REGRESSION: fewer than %s of the requests meet %s", c.Fail, c.SLO)
		found.Status, found.Verdict = exitRegression, missed+". "+found.Verdict
		text = *bytes.NewBufferString("**" + missed + "**\n\n" + text.String())
	case err != nil && found.Verdict == "":
		found.Verdict = "The gate failed: " + err.Error()
		fmt.Fprintf(&text, "**The gate failed (status %d)**\n\n```\n%s\n```\n", found.Status, err)
	}
	found.Verdict = strings.Join(strings.Fields(found.Verdict), " ") // a second line could be a command of GitHub's runner
	if ctx.Err() == nil {
		if err := c.write(&found, text.Bytes()); err != nil {
			return err
		}
	}
	e.status = found.Status
	level := map[int]string{exitFailed: "error", exitUsage: "error", exitIncomplete: "warning", exitRegression: "error"}[found.Status]
	if level != "" && os.Getenv("GITHUB_ACTIONS") == "true" {
		fmt.Fprintf(e.stdout, "::%s title=stepscope::%s\n", level, strings.ReplaceAll(found.Verdict, "%", "%25"))
	} else {
		fmt.Fprintln(e.stdout, found.Verdict)
	}
	if found.Status == exitIncomplete && !c.Strict {
		e.status = exitOK
		e.Warn("too little data to judge: status 0 instead of 3, without --strict")
	}
	return nil
}

// check rejects flags that contradict each other, and returns the words of --bench-args.
func (c *ciGateCmd) check() (words []string, err error) {
	switch {
	case c.Start == "" && c.BaseURL == "" && c.BaseRun == "":
		return nil, usagef("no base to compare with: give --base-url, --base-run, or --start with --base-ref")
	case c.Start == "" && c.Starts > 1:
		return nil, usagef("--starts needs --start")
	case c.BaseURL == c.URL && c.BaseURL != "":
		return nil, usagef("--base-url and --url are the same server")
	}
	limits, err := gate.Parse(c.FailOn)
	if err == nil {
		err = limits.Check(bench.LimitNames(false))
	}
	if err != nil {
		return nil, usagef("--fail-on %v", err)
	}
	if strings.TrimSpace(c.BenchArgs) == "" {
		return nil, nil
	}
	if words, err = collect.Split(c.BenchArgs); err != nil {
		return nil, usagef("--bench-args: %v", err)
	}
	for _, w := range words {
		name, _, _ := strings.Cut(w, "=")
		if slices.Contains([]string{"--url", "--base-url", "--host", "--port", "--run-dir", "--no-store", "--tag", "--slo", "--fail", "--goodput", "--find-max-rate"}, name) {
			return nil, usagef("--bench-args: ci gate sets %s itself: leave it out", name)
		}
		if c.Starts > 1 && name == "--repeat" {
			return nil, usagef("--bench-args: with --starts each start is one repetition: leave out --repeat")
		}
	}
	return words, nil
}

// findBase replaces the runs of --base-run by their directories, before a load makes another run the last one. An id
// is one of the user's runs or one in --out.
func (c *ciGateCmd) findBase() error {
	if c.BaseRun == "" {
		return nil
	}
	list, err := (&runPlace{}).build(c.BaseRun)
	if err != nil || len(list) == 0 {
		list, err = (&runPlace{filepath.Join(c.Out, "runs")}).build(c.BaseRun)
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, benchmarked) {
		return usagef("--base-run %s: no such load; see: stepscope runs list", c.BaseRun)
	}
	var dirs []string
	for _, r := range list {
		dirs = append(dirs, r.Dir())
	}
	c.BaseRun = strings.Join(dirs, ",")
	return nil
}

// load loads the builds. errRegression means that the new build misses --slo.
func (c *ciGateCmd) load(ctx context.Context, e *env, words []string, found *ci.Result) (err error) {
	for n := range c.Starts {
		for _, side := range []struct {
			name, url, ref string
			skip           bool
			ids            *[]string
		}{{"base", c.BaseURL, c.BaseRef, c.BaseRun != "", &found.Base}, {"new", c.URL, c.Ref, false, &found.New}} {
			if side.skip {
				continue
			}
			b := ci.Build{Command: c.Start, Stop: c.Stop, Ref: side.ref, Side: side.name, URL: side.url, Log: filepath.Join(c.Out, fmt.Sprintf("server-%s-%d.log", side.name, n+1))}
			if c.Start != "" {
				b.URL = c.URL
			}
			id, failed := c.one(ctx, e, &b, words)
			switch {
			case errors.Is(failed, errRegression):
				err = failed // the comparison shows by how much
			case failed != nil:
				return failed
			}
			*side.ids = append(*side.ids, id)
		}
	}
	return err
}

// one starts a build, if the gate starts builds, and loads it. It returns the id of the run.
func (c *ciGateCmd) one(ctx context.Context, e *env, b *ci.Build, words []string) (id string, err error) {
	if b.Command != "" {
		e.Line(fmt.Sprintf("ci gate: starting %s (%s) at %s; its output: %s", b.Side, b.Ref, b.URL, b.Log))
		started, stop, err := b.Start(ctx)
		if err != nil {
			return "", err
		}
		ctx = started
		defer func() { err = errors.Join(err, stop()) }()
	}
	tag := "ci-" + b.Side + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	args := slices.Concat([]string{"bench", "serving", "--url", b.URL, "--run-dir", filepath.Join(c.Out, "runs"), "--tag", tag, "--ready-check-timeout-sec", strconv.Itoa(c.Ready), "--disable-tqdm"}, words)
	if c.SLO != "" {
		args = append(args, "--slo", c.SLO)
		if b.Side == "new" {
			args = append(args, "--fail", c.Fail)
		}
	}
	e.Line(fmt.Sprintf("ci gate: loading %s at %s", b.Side, b.URL))
	var errs bytes.Buffer
	id, status, err := storedRun(ctx, newEnv(e.stdin, e.out, io.MultiWriter(e.errs, &errs)), args, filepath.Join(c.Out, "runs"), tag)
	switch {
	case ctx.Err() != nil && (err != nil || status != exitOK): // such as the end of the server
		return id, context.Cause(ctx)
	case err != nil:
		return "", fmt.Errorf("the load of %s failed: %s", b.Side, strings.TrimPrefix(lastLine(&errs), "stepscope: "))
	case status == exitRegression:
		return id, errRegression
	case status != exitOK && status != exitIncomplete:
		return id, fmt.Errorf("the load of %s ended with status %d: see run %s", b.Side, status, id)
	}
	return id, nil
}

// base names the runs of the base for compare.
func (c *ciGateCmd) base(found *ci.Result) string {
	if c.BaseRun != "" {
		return c.BaseRun
	}
	return strings.Join(found.Base, ",")
}

// compare compares the runs. It writes the page, and the report to text.
func (c *ciGateCmd) compare(ctx context.Context, e *env, found *ci.Result, text *bytes.Buffer) (status int, err error) {
	page := filepath.Join(c.Out, "report.html")
	x := compareCmd{A: c.base(found), B: strings.Join(found.New, ","), FailOn: c.FailOn, runPlace: runPlace{filepath.Join(c.Out, "runs")}}
	x.take = func(v *report.Comparison) error {
		found.Verdict, found.Page = v.Verdict(), page
		return errors.Join(v.Markdown(text), atomicfile.Write(page, v.HTML))
	}
	sub := newEnv(e.stdin, e.out, e.errs)
	err = x.Run(ctx, sub)
	return sub.exit(ctx, err), err
}

// write writes the report and the result, and publishes them to the system that runs the job.
func (c *ciGateCmd) write(found *ci.Result, text []byte) error {
	if err := atomicfile.Write(found.Report, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return err
	}
	if err := atomicfile.JSON(filepath.Join(c.Out, "gate.json"), found); err != nil {
		return err
	}
	return found.Publish(string(text))
}
