package api

import (
	"strconv"
	"strings"
	"time"
)

// Activity is a set of kinds of events that a profile records.
type Activity uint8

// Activities of SGLang's profiler.
const (
	ActivityCPU Activity = 1 << iota
	ActivityGPU
	ActivityMem
	ActivityCUDAProfiler
)

// ProfileRequest asks for a profile window on all ranks, with defaults and environment already applied.
type ProfileRequest struct {
	ID           string // profile id, the same for all ranks
	OutputDir    string // absolute; created if missing
	Prefix       string // text before the id in file names; may be empty
	StartStep    int64  // absolute forward count of the first step; 0: now. Not used with ByStage
	NumSteps     int    // exact number of steps; 0: until StopProfile
	Activities   Activity
	ByStage      bool // whether to record one window for prefill and one for decode, each of NumSteps steps
	StageNames   bool // whether file names call stages prefill and decode (V2) rather than EXTEND and DECODE
	Prefill      bool // by stage: whether to record prefill
	Decode       bool // by stage: whether to record decode
	WithStack    bool
	RecordShapes bool
	Detailed     bool // whether step names include sums of lengths
	Merge        bool
	MemEntries   int // for ActivityMem: number of latest entries of the memory history to keep; 0: all
	DecodeMinBS  int // by stage: batch size at which the decode window starts
}

// Stem returns the start of the file names of the window's traces: the prefix, if any, and the id.
func (r *ProfileRequest) Stem() string {
	if r.Prefix == "" {
		return r.ID
	}
	return r.Prefix + "-" + r.ID
}

// ProfileResult lists the outputs of a window.
type ProfileResult struct {
	Dir     string
	ID      string
	Files   []string // base names
	Steps   int      // recorded steps, summed over data-parallel ranks and stages
	Merged  string   // path of the merged trace; empty: none
	Message string   // "Merged trace: PATH (Events: N, Files: M)", an error, or empty
}

// PythonTime formats t as Python's str(time.time()), which SGLang uses to name windows, snapshots and directories. The
// precision is that of a time in seconds as a float64.
func PythonTime(t time.Time) string {
	text := strconv.FormatFloat(float64(t.UnixNano())/1e9, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
