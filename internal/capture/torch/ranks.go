package torch

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/trace"
)

// ranks lists the ranks of a server according to SGLang's rules (section 1.6 of the contract). If the sizes are
// unknown, it returns nil. A dimension of size 1 has no coordinate, except TP, which always has a coordinate.
func (i *Info) ranks() []trace.Rank {
	if i.TP == 0 {
		return nil
	}
	at := func(n, size int) int {
		if size > 1 {
			return n
		}
		return -1
	}
	replicas := i.DP
	if i.DPAttention {
		replicas = 1 // DP ranks are part of the TP ranks
	}
	var out []trace.Rank
	for dp := range replicas {
		for pp := range i.PP {
			for tp := range i.TP {
				r := trace.Rank{TP: tp, DP: at(dp, i.DP), PP: at(pp, i.PP), EP: at(tp/max(1, i.TP/i.EP), i.EP)}
				if i.DPAttention && i.DP > 1 {
					r.DP = tp / max(1, i.TP/i.DP)
				}
				out = append(out, r)
			}
		}
	}
	return out
}

// expected lists the traces of a complete window, one per rank and stage. The field ID of each trace is empty.
func (m *member) expected() []trace.FileName {
	acts := m.w.activities()
	if slices.Contains(acts, "RPD") {
		// The ROCm profiler replaces torch's profiler, and only one rank writes a trace.
		return []trace.FileName{{Rank: trace.Rank{TP: 0, DP: -1, PP: -1, EP: -1}}}
	}
	if !m.traced() {
		return nil
	}
	var out []trace.FileName
	for _, stage := range m.stages() {
		for _, r := range m.info.ranks() {
			out = append(out, trace.FileName{Rank: r, Stage: stage})
		}
	}
	return out
}

// traced reports whether the window produces traces. Some windows produce only memory snapshots or files of an external
// profiler.
func (m *member) traced() bool {
	return slices.ContainsFunc(m.w.activities(), func(a string) bool { return a != "MEM" && a != "CUDA_PROFILER" })
}

// stages returns the stages that have separate traces, or the single stage "" if the window is not by stage.
func (m *member) stages() []string {
	if !m.w.ByStage {
		return []string{""}
	}
	var out []string
	for _, s := range []string{api.Prefill, api.Decode} {
		if (m.Role == "" || m.Role == s) && (m.w.Stages == nil || slices.Contains(m.w.Stages, s)) {
			out = append(out, s)
		}
	}
	return out
}

// covers reports whether a file is the expected trace want. It also accepts the names of older servers, which contain
// only TP, and the different stage names of newer profilers.
func covers(file, want trace.FileName) bool {
	if file.Merged || api.Stage(file.Stage) != want.Stage {
		return false
	}
	same := func(have, want int) bool { return have < 0 || want < 0 || have == want }
	a, b := file.Rank, want.Rank
	return a.TP == b.TP && same(a.DP, b.DP) && same(a.PP, b.PP) && same(a.EP, b.EP)
}

// missing lists the expected ranks that no file covers.
func missing(expected []trace.FileName, have []trace.FileName) (out []trace.FileName) {
	for _, want := range expected {
		if !slices.ContainsFunc(have, func(f trace.FileName) bool { return covers(f, want) }) {
			out = append(out, want)
		}
	}
	return out
}

// label formats a rank: "TP00-DP01 decode".
func label(f trace.FileName) string { return strings.TrimSpace(f.Rank.String() + " " + f.Stage) }
