package brief

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/waits"
	"github.com/stepscope/stepscope/trace"
)

// Capture is the explanation of a capture of one or several servers.
type Capture struct {
	Args     Args
	Servers  []Server
	Together []*result.PD  // prefill and decode servers as one system, one per window
	Requests *waits.Result // slow requests of a load; nil: there was none, or it is not known
}

// Server is one server of a capture.
type Server struct {
	Name   string // "": the only server
	Role   string
	Idle   bool           // it did no work
	Report *result.Report // nil: it was idle, or could not be explained
}

// analysis is the content of an answer about a capture. docs/formats/brief.md describes the JSON.
type analysis struct {
	Format   int              `json:"format"`
	Input    string           `json:"input"`
	Servers  []serverAnalysis `json:"servers"`
	Together []finding        `json:"together,omitempty"` // findings about prefill and decode servers as one system
	Requests []string         `json:"slow_requests,omitempty"`
	Omitted  []Omitted        `json:"omitted"`
}

type serverAnalysis struct {
	Name       string     `json:"name,omitempty"`
	Role       string     `json:"role,omitempty"`
	Idle       bool       `json:"idle,omitempty"`
	Capture    string     `json:"capture"`
	Device     string     `json:"device"`
	Ranks      []string   `json:"ranks"`
	Steps      int        `json:"steps"`
	Window     int64      `json:"window_ns"`
	Verdict    string     `json:"verdict"`
	Missing    []string   `json:"missing"` // data that the capture lacks
	Findings   []finding  `json:"findings"`
	Times      []kindTime `json:"times"`
	RankRows   []rankRow  `json:"rank_figures,omitempty"`
	Light      []string   `json:"speed_of_light"`
	Confidence []string   `json:"confidence"`

	head string
}

type finding struct {
	ID       string   `json:"id"`
	Severity string   `json:"severity"`
	Title    string   `json:"title"`
	Cost     string   `json:"cost"` // gain from its removal; "": none
	CostNS   int64    `json:"cost_ns_per_step"`
	Ranks    []string `json:"ranks"`
	Cause    string   `json:"cause"`
	First    int      `json:"first_step"` // -1: not about particular steps
	Last     int      `json:"last_step"`
	Facts    []string `json:"facts"`
	More     int      `json:"more_facts"`
	Next     []string `json:"next"`
	Guide    string   `json:"guide"`
}

// kindTime divides the time of the devices in steps of one kind, over all ranks.
type kindTime struct {
	Kind     string  `json:"kind"`
	Steps    int     `json:"steps"`
	StepNS   int64   `json:"step_ns"` // mean
	Batch    string  `json:"batch"`   // requests in a step: 16, or 1–16; "": not known
	Compute  float64 `json:"compute"`
	Exposed  float64 `json:"exposed_comm"` // communication without compute: transfer, wait and unrecorded
	Wait     float64 `json:"wait"`         // part of it: for other ranks
	Edges    float64 `json:"unrecorded"`   // part of it: another rank was not recorded
	Copy     float64 `json:"copy"`
	Idle     float64 `json:"idle"`
	IdleHost float64 `json:"idle_host"` // part of idle: the host was late
}

// rankRow compares a rank with the others. Times are medians per step.
type rankRow struct {
	Rank     string `json:"rank"`
	WorkNS   int64  `json:"work_ns"`
	HostNS   int64  `json:"host_gap_ns"`
	WaitNS   int64  `json:"wait_ns"`
	CausedNS int64  `json:"caused_ns"` // time for which it made others wait
	Last     int    `json:"last"`
	Of       int    `json:"collectives"`
}

// Analysis answers with the results of an analysis, in at most limit bytes.
func Analysis(c *Capture, limit int) *Answer {
	c = c.named()
	return newAnswer(limit, func(m amount) content { return newAnalysis(c, m) })
}

// named returns a copy of c without names that are long or disturb a terminal. Tables that
// answers do not show stay as they are, or are left out.
func (c *Capture) named() *Capture {
	out := *c
	out.Servers = slices.Clone(c.Servers)
	for i := range out.Servers {
		s := &out.Servers[i]
		s.Name, s.Role = name(s.Name), name(s.Role)
		if s.Report == nil {
			continue
		}
		r := *s.Report
		r.Steps, r.Kernels, r.Gaps, r.CPU, r.Memory, r.Layers, r.Path, r.Sites = nil, nil, nil, result.CPU{}, nil, result.Layers{}, result.Path{}, result.Sites{}
		r.Light.Modules = nil
		named := report.Named(&r, name)
		named.Steps, named.Kernels, named.Gaps, named.Light.Modules = s.Report.Steps, s.Report.Kernels, s.Report.Gaps, s.Report.Light.Modules
		s.Report = named
	}
	out.Together = nil
	for _, pd := range c.Together {
		out.Together = append(out.Together, report.Named(pd, name))
	}
	return &out
}

func newAnalysis(c *Capture, m amount) *analysis {
	a := &analysis{Format: 1, Input: Cut(c.Args.Input, argBytes), Servers: []serverAnalysis{}, Omitted: []Omitted{}}
	servers, left := few(c.Servers, max(m.rows, 1))
	each := m
	if n := len(servers); n > 1 {
		each.findings, each.rows, each.notes = max((m.findings+1)/n, min(m.findings, 1)), m.rows/n, max(m.notes/n, min(m.notes, 1))
	}
	findings, facts, sentences, rows := 0, 0, 0, 0
	for i := range servers {
		s, left := newServer(&servers[i], each)
		findings, facts, sentences, rows = findings+left[0], facts+left[1], sentences+left[2], rows+left[3]
		a.Servers = append(a.Servers, s)
	}
	kernels, steps, gaps := 0, 0, 0
	for _, s := range c.Servers {
		if s.Report != nil {
			kernels, steps, gaps = kernels+len(s.Report.Kernels), steps+len(s.Report.Steps), gaps+len(s.Report.Gaps)
		}
	}
	for _, pd := range c.Together {
		some, more := few(pd.Findings, m.findings)
		for k := range some {
			f := newFinding(&result.Report{}, &some[k], "", m)
			facts += f.More
			a.Together = append(a.Together, f)
		}
		findings += more
	}
	if text := report.SlowCauses(c.Requests); text != "" {
		a.Requests = []string{Cut(text, 2*m.sentence)}
	}
	all := c.Args.command("analyze", "--json")
	a.Omitted = omit(a.Omitted, left, "servers", all)
	a.Omitted = omit(a.Omitted, findings, "findings", c.Args.command("analyze"))
	a.Omitted = omit(a.Omitted, facts, "facts of findings", c.Args.command("finding", "ID"))
	a.Omitted = omit(a.Omitted, sentences, "sentences", c.Args.command("analyze"))
	a.Omitted = omit(a.Omitted, rows, "rows of ranks", c.Args.command("analyze", "--tables times,ranks"))
	a.Omitted = omit(a.Omitted, kernels, "rows of kernels", c.Args.command("analyze", "--tables kernels"))
	a.Omitted = omit(a.Omitted, steps, "rows of steps", c.Args.command("analyze", "--tables steps"))
	a.Omitted = omit(a.Omitted, gaps, "rows of idle gaps", c.Args.command("analyze", "--tables gaps"))
	return a
}

// newServer returns the part of a server, and the numbers of findings, facts, sentences and rows that it leaves out.
func newServer(in *Server, m amount) (s serverAnalysis, left [4]int) {
	s = serverAnalysis{
		Name: in.Name, Role: in.Role, Idle: in.Idle, Ranks: []string{}, Missing: []string{}, Findings: []finding{}, Times: []kindTime{}, Light: []string{}, Confidence: []string{},
	}
	r := in.Report
	if r == nil {
		return s, left
	}
	d := report.Digest(r)
	s.Capture, s.Device, s.Steps, s.Window = r.Source.ID, r.Source.Device, len(r.Steps), max(r.Source.RecordedNS, 0)
	if s.Window == 0 {
		s.Window = r.Source.SpanNS
	}
	s.head = Cut(strings.Join(d.Head, " · "), m.sentence)
	s.Ranks, _ = few(trace.LabelRuns(r.Source.Ranks), 8)
	s.Verdict = Cut(d.Verdict, 2*m.sentence)
	if d.Caveat != "" {
		s.Missing = append(s.Missing, Cut(d.Caveat, m.sentence))
	}
	if r.Light.Model == "" && !r.Source.Software {
		s.Missing = append(s.Missing, "the model's configuration (--model-config): without it, the limit of the device is not known")
	}
	found, more := few(r.Findings, m.findings)
	left[0] += more
	for i := range found {
		f := newFinding(r, &found[i], in.Name, m)
		left[1] += f.More
		s.Findings = append(s.Findings, f)
	}
	s.Times, more = few(kindTimes(r), m.rows)
	left[3] += more
	s.RankRows, more = few(rankRows(r), m.rows)
	left[3] += more
	s.Light, more = m.sentences(report.SpeedOfLight(r), m.notes)
	left[2] += more
	s.Confidence, more = m.sentences(d.Says, m.notes)
	left[2] += more
	return s, left
}

// id returns the id of a finding. Findings of several servers have the name of the server before it.
func id(server string, f *result.Finding) string {
	if server != "" {
		return server + "/" + name(f.ID)
	}
	return name(f.ID)
}

func newFinding(r *result.Report, f *result.Finding, server string, m amount) finding {
	o := report.NewOverviewFinding(r, f)
	out := finding{
		ID: id(server, f), Severity: o.Severity, Title: Cut(o.Title, m.sentence), Cost: o.Cost, CostNS: f.CostNSPerStep, Ranks: append([]string{}, f.Names...),
		Cause: o.Cause, First: f.FirstStep, Last: f.LastStep, Next: []string{}, Guide: o.Guide,
	}
	out.Ranks, _ = few(out.Ranks, 8)
	var facts []string
	for _, e := range o.Evidence {
		if e.Short != "" {
			e.Text += ": " + e.Short
		}
		facts = append(facts, e.Text)
	}
	out.Facts, out.More = m.sentences(facts, m.facts)
	out.Next, _ = m.sentences(o.Next, max(m.facts/3, 1))
	return out
}

// kindTimes returns the times of the steps of each kind over all ranks, with those of all steps first.
func kindTimes(r *result.Report) (out []kindTime) {
	var order []string
	sums, ranked := map[string]*result.TimeRow{}, map[string]int{}
	for i := range r.Times {
		t := &r.Times[i]
		if t.Rank == "all" {
			sums[t.Kind], ranked[t.Kind] = t, t.Steps
		} else if sums[t.Kind] == nil || sums[t.Kind].Rank != "all" {
			if sums[t.Kind] == nil {
				sums[t.Kind] = &result.TimeRow{Kind: t.Kind}
			}
			sums[t.Kind].Time.Add(&t.Time)
			ranked[t.Kind] += t.Steps
		}
		if !slices.Contains(order, t.Kind) {
			order = append(order, t.Kind)
		}
	}
	if len(order) == 2 { // one kind of steps
		order = slices.DeleteFunc(order, func(kind string) bool { return kind == "all" })
	}
	for _, kind := range order {
		t := sums[kind]
		if t.Total <= 0 {
			continue
		}
		part := func(ns int64) float64 { return math.Round(1000*float64(ns)/float64(t.Total)) / 1000 }
		row := kindTime{
			Kind: kind, StepNS: t.Total / int64(max(ranked[kind], 1)), Compute: part(t.Compute), Exposed: part(t.ExposedComm), Wait: part(t.ExposedWait), Edges: part(t.Unrecorded),
			Copy: part(t.ExposedCopy), Idle: part(t.Idle), IdleHost: part(t.IdleBy.Late()),
		}
		row.Steps, row.Batch = batches(r, kind)
		out = append(out, row)
	}
	return out
}

// batches returns the number of steps of a kind, and the range of their batch sizes.
func batches(r *result.Report, kind string) (steps int, text string) {
	low, high := -1, -1
	for i := range r.Steps {
		s := &r.Steps[i]
		if kind != "all" && s.Kind != kind {
			continue
		}
		steps++
		if s.Batch < 0 {
			continue
		}
		if low < 0 {
			low = s.Batch
		}
		low, high = min(low, s.Batch), max(high, s.Batch)
	}
	switch {
	case low < 0:
		return steps, ""
	case low == high:
		return steps, metric.Count(low)
	}
	return steps, metric.Count(low) + "–" + metric.Count(high)
}

// rankRows compares the ranks, those first for which others wait longest.
func rankRows(r *result.Report) (out []rankRow) {
	if len(r.Ranks) < 2 {
		return nil
	}
	rows := slices.Clone(r.Ranks)
	sorts.Stable(rows, func(a, b result.RankRow) int { return int(min(max(b.Caused-a.Caused, -1), 1)) })
	for _, q := range rows {
		out = append(out, rankRow{q.Name, q.Work, q.HostGap, q.Wait, q.Caused, q.Last, q.Collectives})
	}
	return out
}

func (a *analysis) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Analysis of %s\n", a.Input)
	if list(&b, "Slow requests", a.Requests); len(a.Requests) > 0 { // first, because the verdict is about steps
		b.WriteByte('\n')
	}
	for i := range a.Together {
		if i == 0 {
			b.WriteString("\n## Prefill and decode servers together\n")
		}
		a.Together[i].write(&b, i)
	}
	for i := range a.Servers {
		a.Servers[i].write(&b)
	}
	omittedText(&b, a.Omitted)
	return b.String()
}

func (s *serverAnalysis) write(b *strings.Builder) {
	if s.Name != "" {
		fmt.Fprintf(b, "\n# Server %s\n", strings.TrimSpace(s.Role+" "+s.Name))
	}
	switch {
	case s.Idle:
		b.WriteString("idle: it did no work in the recorded time\n")
		return
	case s.head == "":
		b.WriteString("could not be explained\n")
		return
	}
	fmt.Fprintf(b, "%s: %s\n", s.Capture, s.head)
	if len(s.Ranks) > 0 {
		fmt.Fprintf(b, "ranks: %s\n", strings.Join(s.Ranks, ", "))
	}
	fmt.Fprintf(b, "\nVerdict: %s\n", s.Verdict)
	list(b, "Missing", s.Missing)
	if len(s.Findings) > 0 {
		b.WriteString("\n## Findings, the most important first\n")
	}
	for i := range s.Findings {
		s.Findings[i].write(b, i)
	}
	if len(s.Times) > 0 {
		b.WriteString("\n## Time of the devices (exposed comm is transfer, wait for other ranks and unrecorded)\n")
		var rows [][]string
		for _, t := range s.Times {
			batch := t.Batch
			if batch == "" {
				batch = "–"
			}
			idle := metric.Tenths(t.Idle)
			if t.Idle > 0 {
				idle += " (" + metric.Tenths(t.IdleHost) + ")"
			}
			rows = append(rows, []string{t.Kind, metric.Count(t.Steps), metric.Duration(t.StepNS), batch, metric.Tenths(t.Compute), metric.Tenths(t.Exposed), metric.Tenths(t.Wait), metric.Tenths(t.Edges), metric.Tenths(t.Copy), idle})
		}
		table(b, []string{"kind", "steps", "mean step", "batch", "compute", "exposed comm", "wait", "unrecorded", "copy", "idle (host late)"}, rows)
	}
	if len(s.RankRows) > 0 {
		b.WriteString("\n## Ranks, medians per step\n")
		var rows [][]string
		for _, q := range s.RankRows {
			rows = append(rows, []string{q.Rank, metric.Duration(q.WorkNS), metric.Duration(q.HostNS), metric.Duration(q.WaitNS), metric.Duration(q.CausedNS), fmt.Sprintf("%d of %d", q.Last, q.Of)})
		}
		table(b, []string{"rank", "own work", "host gap", "waits", "makes others wait", "last at collectives"}, rows)
	}
	list(b, "Speed of light", s.Light)
	list(b, "Confidence", s.Confidence)
}

func (f *finding) write(b *strings.Builder, i int) {
	fmt.Fprintf(b, "%d. `%s` %s: %s", i+1, f.ID, strings.ToUpper(f.Severity), f.Title)
	if f.Cost != "" {
		fmt.Fprintf(b, " [%s]", f.Cost)
	}
	b.WriteByte('\n')
	facts(b, f.Facts, f.Next, f.More)
}

func list(b *strings.Builder, title string, sentences []string) {
	for i, s := range sentences {
		if i == 0 {
			b.WriteString("\n## " + title + "\n")
		}
		b.WriteString("- " + s + "\n")
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return metric.Count(n) + " " + noun + "s"
}
