// Package runs stores runs: each command's measurements, in a self-describing directory of their own.
// docs/formats/run.md describes the files.
//
// [Create] begins a run, [Open] opens one, [List] lists all. There is no state outside the run directories.
//
// Evidence (records, traces, logs, the summary) is written once and never changed. Results computed from it are under
// derived/, and can be deleted.
package runs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Reserved names in a run directory, in addition to the files in its manifest.
const (
	manifestFile = "manifest.json"
	lockFile     = ".lock" // locked while the run is being written
	derivedDir   = "derived"

	// RecordsFile holds the requests of a load.
	RecordsFile = "records.jsonl.zst"
	// partSuffix marks records that are being written or were never completed.
	partSuffix = ".part"
)

// Errors for callers to test with errors.Is.
var (
	ErrNotFound = errors.New("no such run")
	ErrRunning  = errors.New("the run is being written")
	ErrCut      = errors.New("the records end early")
)

// DefaultRoot is the directory of the user's runs: $XDG_DATA_HOME/stepscope/runs, or the equivalent on systems without
// that variable.
func DefaultRoot() (string, error) {
	home, err := dataHome(runtime.GOOS, os.Getenv)
	if err != nil {
		return "", err
	}
	return filepath.Join(home, "stepscope", "runs"), nil
}

// dataHome follows the XDG base directory specification, which ignores relative paths.
func dataHome(system string, getenv func(string) string) (string, error) {
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	name, below := "HOME", filepath.Join(".local", "share")
	switch system {
	case "darwin", "ios":
		below = filepath.Join("Library", "Application Support")
	case "windows":
		name, below = "LocalAppData", ""
	}
	home := getenv(name)
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("no directory for runs: neither XDG_DATA_HOME nor %s is set to an absolute path; give one with --run-dir", name)
	}
	return filepath.Join(home, below), nil
}
