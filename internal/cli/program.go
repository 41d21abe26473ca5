package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/stepscope/stepscope/internal/runs"
)

// howCalled returns the name of this program for commands that are shown to users. A binary that "go run" has built has
// no permanent path.
func howCalled() string {
	exe, err := os.Executable()
	if err != nil || strings.TrimSuffix(filepath.Base(exe), ".exe") != "stepscope" {
		return "stepscope"
	}
	found, err := exec.LookPath("stepscope")
	if err == nil {
		found, err = filepath.EvalSymlinks(found)
	}
	if real, realErr := filepath.EvalSymlinks(exe); err == nil && realErr == nil && found == real {
		return "stepscope"
	}
	info, _ := debug.ReadBuildInfo()
	_, here := os.Stat(filepath.Join("cmd", "stepscope", "main.go"))
	return calledAt(exe, os.Args[0], info, here == nil)
}

// calledAt returns the command that calls a program which is not on the PATH. here reports whether the program's
// sources are below the current directory.
func calledAt(exe, called string, info *debug.BuildInfo, here bool) string {
	cache := os.Getenv("GOCACHE")
	switch {
	case !strings.Contains(filepath.ToSlash(exe), "/go-build") && (cache == "" || !strings.HasPrefix(exe, cache)):
		return runs.CommandLine([]string{called})
	case here:
		return "go run ./cmd/stepscope"
	case info == nil:
		return runs.CommandLine([]string{exe})
	case info.Main.Version == "" || info.Main.Version == "(devel)" || strings.Contains(info.Main.Version, "+dirty"):
		return "go run " + info.Path
	}
	return "go run " + info.Path + "@" + info.Main.Version
}
