// Package result is what explaining captures comes to: reports, comparisons, and what
// prefill and decode servers did together. Times are nanoseconds; package report gives
// them their units.
package result

import (
	"slices"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/trace"
)

// Report is what Analyze finds. Its JSON form is stable and documented in
// docs/formats/analysis.md: fields are added, never changed. All times are
// nanoseconds.
type Report struct {
	Format    int       `json:"format"` // 1
	Source    Source    `json:"source"`
	Verdict   fact.Fact `json:"verdict"` // the answer in a sentence
	Recording Recording `json:"recording"`
	Findings  []Finding `json:"findings"` // the important ones first
	Replay    Replay    `json:"replay"`
	Path      Path      `json:"critical_path"`
	Chance    Chance    `json:"chance"`
	// Times holds one row per rank and step kind, and one over all ranks
	// ("all") per kind; the kind "all" takes every step together.
	Times       []TimeRow       `json:"times"`
	Stages      []StageRow      `json:"stages"` // of a diffusion pipeline, as they come
	Steps       []Step          `json:"steps"`
	Ranks       []RankRow       `json:"ranks"`
	Balance     []BalanceRow    `json:"balance"` // of attention and experts over ranks
	Collectives []CollectiveRow `json:"collectives"`
	Classes     []ClassRow      `json:"classes"`
	Kernels     []KernelRow     `json:"kernels"`
	Layers      Layers          `json:"layers"`
	CPU         CPU             `json:"cpu"`
	Memory      []MemorySeries  `json:"memory"`
	Gaps        []Gap           `json:"gaps"` // the longest idle gaps, longest first
	Notes       []Note          `json:"notes"`
}

// Source says what was analysed.
type Source struct {
	ID       string   `json:"id"`
	Files    []string `json:"files"`
	Ranks    []string `json:"ranks"`   // labels, in order
	Missing  []string `json:"missing"` // ranks that names or distributedInfo promise and no file has
	Complete bool     `json:"complete"`
	Device   string   `json:"device"` // GPU name; "" unknown
	StartNS  int64    `json:"start_ns"`
	SpanNS   int64    `json:"span_ns"`
	// RecordedNS is how much of it was recorded: less where stages were recorded at different times.
	RecordedNS int64     `json:"recorded_ns"`
	StepRule   string    `json:"step_rule"` // how steps were cut: annotations, graph launches, none
	Events     int64     `json:"events"`
	Clocks     fact.Fact `json:"clocks"` // what is known of the agreement of the ranks' clocks
	// Within is by how much a rank's clock may be off at most, against the first of those it
	// shares collectives with; 0: they share one for sure, or nothing is known.
	Within int64 `json:"clocks_within_ns"`
	// Doubts say why the files cannot be one capture; they were taken for one by --force.
	Doubts []string `json:"doubts"`
}

// Recording is what recording cost: the steps of the window against those of the same
// kind, and of about the same batch, that nothing recorded.
type Recording struct {
	Known  bool   `json:"known"`  // the rest of the figures is 0 if not
	Stacks bool   `json:"stacks"` // with Python stacks, which cost the host most
	From   string `json:"from"`   // what is known of other steps: tokens, counters, given; "": nothing
	Kind   string `json:"kind"`
	Batch  int    `json:"batch"` // requests in a step, of all data-parallel ranks; 0: not known
	Steps  int    `json:"steps"` // of the window that were compared
	// Medians, and the interval of their ratio (95 %).
	Inside    int64   `json:"inside_ns"`
	Outside   int64   `json:"outside_ns"`
	Ratio     float64 `json:"ratio"`
	RatioLow  float64 `json:"ratio_low"`
	RatioHigh float64 `json:"ratio_high"`
	// Upper: other steps took less than Outside, which prefill has a part in.
	Upper bool      `json:"outside_is_upper"`
	Added int64     `json:"added_ns"` // to a step; 0: none for sure
	Vague bool      `json:"vague"`    // whether it added anything cannot be told
	Says  fact.Fact `json:"text"`     // all of it; "": nothing that matters

	Why     fact.Fact `json:"-"` // it is not known
	Matters bool      `json:"-"` // there are findings about hosts
}

// Finding kinds that more than their rules ask for. Any other is what its finding's ID
// begins with, in package judge.
const (
	Straggler       = "straggler"           // one rank makes the others wait
	SlowLink        = "slow_link"           // transfers became slower for all ranks of a group alike
	SlowSince       = "slow_since"          // steps take longer on all ranks alike, from some step on
	SlowStep        = "slow_step"           // steps that took much longer than their like
	HostBound       = "host_bound"          // the GPUs wait for the hosts, on all ranks alike
	CommBound       = "comm_bound"          // communication that no compute hides
	LaunchBound     = "launch_bound"        // launching costs more than the kernels
	ColdStart       = "cold_start"          // a host did in a step what only the first use of something takes
	UnevenAttention = "attention_imbalance" // over data-parallel ranks
	UnevenExperts   = "expert_imbalance"    // over the ranks that share them out
	SlowLayer       = "slow_layer"          // a layer that takes longer than others with the same modules
	Balanced        = "balanced"            // no rank is late
	Data            = "data"                // the capture lacks something that figures depend on
)

// Straggler causes.
const (
	CauseWork          = "work"          // more or larger kernels than its peers in that step
	CauseDevice        = "device"        // the same kernels take longer, or start late though launched in time
	CauseHost          = "host"          // the same kernels, launched late
	CauseCommunication = "communication" // slower transfer
	CauseUnknown       = "unknown"       // the same kernels start late, and their launches were not recorded: host or device
)

// Finding is one answer, with what proves it.
type Finding struct {
	ID        string   `json:"id"` // stable for the same capture: kind, rank, cause, first step
	Kind      string   `json:"kind"`
	Severity  string   `json:"severity"`   // high, medium, low, info
	Ranks     []int    `json:"ranks"`      // indices into Source.Ranks
	Names     []string `json:"rank_names"` // their labels
	FirstStep int      `json:"first_step"` // counted from 0 in the capture; -1: not about steps
	LastStep  int      `json:"last_step"`
	Passing   bool     `json:"passing"` // transient: it ended before the capture did
	Cause     string   `json:"cause"`
	Reason    string   `json:"reason"` // of a rank's work: requests, tokens, contexts, experts; of its device: shared; "": not known
	// CostNSPerStep is what the finding costs a step: for a straggler, what
	// the ranks that wait for it wait, the median over its steps.
	CostNSPerStep int64      `json:"cost_ns_per_step"`
	Title         fact.Fact  `json:"title"`
	Evidence      []Evidence `json:"evidence"`

	Worth Worth `json:"worth"`

	// P is how likely it is that chance alone makes a rank late like that; 0: not tested.
	P     float64     `json:"p_value"`
	Next  []fact.Fact `json:"next"`  // what to do about it
	Guide string      `json:"guide"` // that tells more: a file of docs/guides, without .md; "": none

	// Profilers: it may be the profiler's, which slows hosts. CostNSPerStep is without what
	// recording is known to have added, where that is of the same steps.
	Profilers bool `json:"may_be_profilers"`

	Steps   []int `json:"-"` // that it is about; none: all from the first to the last
	Starved bool  `json:"-"` // of a software device: no core ran it
	Turns   bool  `json:"-"` // ranks are late in turns: nobody's fault
	Still   bool  `json:"-"` // the host stands still now and again
	Plain   bool  `json:"-"` // its rank runs more kernels in each of the steps: chance need not be tested
}

// Evidence is one fact behind a finding.
type Evidence struct {
	Text fact.Fact `json:"text"`
	// What the text says in numbers, where it compares two: this rank (or
	// these steps) against its peers. Unit is ns, count or ratio.
	Value float64   `json:"value"`
	Peers float64   `json:"peers"`
	Unit  string    `json:"unit"`
	Name  fact.Fact `json:"name"` // kernel, op or frame, or what a thread did
	Step  int       `json:"step"` // -1: over the finding's steps
}

// Time is where time went on one device. Compute + ExposedComm + ExposedCopy
// + Idle = Total, exactly; overlap is counted once, in that order.
type Time struct {
	Total       int64 `json:"total_ns"`
	Compute     int64 `json:"compute_ns"`
	ExposedComm int64 `json:"exposed_comm_ns"` // communication while nothing computes
	ExposedCopy int64 `json:"exposed_copy_ns"`
	Idle        int64 `json:"idle_ns"`

	HiddenComm int64 `json:"hidden_comm_ns"` // communication under compute
	CommWait   int64 `json:"comm_wait_ns"`   // of all communication: waiting for the last rank
	// ExposedWait is the part of ExposedComm that is waiting; the rest is transfer.
	ExposedWait int64 `json:"exposed_wait_ns"`
	IdleBy      Idle  `json:"idle_by"`

	Waiting int64 `json:"-"` // of Total: no request was under way; idle, or what other servers sent was copied
}

// Busy is the time in which the device did anything.
func (t *Time) Busy() int64 { return t.Total - t.Idle }

// Idle splits idle time by its cause; the parts sum up to Time.Idle.
type Idle struct {
	Host     int64 `json:"host_ns"`     // the host had not asked yet: Python, scheduler, CPU ops
	Sync     int64 `json:"sync_ns"`     // the host was blocked in a synchronisation or a blocking copy
	Peers    int64 `json:"peers_ns"`    // the host waited in a host collective for those of other ranks
	Launch   int64 `json:"launch_ns"`   // inside the launch call, and from its end to the start on the device
	Device   int64 `json:"device_ns"`   // launched in time, started late: dependencies, gaps inside graphs, a shared GPU
	Profiler int64 `json:"profiler_ns"` // the profiler's own stalls
	Unknown  int64 `json:"unknown_ns"`  // no launch recorded
	Between  int64 `json:"between_ns"`  // between steps, without requests under way as far as the trace tells

	None int64 `json:"-"` // of Between: for sure without
}

// Late is the idle time for which the host came late.
func (i *Idle) Late() int64 { return i.Host + i.Sync + i.Launch }

// TimeRow is a Time for one rank and step kind. Sums run over the kind's steps.
type TimeRow struct {
	Rank  string `json:"rank"` // a label, or "all": the sum over ranks
	Kind  string `json:"kind"` // prefill, decode, mixed, other, idle, or "all"
	Steps int    `json:"steps"`
	Time
}

// Uncut tells a capture in which nothing repeats as steps do: its whole window is one.
func (r *Report) Uncut() bool { return r.Source.StepRule == trace.Uncut }

// Said is what sentences call steps of a kind: nothing if the kind of none is known.
func (r *Report) Said(kind string) string {
	if kind == "other" && !slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Kind != "other" }) {
		return ""
	}
	return kind
}

// Step is one forward pass over all ranks that took part.
type Step struct {
	Step   int        `json:"step"`
	Kind   string     `json:"kind"`
	Mode   string     `json:"mode"`
	Name   string     `json:"name"`
	Stage  string     `json:"stage"`
	Batch  int        `json:"batch"`  // -1: not said
	Tokens int        `json:"tokens"` // -1: not said
	Slow   bool       `json:"slow"`   // much longer than similar steps
	SlowBy float64    `json:"slow_by"`
	Why    fact.Fact  `json:"why"`   // for a slow step: what grew
	Ranks  []StepRank `json:"ranks"` // one per rank that has the step
}

// StepRank is one rank's part of a step.
type StepRank struct {
	Rank     int   `json:"rank"`
	Start    int64 `json:"start_ns"`  // since Source.StartNS, on the aligned clock
	CPU      int64 `json:"cpu_ns"`    // length of the annotation on the host
	Period   int64 `json:"period_ns"` // to the next step's start; for the last step its own length
	Kernels  int   `json:"kernels"`
	Launches int   `json:"launches"`
	Graphs   int   `json:"graph_launches"`
	HostGap  int64 `json:"host_gap_ns"` // idle because the host came late (host + sync + launch)
	Time           // over the period on the device
}

// StageRow is a stage of a diffusion pipeline on one rank, summed over its runs.
type StageRow struct {
	Stage string  `json:"stage"` // under which it is registered
	Rank  int     `json:"rank"`
	Count int     `json:"count"`   // of its runs
	Host  int64   `json:"host_ns"` // length of its spans
	Share float64 `json:"share"`   // of Host, of all stages of the rank
	Busy  int64   `json:"busy_ns"` // the device ran what the stage launched
	Wait  int64   `json:"wait_ns"` // of its collectives, until the last rank had arrived
	Idle  int64   `json:"idle_ns"` // of Host: the device did nothing
	Own   int64   `json:"own_ns"`  // Host without waits in it
	// Beyond is by how much Own is longer than that of the fastest rank.
	Beyond int64 `json:"beyond_ns"`
	Caused int64 `json:"caused_ns"` // what others waited for it in collectives at which it arrived last
}

// RankRow compares a rank with its peers, medians over steps.
type RankRow struct {
	Rank        int    `json:"rank"`
	Name        string `json:"name"`
	File        string `json:"file"`
	Stage       string `json:"stage"`
	Steps       int    `json:"steps"`
	Period      int64  `json:"period_ns"`
	Work        int64  `json:"work_ns"` // own compute per step
	Wait        int64  `json:"wait_ns"` // waiting in collectives per step
	HostGap     int64  `json:"host_gap_ns"`
	Kernels     int    `json:"kernels"`
	Last        int    `json:"last"`        // collectives in which it arrived last
	Collectives int    `json:"collectives"` // matched collectives it took part in
	Caused      int64  `json:"caused_ns"`   // what it made others wait, median per step
	ShiftNS     int64  `json:"shift_ns"`    // added to its clock
	ShiftError  int64  `json:"shift_error_ns"`
	Clock       Clock  `json:"clock"`
}

// Clock is what collectives allow of a rank's clock, with its shift, against that of another.
type Clock struct {
	Method    string  `json:"method"`  // reference, same host, collectives, none
	Against   string  `json:"against"` // the label of that other; "": none
	Assumed   bool    `json:"assumed"` // that they share one: no file names its host
	Low       int64   `json:"low_ns"`  // of what might be added to it beyond the shift, at any time of the window
	High      int64   `json:"high_ns"`
	DriftLow  float64 `json:"drift_low_ppm"` // beyond that of the shift
	DriftHigh float64 `json:"drift_high_ppm"`
}

// CollectiveRow sums up the matched collectives of one operation, group and size.
type CollectiveRow struct {
	Op       string    `json:"op"`
	Group    fact.Fact `json:"group"` // its ranks
	Size     int       `json:"group_size"`
	Kind     string    `json:"kind"` // step kind
	Bytes    int64     `json:"bytes"`
	Count    int       `json:"count"`     // collectives, not kernels
	InGraphs int       `json:"in_graphs"` // of these, replayed inside CUDA graphs
	Matched  int       `json:"matched"`
	Wait     int64     `json:"wait_ns"`     // summed over ranks
	Transfer int64     `json:"transfer_ns"` // summed over ranks
	Median   int64     `json:"transfer_median_ns"`
	AlgGBs   float64   `json:"algorithm_gb_s"` // 0: message size not recorded
	BusGBs   float64   `json:"bus_gb_s"`
}

// ClassRow sums up kernels by class: attention, GEMM, MoE, norm, elementwise,
// communication, copy, sampling, other. Count and Total include copies and
// memsets under "copy".
type ClassRow struct {
	Class string  `json:"class"`
	Kind  string  `json:"kind"` // step kind, or "all"
	Count int     `json:"count"`
	Total int64   `json:"total_ns"`
	Share float64 `json:"share"` // of the summed GPU time of its kind
}

// KernelRow sums up the kernels of one name over all ranks.
type KernelRow struct {
	Name   string  `json:"name"`
	Short  string  `json:"short"`
	Class  string  `json:"class"`
	Kind   string  `json:"kind"`
	Count  int     `json:"count"`
	Total  int64   `json:"total_ns"`
	Median int64   `json:"median_ns"`
	P99    int64   `json:"p99_ns"`
	Min    int64   `json:"min_ns"`
	Max    int64   `json:"max_ns"`
	Share  float64 `json:"share"`
	// Achieved rates, where shapes or sizes were recorded; Timed is the share
	// of Total they are measured over. 0: unknown.
	TFLOPs float64 `json:"tflop_s"`
	GBs    float64 `json:"gb_s"`
	Timed  float64 `json:"timed"`
	// Spread is the slowest rank's median over the fastest's, minus 1.
	Spread float64 `json:"rank_spread"`
	Only   string  `json:"only_rank"` // the one of several ranks that runs it; "": more than one do
}

// CPU is the host side, over all ranks.
type CPU struct {
	Ops    []CPUOp `json:"ops"`    // by self time
	Frames []CPUOp `json:"frames"` // Python frames by self time; empty without with_stack
	Launch Launch  `json:"launch"`
}

// CPUOp sums up the spans of one name. Self excludes nested spans.
type CPUOp struct {
	Name  string  `json:"name"`
	Count int     `json:"count"`
	Total int64   `json:"total_ns"`
	Self  int64   `json:"self_ns"`
	Share float64 `json:"share"` // of the summed self time of its table
}

// Launch sums up the calls that start GPU work.
type Launch struct {
	Calls       int   `json:"calls"`
	Total       int64 `json:"total_ns"`
	Median      int64 `json:"median_ns"`
	GraphCalls  int   `json:"graph_calls"`
	GraphOps    int   `json:"graph_ops"`          // GPU work started by them
	Shorter     int   `json:"shorter_kernels"`    // kernels shorter than the call that launched them
	ShorterTime int64 `json:"shorter_call_ns"`    // what those calls took
	Delay       int64 `json:"delay_median_ns"`    // call end to start on the device; negative: started before it returned
	Unlaunched  int   `json:"without_launch"`     // GPU work whose launch was not recorded
	EmptyGraphs int   `json:"graphs_without_ops"` // graph launches without any GPU work: the trace lost it
}

// MemorySeries is the allocator's timeline of one rank and device.
type MemorySeries struct {
	Rank   int           `json:"rank"`
	Device string        `json:"device"`
	Peak   int64         `json:"peak_bytes"`
	PeakAt int64         `json:"peak_at_ns"`
	PeakOp string        `json:"peak_op"` // the CPU op that was running
	Allocs int           `json:"allocations"`
	Points []MemoryPoint `json:"points"` // at most a few hundred, extremes kept
}

// MemoryPoint is one point of a MemorySeries.
type MemoryPoint struct {
	At        int64 `json:"at_ns"` // since Source.StartNS
	Allocated int64 `json:"allocated"`
	Reserved  int64 `json:"reserved"`
}

// Gap is one interval in which a device did nothing.
type Gap struct {
	Rank   int       `json:"rank"`
	Step   int       `json:"step"` // -1: outside any step
	Start  int64     `json:"start_ns"`
	Dur    int64     `json:"dur_ns"`
	Cause  string    `json:"cause"`  // host, sync, launch, device, profiler, unknown
	Before string    `json:"before"` // the op that ended before it
	After  string    `json:"after"`  // the op that ended it
	Host   fact.Fact `json:"host"`   // what the launching thread did meanwhile, or that no core ran a software device
}

// Note is something that limits the figures.
type Note struct {
	Severity string    `json:"severity"`
	Source   string    `json:"source"`
	Text     fact.Fact `json:"text"`
	Count    int64     `json:"count"`
}
