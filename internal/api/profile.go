package api

import (
	"strconv"
	"strings"
	"time"
)

// Activity is a set of things a profile records.
type Activity uint8

// Activities of SGLang's profiler.
const (
	ActivityCPU Activity = 1 << iota
	ActivityGPU
	ActivityMem
	ActivityCUDAProfiler
)

// ProfileRequest asks for a window on all ranks: defaults and environment are applied.
type ProfileRequest struct {
	ID           string // profile id, the same for all ranks
	OutputDir    string // absolute; made when it does not exist
	Prefix       string // before the id in file names; may be empty
	StartStep    int64  // absolute forward count of the first step; 0: now. Not with ByStage
	NumSteps     int    // exactly so many steps; 0: until StopProfile
	Activities   Activity
	ByStage      bool // a window for prefill and one for decode, NumSteps each
	StageNames   bool // stages are named prefill and decode (V2) in file names, not EXTEND and DECODE
	Prefill      bool // by stage: record prefill
	Decode       bool // by stage: record decode
	WithStack    bool
	RecordShapes bool
	Detailed     bool // names of steps have sums of lengths
	Merge        bool
	MemEntries   int // ActivityMem: entries of the memory's history that are kept, the last; 0: all
	DecodeMinBS  int // by stage: the decode window waits for so many requests
}

// Stem is what the names of the window's traces begin with: the prefix, if there is one, and the id.
func (r *ProfileRequest) Stem() string {
	if r.Prefix == "" {
		return r.ID
	}
	return r.Prefix + "-" + r.ID
}

// ProfileResult tells what a window left behind.
type ProfileResult struct {
	Dir     string
	ID      string
	Files   []string // base names
	Steps   int      // recorded, of all data-parallel ranks and stages together
	Merged  string   // path; empty: there is none
	Message string   // "Merged trace: PATH (Events: N, Files: M)", what went wrong, or nothing
}

// PythonTime is str(time.time()), by which SGLang names windows, snapshots and
// directories. It keeps what a float64 of the nanoseconds in seconds keeps.
func PythonTime(t time.Time) string {
	text := strconv.FormatFloat(float64(t.UnixNano())/1e9, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
