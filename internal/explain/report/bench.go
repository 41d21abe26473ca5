package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/waits"
)

// Bench is the content of the report on a benchmark run.
type Bench struct {
	Run     *bench.Run
	Summary *bench.Summary
	Records []bench.Record // used only for the plots of the page
	// Repeats are the estimates over all runs of --repeat. Summary summarizes one of these runs.
	Repeats []bench.Estimate
	Cache   bool // --cache-report was given
	// Captures are the pages that explain the window recorded during the run.
	Captures []Page
	Requests *waits.Result // causes of slow requests; nil: not known
	GPUs     []string      // sentences about the GPUs during the load
}

// BenchJSON writes the summary as docs/formats/bench.md specifies it.
func BenchJSON(w io.Writer, b *Bench) error {
	verdict, next := benchAnswer(b)
	return encode(w, struct {
		Verdict string   `json:"verdict"`
		Next    []string `json:"next"`
		*bench.Summary
		Repeats []bench.Estimate `json:"repeats,omitempty"`
		GPUs    []string         `json:"gpus,omitempty"`
		Waits   *waits.Result    `json:"waits,omitempty"` // requests in the JSON of analyze
	}{verdict, next, b.Summary, b.Repeats, b.GPUs, Plain(b.Requests)}, false)
}

// BenchText writes the verdict, then the rows that SGLang's bench_serving prints, and then the figures that
// bench_serving lacks.
func BenchText(w io.Writer, b *Bench, o Options) error {
	var out strings.Builder
	p := paint(o.Color)
	verdict, next := benchAnswer(b)
	for _, l := range columns.Wrap(verdict, o.width()) {
		fmt.Fprintln(&out, p.bold(l))
	}
	for _, n := range next {
		lead := "→ "
		for _, l := range columns.Wrap(n, o.width()-2) {
			fmt.Fprintln(&out, lead+l)
			lead = "  "
		}
	}
	benchTable(&out, b)
	benchBeyond(&out, b, o)
	_, err := io.WriteString(w, out.String())
	return err
}

const none = "n/a" // text for a figure without samples; such a figure must not be shown as 0

type benchRows struct{ out *strings.Builder }

func (t benchRows) row(label string, value any) {
	text := fmt.Sprint(value)
	if f, ok := value.(float64); ok {
		text = fmt.Sprintf("%.2f", f)
	}
	fmt.Fprintf(t.out, "%-40s %-10s\n", label, text)
}

func (t benchRows) title(s string, fill string) {
	left := (50 - len(s)) / 2
	fmt.Fprintf(t.out, "%s%s%s\n", strings.Repeat(fill, left), s, strings.Repeat(fill, 50-len(s)-left))
}

// latency writes the rows of one kind of latency.
func (t benchRows) latency(title, name string, s bench.Stats, longest bool) {
	t.title(title, "-")
	row := func(kind string, ns float64) {
		var v any = ns / 1e6
		if s.N == 0 {
			v = none
		}
		t.row(kind+" "+name+" (ms):", v)
	}
	row("Mean", s.Mean)
	row("Median", s.Median)
	row("P90", s.P90)
	row("P95", s.P95)
	row("P99", s.P99)
	if longest {
		row("Max", s.Max)
	}
}

func benchTable(out *strings.Builder, b *Bench) {
	s, run, t := b.Summary, b.Run, benchRows{out}
	out.WriteByte('\n')
	t.title(" Serving Benchmark Result ", "=")
	t.row("Backend:", columns.Clean(run.Backend))
	t.row("Traffic request rate:", run.RateText())
	if run.MaxConcurrency > 0 {
		t.row("Max request concurrency:", run.MaxConcurrency)
	} else {
		t.row("Max request concurrency:", "not set")
	}
	t.row("Successful requests:", s.Completed)
	t.row("Benchmark duration (s):", float64(s.Duration)/1e9)
	if s.Window != nil {
		t.row("Without profiling (s):", float64(s.Window.Untouched)/1e9)
	}
	t.row("Total input tokens:", s.InputTokens)
	t.row("Total input text tokens:", s.TextTokens)
	if run.Dataset == "image" || run.Dataset == "mmmu" {
		t.row("Total input vision tokens:", s.VisionTokens)
	}
	if !s.Embedding {
		t.row("Total generated tokens:", s.OutputTokens)
		if s.Retokenized < 0 {
			t.row("Total generated tokens (retokenized):", none)
		} else {
			t.row("Total generated tokens (retokenized):", s.Retokenized)
		}
	}
	if s.Nothing() {
		t.title("", "=")
		return
	}
	rate := func(label string, v any) {
		if s.Lacks(bench.Rates) {
			v = none
		}
		t.row(label, v)
	}
	rate("Request throughput (req/s):", s.RequestRate)
	rate("Input token throughput (tok/s):", s.InputRate)
	if !s.Embedding {
		rate("Output token throughput (tok/s):", s.OutputRate)
		rate("Peak output token throughput (tok/s):", s.MaxOutputRate)
	}
	rate("Peak concurrent requests:", s.MaxConcurrent)
	if !s.Embedding {
		rate("Total token throughput (tok/s):", s.TotalRate)
	}
	rate("Concurrency:", s.Concurrency)
	if s.AcceptLength > 0 {
		t.row("Accept length:", s.AcceptLength)
	}
	if s.Goodput != nil {
		t.goodput(s.Goodput)
	}
	t.latency("End-to-End Latency", "E2E Latency", s.E2E, false)
	if !s.Embedding {
		t.latency("Time to First Token", "TTFT", s.TTFT, false)
		t.latency("Time per Output Token (excl. 1st token)", "TPOT", s.TPOT, false)
		t.latency("Inter-Token Latency", "ITL", s.ITL, true)
	}
	if b.Cache {
		t.cache(s.Cache)
	}
	t.title("", "=")
}

// goodput writes the section that SGLang prints for --goodput.
func (t benchRows) goodput(g *bench.Goodput) {
	var limits []string
	for _, o := range g.SLO {
		limits = append(limits, o.Metric()+":"+strconv.FormatFloat(float64(o.Limit)/1e6, 'g', 6, 64))
	}
	t.title("Goodput", "-")
	row := func(label string, v any) {
		if !g.Measured() {
			v = none
		}
		t.row(label, v)
	}
	t.row("SLOs (ms):", strings.Join(limits, " "))
	row("Request goodput (req/s):", g.Rate)
	row("SLO attainment (%):", g.Share*100)
	for i, o := range g.SLO {
		row(strings.ToUpper(o.Metric())+" SLO attainment (%):", g.Met[i]*100)
	}
}

func (t benchRows) cache(c *bench.Cache) {
	t.title("Cache Hit Details", "-")
	if c == nil {
		t.row("Total cached tokens:", none)
		return
	}
	t.row("Total prompt tokens:", c.Prompt)
	t.row("Total cached tokens:", c.Cached)
	storage := "  Storage:"
	if c.Backend != "" {
		storage = "  Storage (" + columns.Clean(c.Backend) + "):"
	}
	parts := []struct {
		label string
		n     int
	}{{"  Device:", c.Device}, {"  Host:", c.Host}, {storage, c.Storage}}
	if c.Storage == 0 {
		parts = parts[:2]
	}
	if !c.Details || c.Cached == 0 {
		parts = nil
	}
	for _, p := range parts {
		t.row(p.label, p.n)
	}
	// Like SGLang, do not pad shares.
	share := func(label string, v float64) { fmt.Fprintf(t.out, "%-40s %.1f%%\n", label, v*100) }
	share("Cache hit rate:", c.HitRate)
	for _, p := range parts {
		share(p.label, float64(p.n)/float64(c.Cached))
	}
}

// benchBeyond writes the figures that SGLang's table lacks.
func benchBeyond(out *strings.Builder, b *Bench, o Options) {
	p := paint(o.Color)
	fmt.Fprintf(out, "\n%s\n", p.bold("Beyond SGLang's table"))
	for _, line := range benchFacts(b) {
		label := line.label
		for _, l := range columns.Wrap(line.text, o.width()-18) {
			if line.severity != "" {
				l = p.severity(line.severity, l)
			}
			fmt.Fprintf(out, "%-18s%s\n", label, l)
			label = ""
		}
	}
	for _, t := range benchTables(b) {
		if len(t.rows) > 0 {
			fmt.Fprint(out, t.below(o))
		}
	}
}

func benchTables(b *Bench) []*table {
	return []*table{benchWindow(b), benchTimes(b), benchFailures(b), benchRepeats(b)}
}

type benchFact struct{ label, text, severity string }

// benchFacts returns labelled sentences. The sentences that cast doubt on the figures come first.
func benchFacts(b *Bench) (f []benchFact) {
	s := b.Summary
	add := func(label, severity, format string, args ...any) {
		f = append(f, benchFact{label, fmt.Sprintf(format, args...), severity})
	}
	if h := &s.Health; h.Verdict != "" {
		text, severity := h.Verdict, "info"
		// Only the evidence for the verdict is shown. If the verdict is clean, all evidence is shown.
		var why []string
		for _, e := range h.Evidence {
			level, rest, ok := strings.Cut(e, ": ")
			switch {
			case !ok || !slices.Contains([]string{"clean", "suspect", "invalid"}, level):
				why = append(why, e)
			case level != "clean" || h.Verdict == "clean":
				why = append(why, rest)
			}
		}
		if len(why) > 0 {
			text += ": " + columns.Clean(strings.Join(why, "; "))
		}
		if h.Verdict != "clean" {
			severity = "warning"
		}
		add("client timing", severity, "%s", text)
	}
	if s.Window != nil {
		f = append(f, windowFact(b))
	}
	if s.NotSent > 0 {
		add("not sent", "warning", "%s of the plan: the load was interrupted", plural(s.NotSent, "request"))
	}
	if n := s.Requests - s.Completed; n > 0 {
		add("failures", "warning", "%s of %s requests (%s), by reason below", metric.Count(n), metric.Count(s.Requests), share(float64(n)/float64(s.Requests)))
	}
	if g := s.LengthFrom; g[bench.FromChunks]+g[bench.FromRequest] > 0 {
		add("output lengths", "warning", "guessed for %s of %s replies: the server sends no usage, so TPOT and throughput are estimates",
			metric.Count(g[bench.FromChunks]+g[bench.FromRequest]), metric.Count(s.Completed))
	}
	if s.Unseen != nil {
		add("tokens not seen", "warning", "%s", unseen(s))
	}
	if g := s.Goodput; g != nil && !g.Measured() {
		add("goodput", "warning", "not measured: %s of %s requests lack a latency that has a limit", metric.Count(g.Unmeasured), metric.Count(g.Judged+g.Unmeasured))
	} else if g != nil {
		var met []string
		for i, o := range g.SLO {
			met = append(met, fmt.Sprintf("%s ≤ %s: %s", o.Key, metric.Duration(o.Limit), share(g.Met[i])))
		}
		add("goodput", "", "%s of requests meet all objectives: %s req/s, %s output tok/s (%s)",
			share(g.Share), three(g.Rate), three(g.TokenRate), strings.Join(met, ", "))
	}
	if w := s.Steady; w != nil {
		of := "requests in decode"
		if !w.Decode {
			of = "requests in flight"
		}
		tokens := ""
		if !s.Embedding {
			tokens = three(w.OutputRate) + " output tok/s, "
		}
		length := w.To - w.From
		without := ""
		if s.Window != nil {
			if cut := s.Window.Within(w.Span); cut > 0 {
				length -= cut
				without = " without the " + metric.Duration(cut) + " touched by the profiler"
			}
		}
		add("steady window", "", "%s … %s%s (%s of the run, at %d %s): %s req/s, %s%s running",
			metric.Duration(w.From), metric.Duration(w.To), without, share(float64(length)/max(float64(s.Duration), 1)), w.Level, of,
			three(w.RequestRate), tokens, three(w.Running))
	}
	if !s.Embedding && s.PeakOutputRate > 0 && s.Duration >= 1e9 {
		add("peaks", "", "%s output tokens in one second, %s requests in flight", three(s.PeakOutputRate), metric.Count(s.PeakRunning))
	}
	if s.Events > 0 {
		size := "of unknown size"
		if s.TokensPerEvent > 0 {
			size = "of " + three(s.TokensPerEvent) + " tokens on average"
		}
		text := fmt.Sprintf("%s %s", metric.Count(s.Events), size)
		if s.MergedEvents > 0 {
			text += fmt.Sprintf("; %s arrived in the same read as the event before, so their gaps are unknown", share(float64(s.MergedEvents)/float64(s.Events)))
		}
		add("events", "", "%s", text)
	}
	if c := s.Cache; c != nil && !b.Cache {
		add("prefix cache", "", "%s of %s prompt tokens were cached (%s)", metric.Count(c.Cached), metric.Count(c.Prompt), share(c.HitRate))
	}
	if x := s.Speculative; x != nil {
		text := fmt.Sprintf("%s of %s draft tokens were accepted (%s), %s tokens a step", metric.Count(x.Accepted), metric.Count(x.Drafted), share(x.Rate), three(x.Length))
		for i, at := range x.Positions {
			text += map[bool]string{true: "; by position ", false: ", "}[i == 0] + share(at)
		}
		add("speculation", "", "%s", text)
	}
	for _, line := range b.GPUs {
		add("GPUs", "", "%s", line)
	}
	return f
}

// benchTimes returns the table of latencies: TTFT, the delays that the client itself caused, and the inter-token time
// by three definitions.
func benchTimes(b *Bench) *table {
	t := &table{id: "times", title: "Times", cols: []column{
		{name: ""}, {name: "median", right: true}, {name: "95 % interval", right: true, drop: 2}, {name: "p90", right: true, drop: 3},
		{name: "p99", right: true}, {name: "95 % interval", right: true, drop: 1}, {name: "max", right: true}, {name: "samples", right: true, drop: 4},
	}}
	s := b.Summary
	for _, p := range s.E2E.More {
		t.cols = append(t.cols, column{name: "p" + strconv.FormatFloat(p.P, 'f', -1, 64), right: true})
	}
	interval := func(i bench.Interval) cell {
		if i.Level == 0 || i.Hi == 0 {
			return textCell(dash)
		}
		return textCell(metric.Duration(i.Lo) + " … " + metric.Duration(i.Hi))
	}
	for _, r := range []struct {
		name string
		of   *bench.Stats
	}{
		{"client queue (until released)", &s.Gate}, {"client delay (until sent)", &s.Late},
		{"TTFT from scheduled", &s.TTFTScheduled}, {"TTFT from sent", &s.TTFT}, {"TTFT without reasoning", &s.TTFTVisible},
		{"headers", &s.Headers}, {"first event, with or without text", &s.FirstEvent},
		{"chunk gap (between events)", &s.ChunkGap}, {"token gap (interpolated)", &s.TokenGap}, {"TPOT (mean of a request)", &s.TPOT},
		{"E2E from scheduled", &s.E2EScheduled}, {"stream close (after last token)", &s.StreamClose},
	} {
		if r.of.N == 0 || (r.of == &s.TTFTVisible || r.of == &s.FirstEvent) && r.of.N == s.TTFT.N && r.of.Mean == s.TTFT.Mean && r.of.Max == s.TTFT.Max {
			continue // the latency has no samples or equals TTFT
		}
		t.rows = append(t.rows, []cell{
			textCell(r.name), durCell(r.of.Median), interval(r.of.MedianIn), durCell(r.of.P90), durCell(r.of.P99), interval(r.of.P99In),
			durCell(r.of.Max), countCell(r.of.N),
		})
		row := &t.rows[len(t.rows)-1]
		for _, p := range r.of.More {
			*row = append(*row, durCell(p.V))
		}
	}
	return t
}

func benchFailures(b *Bench) *table {
	t := &table{id: "failures", title: "Failures", cols: []column{
		{name: "reason"}, {name: "requests", right: true}, {name: "for example", flex: true, min: 20, wrap: true},
	}}
	for _, f := range b.Summary.Failures {
		t.rows = append(t.rows, []cell{textCell(string(f.Reason)), countCell(f.Count), textCell(f.Example)})
	}
	return t
}

func benchRepeats(b *Bench) *table {
	t := &table{id: "repeats", cols: []column{
		{name: ""}, {name: "mean of runs", right: true}, {name: "95 % interval", right: true}, {name: "lowest", right: true, drop: 1}, {name: "highest", right: true, drop: 1},
	}}
	runs := 0
	for _, e := range b.Repeats {
		if len(e.Values) < 2 || strings.HasPrefix(e.Name, "mean_") || strings.HasSuffix(e.Name, "_scheduled") {
			continue // this latency is written only to the JSON
		}
		runs = max(runs, len(e.Values))
		t.rows = append(t.rows, []cell{
			textCell(strings.ReplaceAll(e.Name, "_", " ")), textCell(e.Unit.Text(e.Mean)),
			textCell(e.Unit.Text(e.Interval.Lo) + " … " + e.Unit.Text(e.Interval.Hi)),
			textCell(e.Unit.Text(slices.Min(e.Values))), textCell(e.Unit.Text(slices.Max(e.Values))),
		})
	}
	t.title = fmt.Sprintf("Over %d runs", runs)
	return t
}
