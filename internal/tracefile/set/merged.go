package set

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/trace"
)

// Key is the top-level member in which a merged file stores the metadata of the merge.
const Key = "stepscope"

// Merged is the value of the member Key.
type Merged struct {
	Format    int    `json:"format"` // 1
	ProfileID string `json:"profile_id"`
	Ranks     []Part `json:"ranks"`
	IDMap     struct {
		Stride int `json:"stride"`
	} `json:"id_map"`
	Missing []Missing `json:"missing"`
	Notes   []string  `json:"notes"`
}

// Part describes one input of a merge, in the merge's result and in the metadata of the merged file.
type Part struct {
	Label         string          `json:"label"`
	File          string          `json:"file"`
	Stage         string          `json:"stage,omitempty"`
	PIDPrefix     string          `json:"pid_prefix"`
	IDIndex       int             `json:"id_index"`
	BaseTimeNS    *int64          `json:"base_time_ns"` // value in the input file; null: none
	ShiftNS       int64           `json:"shift_ns"`     // added to the file's absolute times to align its clock
	Uncertainty   int64           `json:"shift_uncertainty_ns"`
	ShiftInterval []int64         `json:"shift_interval_ns,omitempty"`
	DriftPPB      float64         `json:"shift_drift_ppb,omitempty"` // the shift grows by this many ns per second
	DriftSince    int64           `json:"shift_since_ns,omitempty"`  // start of the drift: ns since the output's base
	ShiftMethod   string          `json:"shift_method"`
	Collectives   int             `json:"shift_collectives,omitempty"`
	Info          json.RawMessage `json:"distributedInfo,omitempty"`
	TraceID       string          `json:"trace_id,omitempty"`
	Host          string          `json:"host_name,omitempty"`
	Events        int64           `json:"events"`
	Complete      bool            `json:"complete"`
	Problem       *Problem        `json:"problem,omitempty"`
	Repaired      int64           `json:"repaired,omitempty"`    // events with unescaped quotes repaired
	Cleaned       int64           `json:"cleaned,omitempty"`     // events with NaN, control characters or bad UTF-8 replaced
	OddTimes      int64           `json:"odd_times,omitempty"`   // number of ts that are not numbers and stay unchanged
	From          json.RawMessage `json:"merged_from,omitempty"` // member "stepscope" of an input that is merged itself
}

// Missing is an expected rank without a file.
type Missing struct {
	Label  string `json:"label"`
	File   string `json:"file,omitempty"`
	Reason string `json:"reason"`
}

func (m Missing) String() string {
	if m.File != "" {
		return m.File + ": " + m.Reason
	}
	return m.Label + ": " + m.Reason
}

// mostRuns is the maximum number of rank ranges in one line.
const mostRuns = 4

// Together combines ranks that are missing for the same reason, if there are many.
func Together(missing []Missing) (out []Missing) {
	labels := map[string][]string{}
	for _, m := range missing {
		if m.File == "" {
			labels[m.Reason] = append(labels[m.Reason], m.Label)
		}
	}
	for _, m := range missing {
		all := labels[m.Reason]
		switch n := len(all); {
		case m.File != "" || n <= 3:
			out = append(out, m)
		case m.Label == all[0]:
			runs := trace.LabelRuns(all)
			m.Label = fmt.Sprintf("%d ranks (%s)", n, strings.Join(runs[:min(len(runs), mostRuns)], ", "))
			if len(runs) > mostRuns {
				m.Label = strings.TrimSuffix(m.Label, ")") + ", …)"
			}
			out = append(out, m)
		}
	}
	return out
}

// NoFiles returns the named inputs that do not exist.
func NoFiles(paths []string) (out []Missing) {
	for _, path := range paths {
		out = append(out, Missing{Label: trace.NoRank.String(), File: path, Reason: "no such file"})
	}
	return out
}

// FindMissing returns the ranks that must exist according to file names or distributedInfo but have no file.
func FindMissing(set Set, heads []*Head) []Missing {
	var out []Missing
	holes := map[string][]trace.Rank{}
	for _, h := range set.Holes() {
		holes[h.Stage] = append(holes[h.Stage], h.Rank)
		out = append(out, Missing{
			Label: strings.TrimSpace(h.Rank.String() + " " + h.Stage), Reason: "no file of this rank, judging by the names of the others",
		})
	}
	// Worlds are distinguished by stage and replica: if data parallelism uses separate process groups, each replica is
	// a separate world.
	type world struct {
		stage    string
		dp, size int
	}
	seen := map[world]map[int]bool{}
	var order []world
	unread := map[string]int{} // stage -> unreadable files whose name gives a rank; these are reported elsewhere
	other := map[string]bool{} // stages whose file names number ranks differently from distributedInfo
	for _, h := range heads {
		if h.Problem != nil && h.File.Named && !h.World.Known {
			unread[h.File.Name.Stage]++
		}
		if h.Merged != nil {
			out = append(out, h.Merged.Missing...)
		}
		if h.merged() || !h.World.Known || h.World.Rank < 0 || h.World.Size < 2 {
			continue
		}
		w := world{h.File.Name.Stage, -1, h.World.Size}
		if have := seen[w]; have != nil && have[h.World.Rank] {
			w.dp = h.File.Name.Rank.DP
		}
		if seen[w] == nil {
			seen[w] = map[int]bool{}
			order = append(order, w)
		}
		seen[w][h.World.Rank] = true
		if name := h.File.Name.Rank; name.TP != h.World.Rank || max(name.DP, name.PP, name.EP) > 0 {
			other[w.stage] = true
		}
	}
	for _, w := range order {
		if w.dp >= 0 || w.size > 1<<20 {
			continue
		}
		lacking := w.size - len(seen[w]) - len(holes[w.stage]) - unread[w.stage]
		if lacking <= 0 {
			continue
		}
		have := "1 file has"
		if n := len(seen[w]); n != 1 {
			have = fmt.Sprintf("%d files have", n)
		}
		reason := fmt.Sprintf("distributedInfo says %d ranks, %s one of them", w.size, have)
		named := map[int]bool{}
		for _, hole := range holes[w.stage] {
			if !other[w.stage] {
				named[hole.TP] = true
			}
		}
		var ranks []string
		for r := range w.size {
			if !seen[w][r] && !named[r] {
				ranks = append(ranks, fmt.Sprint(r))
			}
		}
		// Some of these ranks have an unreadable file or are already listed as missing, but it is not known which.
		if len(ranks) > lacking {
			ranks = []string{strings.Join(ranks[:min(len(ranks), 8)], " or ")}
		}
		for _, r := range ranks {
			out = append(out, Missing{Label: strings.TrimSpace("rank " + r + " " + w.stage), Reason: reason})
		}
	}
	return out
}

// OutputName returns SGLang's name for a merged trace. A prefix of the id is kept, because the outputs of two windows
// must not have the same name.
func OutputName(id, suffix string) string {
	id = strings.NewReplacer("/", "_", string(filepath.Separator), "_").Replace(id)
	return "merged-" + id + suffix
}
