// Package result holds the results of explaining captures: reports, comparisons, and the joint view of prefill and
// decode servers. Times are in nanoseconds; package report adds the units.
package result

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/trace"
)

// Report is the result of Analyze. The JSON form is documented in docs/formats/analysis.md and stable: fields may be
// added, but are never changed. All times are in nanoseconds.
type Report struct {
	Format    int       `json:"format"` // 1
	Source    Source    `json:"source"`
	Verdict   fact.Fact `json:"verdict"` // the answer in one sentence
	NoFault   bool      `json:"-"`       // the verdict is that nothing costs much, which missing data limit
	Recording Recording `json:"recording"`
	Findings  []Finding `json:"findings"` // the most important first
	Replay    Replay    `json:"replay"`
	Path      Path      `json:"critical_path"`
	Chance    Chance    `json:"chance"`
	// Times holds one row for each rank and kind of step. The rank "all" is the sum over all ranks, and the kind "all"
	// covers every step.
	Times       []TimeRow       `json:"times"`
	Stages      []StageRow      `json:"stages"` // stages of a diffusion pipeline, in order
	Steps       []Step          `json:"steps"`
	Ranks       []RankRow       `json:"ranks"`
	Balance     []BalanceRow    `json:"balance"` // balance of attention and experts over ranks
	Collectives []CollectiveRow `json:"collectives"`
	Classes     []ClassRow      `json:"classes"`
	Kernels     []KernelRow     `json:"kernels"`
	Sites       Sites           `json:"kernel_sources"`
	Layers      Layers          `json:"layers"`
	Light       Light           `json:"light"`
	CPU         CPU             `json:"cpu"`
	Memory      []MemorySeries  `json:"memory"`
	Gaps        []Gap           `json:"gaps"` // the longest idle gaps, longest first
	Notes       []Note          `json:"notes"`
}

// Source describes the input of the analysis.
type Source struct {
	ID       string   `json:"id"`
	Files    []string `json:"files"`
	Ranks    []string `json:"ranks"`   // labels, in order
	Missing  []string `json:"missing"` // ranks that exist according to names or distributedInfo, but have no file
	Complete bool     `json:"complete"`
	Device   string   `json:"device"` // GPU name; "": unknown
	Software bool     `json:"-"`      // the devices run on CPU cores
	StartNS  int64    `json:"start_ns"`
	SpanNS   int64    `json:"span_ns"`
	// RecordedNS is the length of the recorded part of SpanNS. It is less than SpanNS if stages were recorded at
	// different times.
	RecordedNS int64     `json:"recorded_ns"`
	StepRule   string    `json:"step_rule"` // rule that cut traces into steps: annotations, graph launches, none
	Events     int64     `json:"events"`
	Clocks     fact.Fact `json:"clocks"` // agreement of the ranks' clocks, as far as known
	// Within is the largest possible error of a rank's clock relative to the first rank with which it shares
	// collectives; 0: the ranks certainly share a clock, or nothing is known.
	Within int64 `json:"clocks_within_ns"`
	// Doubts are reasons why the files cannot be one capture; --force accepted them.
	Doubts []string `json:"doubts"`
}

// Recording is the overhead of recording. Steps of the window are compared with unrecorded steps of the same kind and
// about the same batch size.
type Recording struct {
	Known  bool   `json:"known"`  // if false, the other figures are 0
	Stacks bool   `json:"stacks"` // recorded with Python stacks, which cost the host most
	From   string `json:"from"`   // source of the times of unrecorded steps: tokens, counters, given; "": none
	Kind   string `json:"kind"`
	Batch  int    `json:"batch"` // number of requests in a step, over all data-parallel ranks; 0: unknown
	Steps  int    `json:"steps"` // number of steps of the window that were compared
	// Inside and Outside are the median times of recorded and unrecorded steps. The confidence interval of their ratio
	// has a level of 95 %.
	Inside    int64   `json:"inside_ns"`
	Outside   int64   `json:"outside_ns"`
	Ratio     float64 `json:"ratio"`
	RatioLow  float64 `json:"ratio_low"`
	RatioHigh float64 `json:"ratio_high"`
	// Upper means that Outside is an upper bound, because it includes some prefill.
	Upper bool      `json:"outside_is_upper"`
	Added int64     `json:"added_ns"` // time that recording certainly adds per step; 0: no time is certain
	Vague bool      `json:"vague"`    // it cannot be decided whether recording added anything
	Says  fact.Fact `json:"text"`     // summary; "": nothing relevant

	Why     fact.Fact `json:"-"` // reason if not Known
	Matters bool      `json:"-"` // there are findings about hosts, which recording affects
}

// Names of the kinds of findings.
const (
	Straggler       = "straggler"           // one rank makes the other ranks wait
	SlowLink        = "slow_link"           // transfers became slower for all ranks of a group
	SlowSince       = "slow_since"          // steps take longer on all ranks from some step on
	SlowStep        = "slow_step"           // steps that took much longer than similar steps
	HostBound       = "host_bound"          // the GPUs wait for the hosts on all ranks
	CommBound       = "comm_bound"          // communication that no compute overlaps
	LaunchBound     = "launch_bound"        // launching the kernels takes longer than running them
	ColdStart       = "cold_start"          // a host did one-time initialisation in a step
	UnevenAttention = "attention_imbalance" // attention is spread unevenly over data-parallel ranks
	UnevenExperts   = "expert_imbalance"    // expert work is spread unevenly over the ranks that share the experts
	SlowStage       = "slow_stage"          // the work of a stage takes longer on one rank
	SlowLayer       = "slow_layer"          // a layer takes longer than other layers with the same modules
	Balanced        = "balanced"            // no rank is late
	Data            = "data"                // the capture lacks data on which figures depend
)

// Unknown is the ID of the finding that too few collectives could be compared to tell whether a rank is late.
const Unknown = "data-compared"

// Causes of stragglers.
const (
	CauseWork          = "work"          // more or larger kernels than on its peers in the same step
	CauseDevice        = "device"        // the same kernels take longer, or start late although launched in time
	CauseHost          = "host"          // the same kernels are launched late
	CauseCommunication = "communication" // transfers take longer
	CauseUnknown       = "unknown"       // the same kernels start late, with unrecorded launches: host or device
)

// ReasonConfiguration means that the rank runs generated kernels in a slower configuration than its peers.
const ReasonConfiguration = "configuration"

// ReasonClock means that the clock of the device was lower than those of the other ranks' devices.
const ReasonClock = "clock"

// Finding is one result of the analysis, with its evidence.
type Finding struct {
	ID        string   `json:"id"` // kind, rank, cause, first step: stable for the same capture
	Kind      string   `json:"kind"`
	Severity  string   `json:"severity"`   // high, medium, low, info
	Ranks     []int    `json:"ranks"`      // indices into Source.Ranks
	Names     []string `json:"rank_names"` // labels of Ranks
	FirstStep int      `json:"first_step"` // counted from 0 in the capture; -1: not specific to steps
	LastStep  int      `json:"last_step"`
	Passing   bool     `json:"passing"` // transient: the problem ended before the capture ended
	At        Place    `json:"at"`
	Cause     string   `json:"cause"`
	Reason    string   `json:"reason"` // extra work: requests, tokens, contexts, experts; device: shared, configuration, clock; "": unknown
	// CostNSPerStep is the cost of the finding per step. For a straggler, it is the time for which the other ranks wait
	// for the straggler, as the median over the finding's steps.
	CostNSPerStep int64      `json:"cost_ns_per_step"`
	Title         fact.Fact  `json:"title"`
	Evidence      []Evidence `json:"evidence"`

	Worth Worth `json:"worth"`

	// P is the probability that a rank is this late by chance alone; 0: not tested.
	P     float64     `json:"p_value"`
	Next  []fact.Fact `json:"next"`  // recommended actions
	Guide string      `json:"guide"` // file of docs/guides with more details, without .md; "": none

	// Profilers means that the profiler may have caused the finding, since it slows hosts. CostNSPerStep excludes the
	// known overhead of recording if that overhead was measured in the same steps.
	Profilers bool `json:"may_be_profilers"`

	Steps   []int `json:"-"` // steps of the finding; empty: all steps from the first to the last
	Starved bool  `json:"-"` // a software device had no core to run on
	Turns   bool  `json:"-"` // ranks are late in turns, so no single rank is to blame
	Still   bool  `json:"-"` // the host stalls now and again
	Plain   bool  `json:"-"` // the rank runs more kernels than the others in each step, so no test against chance is needed
}

// Place is the interval of a finding on one rank. Tables, plots, links and flags show this interval. A finding about
// the whole capture has no interval: Rank is -1.
type Place struct {
	Start int64  `json:"start_ns"` // ns since Source.StartNS, on the aligned clock
	End   int64  `json:"end_ns"`
	Rank  int    `json:"rank"`
	Track string `json:"track"` // id of the host thread, as in the file; "": unknown
	Span  string `json:"span"`  // name of the span that shows the cause, or of the first step
}

// Known reports whether there is an interval.
func (p *Place) Known() bool { return p.Rank >= 0 && p.End > p.Start }

// Evidence is one fact behind a finding.
type Evidence struct {
	Text fact.Fact `json:"text"`
	// Value and Peers are the numbers that the text compares, if any: Value is that of this rank or these steps, Peers
	// that of the peers. Unit is ns, count, ratio or MHz.
	Value float64   `json:"value"`
	Peers float64   `json:"peers"`
	Unit  string    `json:"unit"`
	Name  fact.Fact `json:"name"` // name of a kernel, op or frame, or activity of a thread
	Step  int       `json:"step"` // -1: all steps of the finding
}

// Time is the breakdown of time on one device. Compute + ExposedComm + ExposedCopy + Idle = Total, exactly. If kinds
// overlap, the time counts only as the first of them in this order.
type Time struct {
	Total       int64 `json:"total_ns"`
	Compute     int64 `json:"compute_ns"`
	ExposedComm int64 `json:"exposed_comm_ns"` // communication while nothing computes
	ExposedCopy int64 `json:"exposed_copy_ns"`
	Idle        int64 `json:"idle_ns"`

	HiddenComm int64 `json:"hidden_comm_ns"` // communication under compute
	CommWait   int64 `json:"comm_wait_ns"`   // part of all communication spent waiting for the last rank
	// ExposedWait is the part of ExposedComm that is waiting. ExposedComm without ExposedWait and Unrecorded is
	// transfer.
	ExposedWait int64 `json:"exposed_wait_ns"`
	// Unrecorded is the part of ExposedComm in which another rank was not recorded, at the edges of the window. It is
	// neither waiting nor transfer.
	Unrecorded int64 `json:"unrecorded_ns"`
	IdleBy     Idle  `json:"idle_by"`

	Waiting int64 `json:"-"` // part of Total without a request under way: idle, or receiving copies
}

// Busy returns the time in which the device was not idle.
func (t *Time) Busy() int64 { return t.Total - t.Idle }

// Transfer returns the part of ExposedComm that is transfer.
func (t *Time) Transfer() int64 { return t.ExposedComm - t.ExposedWait - t.Unrecorded }

// Idle divides idle time by cause. The parts add up to Time.Idle.
type Idle struct {
	Host     int64 `json:"host_ns"`     // the host had not yet launched: Python, scheduler, CPU ops
	Sync     int64 `json:"sync_ns"`     // the host was blocked in a synchronisation or a blocking copy
	Peers    int64 `json:"peers_ns"`    // the host waited for other ranks' hosts in a host collective
	Launch   int64 `json:"launch_ns"`   // inside the launch call, and from its end to the start on the device
	Device   int64 `json:"device_ns"`   // launched in time, started late: dependency, gap inside a graph, shared GPU
	Profiler int64 `json:"profiler_ns"` // the profiler's own stalls
	Unknown  int64 `json:"unknown_ns"`  // the launch was not recorded
	Between  int64 `json:"between_ns"`  // between steps, with no request under way as far as the trace shows

	None int64 `json:"-"` // part of Between in which certainly no request was under way
}

// Late returns the idle time caused by a late host.
func (i *Idle) Late() int64 { return i.Host + i.Sync + i.Launch }

// TimeRow is the Time of one rank in steps of one kind, summed over these steps.
type TimeRow struct {
	Rank  string `json:"rank"` // label, or "all" for the sum over ranks
	Kind  string `json:"kind"` // prefill, decode, mixed, other, idle, or "all"
	Steps int    `json:"steps"`
	Time
}

// Uncut reports whether no steps were found in the capture, so that the whole window is one step.
func (r *Report) Uncut() bool { return r.Source.StepRule == trace.Uncut }

// Partial reports whether an answer needs data that the capture lacks: the files may not be one capture, too few
// collectives could be compared, many collectives contradict the clocks, the recording lost GPU work, a rank has none, or
// one file holds several ranks.
func (r *Report) Partial() bool {
	return len(r.Source.Doubts) > 0 || slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.ID == Unknown || f.Together() ||
			slices.ContainsFunc([]string{"data-lost", "data-clocks", "data-empty"}, func(id string) bool { return strings.HasPrefix(f.ID, id) })
	})
}

// Together reports whether the finding says that one file has the work of several ranks, which cannot be compared.
func (f *Finding) Together() bool { return f.Title.Key == "data-devices.together" }

// Said returns the name that sentences use for steps of a kind. It returns "" if no step has a known kind.
func (r *Report) Said(kind string) string {
	if kind == "other" && !slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Kind != "other" }) {
		return ""
	}
	return kind
}

// Step is one forward pass over all ranks that took part in it.
type Step struct {
	Step   int        `json:"step"`
	Kind   string     `json:"kind"`
	Mode   string     `json:"mode"`
	Name   string     `json:"name"`
	Stage  string     `json:"stage"`
	Batch  int        `json:"batch"`  // -1: unknown
	Tokens int        `json:"tokens"` // -1: unknown
	Slow   bool       `json:"slow"`   // much longer than similar steps
	SlowBy float64    `json:"slow_by"`
	Why    fact.Fact  `json:"why"`   // for a slow step: the part of the step that grew
	Ranks  []StepRank `json:"ranks"` // one per rank that has the step
}

// StepRank is one rank's part in a step.
type StepRank struct {
	Rank     int   `json:"rank"`
	Start    int64 `json:"start_ns"`  // ns since Source.StartNS, on the aligned clock
	CPU      int64 `json:"cpu_ns"`    // length of the annotation on the host
	Period   int64 `json:"period_ns"` // time to the start of the next step; for the last step, its own length
	Kernels  int   `json:"kernels"`
	Launches int   `json:"launches"`
	Graphs   int   `json:"graph_launches"`
	HostGap  int64 `json:"host_gap_ns"` // device idle because the host was late (host + sync + launch)
	Time           // time on the device over Period
}

// StageRow is a stage of a diffusion pipeline on one rank, summed over the runs of the stage.
type StageRow struct {
	Stage string  `json:"stage"` // registered name
	Rank  int     `json:"rank"`
	Count int     `json:"count"`   // number of runs
	Host  int64   `json:"host_ns"` // length of the stage's spans
	Share float64 `json:"share"`   // share in the sum of Host over the rank's stages
	Busy  int64   `json:"busy_ns"` // time in which the device ran work launched by the stage
	Wait  int64   `json:"wait_ns"` // time in the stage's collectives before the last rank arrived
	Idle  int64   `json:"idle_ns"` // part of Host in which the device did nothing
	Own   int64   `json:"own_ns"`  // Host minus the waits in it
	// Beyond is the excess of Own over that of the fastest rank.
	Beyond int64 `json:"beyond_ns"`
	Caused int64 `json:"caused_ns"` // time for which other ranks waited in collectives at which this rank arrived last
}

// RankRow compares a rank with its peers. Figures are medians over steps.
type RankRow struct {
	Rank        int    `json:"rank"`
	Name        string `json:"name"`
	File        string `json:"file"`
	Stage       string `json:"stage"`
	Steps       int    `json:"steps"`
	Period      int64  `json:"period_ns"`
	Work        int64  `json:"work_ns"` // own compute per step
	Wait        int64  `json:"wait_ns"` // time waiting in collectives per step
	HostGap     int64  `json:"host_gap_ns"`
	Kernels     int    `json:"kernels"`
	Last        int    `json:"last"`        // number of collectives at which the rank arrived last
	Collectives int    `json:"collectives"` // number of matched collectives in which it took part
	Caused      int64  `json:"caused_ns"`   // time for which it made others wait, median per step
	ShiftNS     int64  `json:"shift_ns"`    // shift added to the rank's clock
	ShiftError  int64  `json:"shift_error_ns"`
	Clock       Clock  `json:"clock"`
}

// Clock bounds the error of a rank's shifted clock relative to the clock of another rank, by the collectives that both
// ranks share.
type Clock struct {
	Method    string  `json:"method"`  // reference, same host, collectives, none
	Against   string  `json:"against"` // label of the other rank; "": none
	Assumed   bool    `json:"assumed"` // no file names a host, so a shared clock is assumed
	Low       int64   `json:"low_ns"`  // lower bound, over the whole window, of the error that remains after the shift
	High      int64   `json:"high_ns"`
	DriftLow  float64 `json:"drift_low_ppm"` // lower bound of the drift that remains after the shift
	DriftHigh float64 `json:"drift_high_ppm"`
}

// CollectiveRow sums up the matched collectives of one operation, group and size.
type CollectiveRow struct {
	Op         string    `json:"op"`
	Group      fact.Fact `json:"group"` // ranks of the group
	Size       int       `json:"group_size"`
	Kind       string    `json:"kind"` // step kind
	Bytes      int64     `json:"bytes"`
	Count      int       `json:"count"`     // number of collectives, not of kernels
	InGraphs   int       `json:"in_graphs"` // part of Count replayed inside CUDA graphs
	Matched    int       `json:"matched"`
	Wait       int64     `json:"wait_ns"`       // wait, transfer time, summed over ranks
	Transfer   int64     `json:"transfer_ns"`   // summed over ranks
	Unrecorded int64     `json:"unrecorded_ns"` // time in which another rank was not recorded, summed over ranks
	Median     int64     `json:"transfer_median_ns"`
	AlgGBs     float64   `json:"algorithm_gb_s"` // 0: message size not recorded
	BusGBs     float64   `json:"bus_gb_s"`
}

// Time returns the time of the collectives, summed over ranks.
func (c *CollectiveRow) Time() int64 { return c.Wait + c.Transfer + c.Unrecorded }

// ClassRow sums up kernels by class: attention, GEMM, MoE, norm, elementwise,
// communication, copy, sampling, other. Count and Total include copies and
// memsets under "copy".
type ClassRow struct {
	Class string  `json:"class"`
	Kind  string  `json:"kind"` // step kind, or "all"
	Count int     `json:"count"`
	Total int64   `json:"total_ns"`
	Share float64 `json:"share"` // share of the summed GPU time in steps of the kind
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
	// TFLOPs and GBs are achieved rates of the kernels with recorded shapes or sizes; Timed is the share of Total that
	// these kernels take. 0: unknown.
	TFLOPs float64 `json:"tflop_s"`
	GBs    float64 `json:"gb_s"`
	Timed  float64 `json:"timed"`
	// Spread is the median of the slowest rank divided by the median of the fastest rank, minus 1.
	Spread float64 `json:"rank_spread"`
	// Slowest and Fastest are the labels of these ranks; "": unknown.
	Slowest string `json:"-"`
	Fastest string `json:"-"`
	Only    string `json:"only_rank"` // the rank, if only one of several ranks runs the kernel; otherwise ""
	// Sources are the places in the program that launched the kernel, the most frequent first.
	Sources  []KernelSource `json:"sources"`
	InGraphs int            `json:"in_graphs"` // number of replayed kernels without a source; 0 if no kernel of the window has one
	Fused    []string       `json:"fused_ops"` // ops that Inductor names in the kernel's name
}

// CPU sums up the activity of the hosts, over all ranks.
type CPU struct {
	Ops    []CPUOp `json:"ops"`    // ops, ordered by self time
	Frames []CPUOp `json:"frames"` // Python frames, ordered by self time; empty if recorded without with_stack
	Launch Launch  `json:"launch"`
}

// CPUOp sums up the spans of one name. Self excludes nested spans.
type CPUOp struct {
	Name  string  `json:"name"`
	Count int     `json:"count"`
	Total int64   `json:"total_ns"`
	Self  int64   `json:"self_ns"`
	Share float64 `json:"share"` // share of the summed self time in the table
}

// Launch sums up the calls that start GPU work.
type Launch struct {
	Calls       int   `json:"calls"`
	Total       int64 `json:"total_ns"`
	Median      int64 `json:"median_ns"`
	GraphCalls  int   `json:"graph_calls"`
	GraphOps    int   `json:"graph_ops"`          // number of GPU ops started by GraphCalls
	Shorter     int   `json:"shorter_kernels"`    // number of kernels that are shorter than the call that launched them
	ShorterTime int64 `json:"shorter_call_ns"`    // total time of the calls that launched Shorter
	Delay       int64 `json:"delay_median_ns"`    // from call end to device start; negative: before the call returned
	Unlaunched  int   `json:"without_launch"`     // number of GPU ops without a recorded launch
	EmptyGraphs int   `json:"graphs_without_ops"` // number of graph launches whose GPU work is missing from the trace
}

// MemorySeries is the allocator's timeline of one rank and device.
type MemorySeries struct {
	Rank   int           `json:"rank"`
	Device string        `json:"device"`
	Peak   int64         `json:"peak_bytes"`
	PeakAt int64         `json:"peak_at_ns"`
	PeakOp string        `json:"peak_op"` // CPU op that was running at the peak
	Allocs int           `json:"allocations"`
	Points []MemoryPoint `json:"points"` // at most a few hundred points, including all extremes
}

// MemoryPoint is one point of a MemorySeries.
type MemoryPoint struct {
	At        int64 `json:"at_ns"` // ns since Source.StartNS
	Allocated int64 `json:"allocated"`
	Reserved  int64 `json:"reserved"`
}

// Gap is one interval of device idle time.
type Gap struct {
	Rank   int       `json:"rank"`
	Step   int       `json:"step"` // -1: outside any step
	Start  int64     `json:"start_ns"`
	Dur    int64     `json:"dur_ns"`
	Cause  string    `json:"cause"`  // host, sync, launch, device, profiler, unknown
	Before string    `json:"before"` // op that ended before the gap
	After  string    `json:"after"`  // op that started after the gap
	Host   fact.Fact `json:"host"`   // activity of the launching thread in the gap, or a software device without a core
}

// Note is a limitation of the figures.
type Note struct {
	Severity string    `json:"severity"`
	Source   string    `json:"source"`
	Text     fact.Fact `json:"text"`
	Count    int64     `json:"count"`
}
