package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/brief"
	"github.com/stepscope/stepscope/internal/runs"
)

// sizeFlags limit an answer for coding agents.
type sizeFlags struct {
	MaxBytes int `name:"max-bytes" default:"8000" limits:"2000..40000" placeholder:"BYTES" help:"Maximum size of a bounded answer, which counts what it leaves out (default: ${default})."`
}

// briefFlags request such an answer.
type briefFlags struct {
	Brief bool `name:"brief" without:"html=-|full|tables|layers|all|summary: a bounded answer has no room for it" help:"Print an answer of at most --max-bytes, for coding agents: Markdown, or one line with --json."`
	sizeFlags
}

// answer prints a bounded answer.
func (c *sizeFlags) answer(e *env, a *brief.Answer, asJSON bool) error {
	var err error
	if asJSON {
		_, err = e.data().Write(a.JSON())
	} else {
		_, err = fmt.Fprint(e.stdout, a.Text())
	}
	return err
}

// args returns the arguments for other verbs on the same input. run is the run that the input names, or nil.
func (c *analyzeCmd) args(paths []string, run *runs.Run) brief.Args {
	if run != nil && len(paths) == 1 && paths[0] == "last" {
		paths = []string{run.ID()} // "last" may be another run by then
	}
	a := arguments(paths, "profile-id", c.ProfileID, "run-dir", c.RunDir, "rules", c.Rules, "reference", c.Reference, "model-config", c.Model, "device", c.Device)
	if c.On != "local" && c.On != "" {
		a.Flags += " --on " + columns.ShellWord(c.On)
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"from", c.From}, {"to", c.To}} {
		if f.value != 0 {
			a.Flags += fmt.Sprintf(" --%s %g", f.name, f.value)
		}
	}
	if c.Force {
		a.Flags += " --force"
	}
	a.Flags = strings.TrimSpace(a.Flags)
	return a
}

// args returns the arguments for compare on the same sides.
func (c *compareCmd) args() brief.Args {
	paths := append([]string{c.A, c.B}, c.More...)
	return arguments(paths, "ranks", c.Ranks, "profile-id", strings.Join(c.ProfileID, ","), "run-dir", c.RunDir, "rules", c.Rules, "model-config", c.Model, "device", c.Device)
}

// arguments returns quoted arguments. flags alternates names and values; flags without a value are left out.
func arguments(paths []string, flags ...string) (a brief.Args) {
	var words []string
	for _, p := range paths {
		if p != "" {
			words = append(words, columns.ShellWord(p))
		}
	}
	a.Input, words = strings.Join(words, " "), nil
	for i := 0; i < len(flags); i += 2 {
		if flags[i+1] != "" {
			words = append(words, "--"+flags[i], columns.ShellWord(flags[i+1]))
		}
	}
	a.Flags = strings.Join(words, " ")
	return a
}

// findingCmd is "finding".
type findingCmd struct {
	Args      []string `arg:"" name:"run" help:"What analyze takes (a run, last, a directory, trace files), and then the id of a finding."`
	ProfileID string   `name:"profile-id" placeholder:"ID" help:"Which window to read, if there are several (default: the newest)."`
	JSON      bool     `name:"json" help:"Print as JSON, in one line."`
	sizeFlags
	rangeFlags
	cluster
	Reference string `placeholder:"TIME|RUN|FILE" help:"As for analyze: decode step time without recording, or a load of the server to take it from."`
	Rules     string `placeholder:"FILE" help:"Your own kernel classes, tried first: lines of CLASS REGEXP."`
	Force     bool   `help:"Continue even if the files cannot be ranks of one capture (exit status 3)."`
	lightFlags
	memoryFlags
	runPlace
}

// Help returns the end of the verb's help text.
func (c *findingCmd) Help() string {
	return `Examples:
  stepscope finding /tmp/profile straggler-tp01-host-5
  stepscope finding last host_bound-decode --json
  stepscope finding last prefill-0/host_bound-prefill

Prints the evidence of one finding, its worth, how it was found, what speaks
against it, the next steps, and where to look in the viewer. The ids are those of
analyze --brief and analyze --json: kind, rank, cause and first step, the same
whenever the capture is analysed. In a capture of several servers, the name of
the server comes first. A wrong id prints the ids that there are (status 2).`
}

// Run explains the capture and prints the finding.
func (c *findingCmd) Run(ctx context.Context, e *env) error {
	n := len(c.Args) - 1
	if n < 1 {
		return usagef("which finding? give what analyze takes, and then the id; the ids: stepscope analyze --brief")
	}
	a := analyzeCmd{
		inputFlags: inputFlags{Paths: c.Args[:n:n], ProfileID: c.ProfileID}, rangeFlags: c.rangeFlags, cluster: c.cluster, Reference: c.Reference,
		displayFlags: displayFlags{Rules: c.Rules, Force: c.Force}, lightFlags: c.lightFlags, memoryFlags: c.memoryFlags, runPlace: c.runPlace,
	}
	a.take = func(found *brief.Capture) error {
		answer, err := brief.Finding(found, c.Args[n], c.MaxBytes)
		if err != nil {
			return usageError{err}
		}
		return c.answer(e, answer, c.JSON)
	}
	return a.Run(ctx, e)
}
