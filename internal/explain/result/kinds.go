package result

import "github.com/stepscope/stepscope/internal/explain/fact"

// Kind describes a kind of finding: everything outside its rule (package judge) and its wordings (package report).
// docs/metrics.md has one line for each ID. A conformance test (package explain) holds each entry to its rule, words,
// docs, guide, links and advice.
type Kind struct {
	Name  string   // Finding.Kind
	IDs   []string // first parts of the IDs of the findings
	Class Class
	// Severity is the severity of a finding whose rule sets none. The worth of a finding may change its severity.
	Severity string
	Removal  Removal
	Next     fact.Fact // recommended action; none: the action depends on the finding (package answer), or there is none
	Guide    string    // file of docs/guides with more details, without .md; "": none
	Figure   string    // figure of steps whose change shows that the finding has changed; "": none
	Links    []Link
}

// Class is the class of a finding. Faults are deviations from earlier steps or from other ranks. Bounds are costs common
// to all ranks and steps. Faults come before bounds because their removal needs no performance engineering.
type Class int

// Classes, in order of precedence.
const (
	Fault Class = iota
	Bound
	Lack // no fault, or too little data
	Classes
)

// Removal states how the replay removes the cause of a finding.
type Removal int

// Removals.
const (
	RemoveNothing   Removal = iota // the finding has no worth
	RemoveLateness                 // the lateness of the finding's ranks, by cause
	RemoveTransfer                 // the additional time of transfers, compared with earlier steps
	RemoveChange                   // all additional time, compared with earlier steps
	RemoveImbalance                // the work is spread evenly over the ranks
	RemoveHost                     // all time of hosts: an upper bound
	RemoveTransfers                // all time of transfers: an upper bound
)

// Link is a link from a finding to a table of the page. It leads to the row of the finding's steps, if there is one.
type Link struct {
	Text, Table string
	ByStep      bool // the row is that of a step, not of a kind of steps
	ByPlace     bool // the row is that of the idle gap at the place of the finding
}

// Guides with more details.
const (
	lateGuide  = "late-rank"
	hostGuide  = "host-bound"
	spreadsDP  = "moe-and-dp"
	slowGuide  = "slow-steps"
	apartGuide = "disaggregation"
)

// Kinds lists all kinds of findings.
var Kinds = []Kind{
	{Name: Straggler, IDs: []string{Straggler, "cores", "imbalance"}, Removal: RemoveLateness, Guide: lateGuide, Figure: "wait"},
	{Name: SlowLink, IDs: []string{SlowLink}, Severity: "medium", Removal: RemoveTransfer, Next: fact.Of("next_links"), Guide: lateGuide, Figure: "exposed_comm",
		Links: []Link{{Text: "collectives", Table: "collectives"}}},
	{Name: SlowSince, IDs: []string{SlowSince}, Severity: "medium", Removal: RemoveChange, Next: fact.Of("next_since", "step", 0), Guide: slowGuide},
	{Name: SlowStep, IDs: []string{SlowStep}, Severity: "low", Next: fact.Of("next_since", "step", 0), Guide: slowGuide},
	{Name: SlowStage, IDs: []string{SlowStage}, Severity: "medium"},
	{Name: SlowLayer, IDs: []string{SlowLayer}, Severity: "low", Next: fact.Of("next_layer"), Figure: "compute", Links: []Link{{Text: "layers", Table: "layers"}}},
	{Name: ColdStart, IDs: []string{ColdStart}, Severity: "low", Guide: slowGuide, Links: []Link{{Text: "the idle gap", Table: "gaps", ByPlace: true}}},
	{Name: UnevenAttention, IDs: []string{UnevenAttention}, Severity: "low", Removal: RemoveImbalance, Next: fact.Of("next_spread"), Guide: spreadsDP,
		Links: []Link{{Text: "how evenly it is spread", Table: "balance"}}},
	{Name: UnevenExperts, IDs: []string{UnevenExperts}, Severity: "low", Removal: RemoveImbalance, Next: fact.Of("next_experts"), Guide: spreadsDP,
		Links: []Link{{Text: "how evenly it is spread", Table: "balance"}}},
	{Name: HostBound, IDs: []string{HostBound}, Class: Bound, Severity: "medium", Removal: RemoveHost, Guide: hostGuide, Figure: "host_gap",
		Links: []Link{{Text: "why the GPUs idle", Table: "idle"}, {Text: "the longest idle gap", Table: "gaps", ByStep: true}}},
	{Name: CommBound, IDs: []string{CommBound, "comm_latency"}, Class: Bound, Severity: "medium", Removal: RemoveTransfers, Guide: slowGuide, Figure: "exposed_comm",
		Links: []Link{{Text: "collectives", Table: "collectives"}}},
	{Name: LaunchBound, IDs: []string{LaunchBound}, Class: Bound, Severity: "low", Guide: hostGuide, Figure: "host_gap", Links: []Link{{Text: "launches", Table: "launches"}}},
	{Name: Limits, IDs: []string{Limits}, Guide: apartGuide},
	{Name: Balanced, IDs: []string{Balanced}, Class: Lack, Severity: "info", Links: []Link{{Text: "ranks", Table: "ranks"}}},
	{Name: Data, Class: Lack, Links: []Link{{Text: "notes", Table: "notes"}}, IDs: []string{
		"data-host", "data-asked", "data-layers", "data-between", "data-missing", "data-cut", "data-devices", "data-times", "data-empty", "data-idle", "data-steps",
		"data-rule", "data-launches", "data-graphs", "data-classes", "data-first", "data-apart", "data-clocks", "data-offsets", "data-sends", "data-lost",
		"data-captured", "data-slow", "data-light", Unknown, "data-uncompared",
	}},
}

var kindsByName = func() map[string]*Kind {
	all := map[string]*Kind{}
	for i := range Kinds {
		all[Kinds[i].Name] = &Kinds[i]
	}
	return all
}()

// KindOf returns the entry of a kind by its name. It returns an empty entry for an unknown name.
func KindOf(name string) *Kind {
	if k := kindsByName[name]; k != nil {
		return k
	}
	return &Kind{}
}

// Measure returns the measure of ranks and steps that shows a finding most clearly on a map: work, host or wait.
func (f *Finding) Measure() string {
	switch f.Cause {
	case CauseHost:
		return "host"
	case CauseCommunication:
		return "wait"
	}
	return "work"
}
