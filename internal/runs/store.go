// Package runs keeps runs: what a command measured, in a self-describing
// directory of its own. docs/formats/run.md describes the files.
//
// [Create] begins a run, [Open] reads one back, [List] shows all. The
// directories are all there is: nothing is kept beside them.
//
// Evidence (records, traces, logs, the summary) is written once and never edited.
// What was computed of it lies under derived/, and can be deleted.
package runs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Names in a run directory, besides those that its manifest gives.
const (
	manifestFile = "manifest.json"
	lockFile     = ".lock" // locked as long as the run is being written
	derivedDir   = "derived"

	// RecordsFile are the requests of a load.
	RecordsFile = "records.jsonl.zst"
	// partSuffix marks records that are being written, or never were to the end.
	partSuffix = ".part"
)

// Errors that callers tell apart.
var (
	ErrNotFound = errors.New("no such run")
	ErrRunning  = errors.New("the run is being written")
	ErrCut      = errors.New("the records end early")
)

// DefaultRoot is the directory that holds the user's runs:
// $XDG_DATA_HOME/stepscope/runs, or its place on a system without that.
func DefaultRoot() (string, error) {
	home, err := dataHome(runtime.GOOS, os.Getenv)
	if err != nil {
		return "", err
	}
	return filepath.Join(home, "stepscope", "runs"), nil
}

// dataHome follows the XDG base directory specification, by which a relative
// path counts as not set.
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
		return "", fmt.Errorf("no place for runs: neither XDG_DATA_HOME nor %s is set to an absolute path; give one with --run-dir", name)
	}
	return filepath.Join(home, below), nil
}
