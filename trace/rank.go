package trace

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Rank is the position of one process in the parallel layout of a server. A negative coordinate means that the layout
// does not have that dimension.
type Rank struct {
	TP, DP, PP, EP int
}

// NoRank is a Rank without coordinates.
var NoRank = Rank{TP: -1, DP: -1, PP: -1, EP: -1}

// String formats the coordinates that are present, such as "TP00-DP01". The format is that of SGLang's trace merger,
// without the brackets. It returns "Unknown" if there are none.
func (r Rank) String() string {
	var b strings.Builder
	for _, c := range [...]struct {
		key string
		n   int
	}{{"TP", r.TP}, {"DP", r.DP}, {"PP", r.PP}, {"EP", r.EP}} {
		if c.n < 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('-')
		}
		fmt.Fprintf(&b, "%s%02d", c.key, c.n)
	}
	if b.Len() == 0 {
		return "Unknown"
	}
	return b.String()
}

// Compare orders ranks as SGLang's merger sorts files: by DP, EP, PP, TP; absent coordinates count as 0.
func (r Rank) Compare(o Rank) int {
	for _, d := range [...]int{
		max(r.DP, 0) - max(o.DP, 0), max(r.EP, 0) - max(o.EP, 0),
		max(r.PP, 0) - max(o.PP, 0), max(r.TP, 0) - max(o.TP, 0),
	} {
		if d != 0 {
			return d
		}
	}
	return 0
}

// ParseRank parses the output of Rank.String.
func ParseRank(s string) (Rank, bool) {
	r := NoRank
	if s == "" {
		return r, false
	}
	for part := range strings.SplitSeq(s, "-") {
		if len(part) < 3 {
			return NoRank, false
		}
		n, err := strconv.ParseUint(part[2:], 10, 31)
		if err != nil || !r.set(part[:2], int(n)) {
			return NoRank, false
		}
	}
	return r, true
}

// set stores one coordinate. It returns false for an unknown or repeated key.
func (r *Rank) set(key string, n int) bool {
	var at *int
	switch key {
	case "TP":
		at = &r.TP
	case "DP":
		at = &r.DP
	case "PP":
		at = &r.PP
	case "EP":
		at = &r.EP
	default:
		return false
	}
	if *at >= 0 {
		return false
	}
	*at = n
	return true
}

// FileName is the information encoded in the file name of a profiler trace.
type FileName struct {
	ID     string // profile id with its prefix, shared by the files of one window
	Rank   Rank
	Stage  string // EXTEND, DECODE, prefill, decode; "" if the window was not split by stage
	Merged bool   // whether the file is named merged-ID; such a file has no rank
	// Wrote is the time at which the file was written, in ns since the epoch; 0: unknown. File names of torch and vLLM
	// end in this time. The ID in such a name does not identify a window, because the files of all windows have the
	// same ID.
	Wrote int64
}

// String returns the name that SGLang gives the file, which may be a merged file. It omits the rank if the rank has no
// coordinates.
func (n FileName) String() string {
	const suffix = ".trace.json.gz"
	if n.Merged {
		return "merged-" + n.ID + suffix
	}
	s := n.ID
	if n.Rank != NoRank {
		if s != "" {
			s += "-"
		}
		s += fmt.Sprintf("TP-%d", max(n.Rank.TP, 0))
	}
	for _, c := range [...]struct {
		key string
		n   int
	}{{"DP", n.Rank.DP}, {"PP", n.Rank.PP}, {"EP", n.Rank.EP}} {
		if c.n >= 0 {
			s += fmt.Sprintf("-%s-%d", c.key, c.n)
		}
	}
	if n.Stage != "" {
		s += "-" + n.Stage
	}
	return s + suffix
}

// Names written by SGLang (section 1.6 of SGLang's contract):
// [PREFIX-]ID-TP-t[-DP-d][-PP-p][-EP-e][-STAGE].trace.json.gz
var (
	sglangName = regexp.MustCompile(`^(?:(.*)-)?TP-(\d{1,9})(?:-DP-(\d{1,9}))?(?:-PP-(\d{1,9}))?(?:-EP-(\d{1,9}))?(?:-([A-Za-z_]+))?$`)
	mergedName = regexp.MustCompile(`^merged-(.*)$`)
	// SGLang diffusion: ID-N_steps-global-rankR, or full_stages (multimodal_gen/runtime/utils/profiler.py).
	diffusionName = regexp.MustCompile(`^(.+-(?:\d{1,9}_steps|full_stages))-global-rank(\d{1,9})$`)
	// Newer vLLM (get_worker_rank_suffix): [PREFIX_]dp0_pp0_tp0_dcp0_ep0_rank0.
	vllmWorker = regexp.MustCompile(`(?:^|[-_.])dp(\d{1,9})_pp(\d{1,9})_tp(\d{1,9})_dcp\d{1,9}_ep(\d{1,9})(?:_rank\d{1,9})?$`)
	vllmRank   = regexp.MustCompile(`(?:^|[-_.])rank[-_]?(\d{1,9})(?:[-_.]|$)`)
	// nsys -o PREFIX-%q{RANK}, and srtctl's workers prefill_0 and decode_0. nsys itself appends a dot and the index of
	// the recorded range.
	reportRank = regexp.MustCompile(`^(.+?)[-_](\d{1,3})$`)
	// OUTPUT-window-N from stepscope nsys run: each window covers a different period.
	reportWindow = regexp.MustCompile(`^(.+?)(-window-\d{1,9})$`)
	torchWorker  = regexp.MustCompile(`^(.+)\.(\d{10,20})$`)
)

// traceSuffixes are the endings of profiler files, longest first.
var traceSuffixes = []string{
	".pt.trace.json.gz", ".pt.trace.json", ".trace.json.gz", ".trace.json.zst", ".trace.json",
	".json.gz", ".json.zst", ".json",
}

// TraceSuffix returns the ending of a base name that marks a profiler trace, or "".
func TraceSuffix(base string) string {
	return firstSuffix(base, traceSuffixes...)
}

func firstSuffix(base string, suffixes ...string) string {
	for _, s := range suffixes {
		if strings.HasSuffix(base, s) {
			return s
		}
	}
	return ""
}

// IsReport reports whether path names a report of Nsight Systems: .nsys-rep, or the .qdrep of versions before 2021.4,
// which nsys still reads.
func IsReport(path string) bool {
	return strings.HasSuffix(path, ".nsys-rep") || strings.HasSuffix(path, ".qdrep")
}

// ReportSuffix returns the ending of a base name that marks a report of Nsight Systems (nsys) or its export, or "".
func ReportSuffix(base string) string {
	return firstSuffix(base, ".nsys-rep", ".qdrep", ".sqlite")
}

// ParseFileName reads the identity of a trace file or a report from its base name. It returns false if the name
// contains no rank. ID is then the name without its ending, so that the file is not grouped with any other file.
func ParseFileName(base string) (FileName, bool) {
	report := ReportSuffix(base)
	stem := strings.TrimSuffix(base, TraceSuffix(base)+report)
	if m := mergedName.FindStringSubmatch(stem); m != nil {
		return FileName{ID: m[1], Rank: NoRank, Merged: true}, true
	}
	if m := sglangName.FindStringSubmatch(stem); m != nil {
		return FileName{
			ID:    m[1],
			Rank:  Rank{TP: coordinate(m[2]), DP: coordinate(m[3]), PP: coordinate(m[4]), EP: coordinate(m[5])},
			Stage: m[6],
		}, true
	}
	if m := diffusionName.FindStringSubmatch(stem); m != nil {
		return FileName{ID: m[1], Rank: Rank{TP: coordinate(m[2]), DP: -1, PP: -1, EP: -1}}, true
	}
	if m := reportWindow.FindStringSubmatch(stem); m != nil && report != "" {
		name, ok := ParseFileName(m[1] + report)
		name.ID += m[2]
		return name, ok
	}
	name := FileName{ID: stem, Rank: NoRank}
	// torch's handler and vLLM write WORKER.TIME_NS with a different time for each rank, so the ranks have in common
	// only the worker name without the rank.
	worker := stem
	if m := torchWorker.FindStringSubmatch(stem); m != nil {
		worker = m[1]
		name.Wrote = nanoseconds(m[2])
	}
	if m := vllmWorker.FindStringSubmatch(worker); m != nil {
		name.Rank = Rank{DP: coordinate(m[1]), PP: coordinate(m[2]), TP: coordinate(m[3]), EP: coordinate(m[4])}
		name.ID = strings.TrimSuffix(worker, m[0])
		return name, true
	}
	if at := vllmRank.FindStringSubmatchIndex(worker); at != nil {
		name.Rank.TP = coordinate(worker[at[2]:at[3]])
		name.ID = strings.Trim(worker[:at[0]]+"-"+worker[at[1]:], "-_.")
		return name, true
	}
	if m := reportRank.FindStringSubmatch(stem); m != nil && report != "" {
		switch name.Rank.TP = coordinate(m[2]); m[1] {
		case "window": // a window number, not a rank
			return FileName{ID: stem, Rank: NoRank}, false
		case "prefill", "decode":
			name.ID, name.Stage = "workers", m[1]
		default:
			name.ID = m[1]
		}
		return name, true
	}
	return name, false
}

// AskedSteps reports whether the file name path comes from the profiler of an SGLang diffusion program, and returns the
// number of steps that the profiler was asked to record. The ProfilerSteps in such a file are denoising steps. steps is
// 0 if all stages were recorded.
func AskedSteps(path string) (steps int, diffusion bool) {
	base := filepath.Base(path)
	m := diffusionName.FindStringSubmatch(strings.TrimSuffix(base, TraceSuffix(base)))
	if m == nil {
		return 0, false
	}
	id, _ := strings.CutSuffix(m[1], "_steps")
	steps, _ = strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:]) // full_stages has no number
	return steps, true
}

// nanoseconds converts a time since the epoch in s, ms, us or ns to ns. It returns 0 if digits is not a time of this
// century in any of these units.
func nanoseconds(digits string) int64 {
	n, err := strconv.ParseInt((digits + "000000000")[:19], 10, 64)
	if err != nil || len(digits) > 19 {
		return 0
	}
	return n
}

func coordinate(s string) int {
	if s == "" {
		return -1
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
