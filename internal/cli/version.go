package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/stepscope/stepscope/internal/reference/launch"
)

// build describes how this binary was built, as recorded by the Go tool, and the platform on which it runs.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"` // empty if built without git
	Time     string `json:"time"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Kernels  string `json:"kernels"` // CPU level for which the engine's kernels are compiled
}

func readBuild() build {
	b := build{
		Version: "(unknown version)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Kernels: launch.KernelLevel(),
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return b
	}
	b.Version = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// release returns the version of the binary. If there is no version, it returns the commit.
func release() string {
	b := readBuild()
	if b.Version == "(devel)" && b.Commit != "" {
		return b.Version + " " + b.Commit[:min(12, len(b.Commit))]
	}
	return b.Version
}

type versionCmd struct {
	JSON bool `name:"json" help:"Print as JSON."`
}

// Help returns the end of the verb's help text.
func (c *versionCmd) Help() string {
	return `The kernel level is the best that the CPU supports, or the one set by
STEPSCOPE_CPU: generic, avx2, avx512, avx512bf16.

Examples:
  stepscope version
  stepscope version --json`
}

// Run prints the build information.
func (c *versionCmd) Run(e *env) error {
	b := readBuild()
	if c.JSON {
		return e.printJSON(b)
	}
	commit := "not known"
	if b.Commit != "" {
		commit = strings.TrimSpace(b.Commit + " " + b.Time)
	}
	if b.Modified {
		commit += ", modified"
	}
	_, err := fmt.Fprintf(e.stdout, "stepscope %s\ncommit    %s\ngo        %s %s\nkernels   %s\n", b.Version, commit, b.Go, b.Platform, b.Kernels)
	return err
}
