// Package runs stores runs. A run is the set of measurements of one command, in a separate directory that describes
// itself. docs/formats/run.md describes the files.
//
// [Create] begins a run, [Open] opens an existing run, and [List] lists all runs. There is no state outside the run
// directories.
//
// Evidence (records, traces, logs, the summary) is written once and never changed. Results computed from the evidence
// are stored under derived/ and can be deleted.
package runs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Names in a run directory that are reserved and cannot be used for files in the manifest.
const (
	manifestFile = "manifest.json"
	lockFile     = ".lock" // locked while the run is being written
	derivedDir   = "derived"

	// RecordsFile is the file with the requests of a load.
	RecordsFile = "records.jsonl.zst"
	// partSuffix is appended to the name of a file of records that is being written or was never completed.
	partSuffix = ".part"
)

// Errors that callers can test with errors.Is.
var (
	ErrNotFound = errors.New("no such run")
	ErrRunning  = errors.New("the run is being written")
	ErrCut      = errors.New("the records end early")
)

// DefaultRoot returns the directory of the user's runs: $XDG_DATA_HOME/stepscope/runs, or the equivalent on systems
// without that variable.
func DefaultRoot() (string, error) {
	home, err := dataHome(runtime.GOOS, os.Getenv)
	if err != nil {
		return "", err
	}
	return filepath.Join(home, "stepscope", "runs"), nil
}

// dataHome returns the user's data directory according to the XDG base directory specification. As the specification
// requires, relative paths are ignored.
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
