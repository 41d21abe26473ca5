package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/stepscope/stepscope/internal/base/memory"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/watch"
)

// watchCmd is "watch".
type watchCmd struct {
	profiledFlags
	fetchFlags
	Every time.Duration `default:"1s" help:"Time between samples."`
	For   time.Duration `placeholder:"TIME" help:"End after this time (default: when interrupted)."`

	ruleFlags

	NumSteps    int           `name:"num-steps" limits:"1.." default:"10" help:"Forward steps of a capture."`
	Cooldown    time.Duration `default:"10m" help:"From one capture to the next at least."`
	MaxCaptures int           `name:"max-captures" limits:"0.." default:"5" help:"Captures in all; 0 captures nothing."`
	MaxDisk     string        `name:"max-disk" default:"10GB" placeholder:"BYTES" help:"What captures may take on disk in all."`

	JSON bool `name:"json" help:"Print events as JSON lines."`
	quietFlag
	storeFlags
}

// Help is the end of the verb's help text.
func (c *watchCmd) Help() string {
	return `Examples:
  stepscope watch --url http://localhost:30000
  stepscope watch --url http://gpu1:30000 --url http://gpu2:30000 --for 12h`
}

// Run watches.
func (c *watchCmd) Run(ctx context.Context, e *env) (err error) {
	c.apply(e)
	w, err := c.check(e)
	if err != nil {
		return err
	}
	about := runs.About{Kind: "watch", Tool: "watch", URL: w.Targets[0].URL}
	if w.Run, err = c.create(e, about); err != nil {
		return err
	}
	if w.Run != nil {
		w.Dir = w.Run.Path("traces")
		log, err := os.Create(w.Run.Path("events.jsonl"))
		if err != nil {
			return err
		}
		defer log.Close()
		w.Log = log
		defer func() {
			status := runs.Complete
			if errors.Is(err, context.Canceled) {
				status = runs.Interrupted
			}
			finishErr := w.Run.AddFile(runs.File{Path: "events.jsonl", Kind: runs.KindLog, Format: "jsonl"}, "")
			err = errors.Join(err, finishErr, w.Run.Finish(status, nil))
		}()
	} else if w.Dir, err = os.MkdirTemp("", "stepscope-watch-"); err != nil {
		return err
	}
	if c.JSON {
		w.Tell = func(...string) {}
		if w.Log == nil {
			w.Log = e.data()
		} else {
			w.Log = io.MultiWriter(w.Log, e.data())
		}
	}
	return w.Do(ctx)
}

// check looks at the values.
func (c *watchCmd) check(e *env) (*watch.Watch, error) {
	targets, err := c.targets()
	if err != nil {
		return nil, usageError{err}
	}
	if c.Every <= 0 || c.Cooldown < 0 || c.For < 0 {
		return nil, usagef("--every %v, --cooldown %v, --for %v: give times above 0, as 1s", c.Every, c.Cooldown, c.For)
	}
	bytes, err := memory.Parse(c.MaxDisk)
	if err != nil {
		return nil, usagef("--max-disk %q: %v", c.MaxDisk, err)
	}
	fetch, err := c.template()
	if err != nil {
		return nil, usageError{err}
	}
	rules, err := c.rules()
	if err != nil {
		return nil, err
	}
	return &watch.Watch{
		Targets: targets, Rules: rules, Every: c.Every, For: c.For,
		Window:   torch.Window{NumSteps: c.NumSteps},
		Options:  torch.Options{Fetch: fetch, Wait: 10 * time.Second, Pace: paceTime, Log: e.Line},
		Cooldown: c.Cooldown, MaxCaptures: c.MaxCaptures, MaxBytes: bytes,
		Say: e.Console, Tell: func(lines ...string) {
			for _, l := range lines {
				fmt.Fprintln(e.stdout, l)
			}
		},
	}, nil
}
