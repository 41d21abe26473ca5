package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/stepscope/stepscope/internal/runs"
)

type runsImportCmd struct {
	Files []string `arg:"" name:"file" help:"Results of other benchmark clients."`
	Tag   string   `placeholder:"TEXT" help:"Tag to keep with the runs."`
	runPlace
}

// Help returns the end of the verb's help text.
func (c *runsImportCmd) Help() string {
	return `Files: a line of SGLang's bench_serving (--output-file), the JSON of vllm bench serve
(--save-result, --save-detailed), or aiperf's profile_export.jsonl or
profile_export_aiperf.json. Requests are kept if the file has their send times;
otherwise compare reads the file itself.

Examples:
  stepscope runs import vllm-inf-qps.json --tag baseline
  stepscope compare baseline.json last`
}

// Run imports the files. Each becomes a run.
func (c *runsImportCmd) Run(e *env) error {
	root, err := c.root()
	if err != nil {
		return err
	}
	for _, path := range c.Files {
		f, err := runs.ReadForeign(path)
		if err != nil {
			return err
		}
		run, err := c.keep(e, root, path, f)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, n := range f.Notes {
			e.Warn("%s: %s", path, n)
		}
		fmt.Fprintln(e.stdout, run.ID())
		e.Told("run kept: %s", run.Dir())
	}
	return nil
}

// keep stores one result as a run.
func (c *runsImportCmd) keep(e *env, root, path string, f *runs.Foreign) (*runs.Run, error) {
	about := runs.About{Kind: "bench", Tool: f.Tool, Args: e.args, Model: f.Run.Model, Backend: f.Run.Backend}
	if tag := c.Tag; tag != "" {
		about.Tags = []string{tag}
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	run, err := runs.Create(root, about, 2*st.Size())
	if err != nil {
		return nil, err
	}
	err = f.Keep(run, path)
	status := runs.Complete
	if err != nil {
		status = runs.Failed
	}
	return run, errors.Join(err, run.Finish(status, err))
}
