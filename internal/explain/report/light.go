package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// SpeedOfLight states how far the steps are from the limit of the device, and the changes that are worth something. It
// returns nothing if the model's configuration was not given.
func SpeedOfLight(r *result.Report) (out []string) {
	if s := lightOf(r); s != "" {
		out = append(out, columns.Clean(s))
	}
	for _, s := range lightChanges(r, mostChanges) {
		out = append(out, columns.Clean(s))
	}
	return out
}

// lightOf states how much of the device's limit the steps of each kind reach, on the rank that spends least of them
// waiting. It returns "" if the model's configuration was not given.
func lightOf(r *result.Report) string {
	l := &r.Light
	switch {
	case l.Model == "":
		return ""
	case Words(l.Why) != "":
		return "cannot be told: " + Words(l.Why)
	}
	var parts []string
	for _, kind := range kindsOf(l) {
		s := leastWait(l, kind)
		if s.Told < s.Steps {
			parts = append(parts, fmt.Sprintf("%s steps: the kernels of %d of %d cannot be assigned to modules: %s", capital(kind), s.Steps-s.Told, s.Steps, Words(s.Why)))
			continue
		}
		n := int64(s.Steps)
		least := ""
		of := func(is func(m *result.LightModule) bool) bool {
			return slices.ContainsFunc(l.Modules, func(m result.LightModule) bool { return m.Kind == kind && is(&m) })
		}
		if s.Graph || of(func(m *result.LightModule) bool { return m.Experts }) {
			least = "about "
		} else if of(func(m *result.LightModule) bool { return m.AtLeast }) {
			least = "at least "
		}
		need := s.Least + s.TransferLeast
		of100 := share(ratio(need, s.Total))
		if o := &r.Recording; o.Known && o.Kind == kind && o.Outside > 0 {
			of100 += fmt.Sprintf("; %s of the %s that a step takes without recording", share(ratio(need/n, o.Outside)), metric.Duration(o.Outside))
		}
		text := fmt.Sprintf("%s step takes %s on %s; %s needs %s%s for it (%s)", capital(article(kind)), metric.Duration(s.Total/n), s.Rank, l.Device, least, metric.Duration(need/n), of100)
		var beyond []string
		for _, p := range lightParts(s) {
			if p.ns >= s.Total/20 {
				beyond = append(beyond, metric.Duration(p.ns/n)+" "+p.name)
			}
		}
		if len(beyond) > 0 {
			text += ". Beyond it: " + strings.Join(beyond, ", ")
		}
		parts = append(parts, text)
	}
	if l.Untried != "" {
		parts = append(parts, "Not tried on a recorded window: "+l.Untried)
	}
	return strings.Join(parts, ". ")
}

// toldSteps returns the number of steps over which the sums of modules extend, by rank and kind.
func toldSteps(l *result.Light) map[[2]string]int64 {
	out := map[[2]string]int64{}
	for i := range l.Steps {
		s := &l.Steps[i]
		out[[2]string{s.Rank, s.Kind}] = int64(max(s.Told, 1))
	}
	return out
}

type lightPart struct {
	name string
	ns   int64
}

// lightParts returns the parts of the steps' time beyond the floor, largest first.
func lightParts(s *result.LightStep) []lightPart {
	i := &s.IdleBy
	out := []lightPart{
		{"waiting for other ranks", s.Wait}, {"transfer", s.Transfer - s.TransferFloor - s.TransferStart}, {"that good kernels need to start", s.Start},
		{"that good collectives need to start", s.TransferStart}, {"slow kernels", s.Slow},
		{"padding", s.Padding}, {"other kernels", s.Unpriced}, {"copies", s.Copy}, {"communication with unrecorded ranks", s.Unknown},
		{"idle for the host", i.Host}, {"idle in synchronisations", i.Sync}, {"idle for launches", i.Launch}, {"idle inside graphs or for dependencies", i.Device},
		{"idle for the profiler", i.Profiler}, {"idle for unknown reasons", i.Unknown}, {"idle for other ranks' hosts", i.Peers}, {"idle between steps", i.Between},
	}
	sorts.Stable(out, func(x, y lightPart) int { return cmp.Compare(y.ns, x.ns) })
	return out
}

// kindsOf returns the kinds of steps, in order.
func kindsOf(l *result.Light) (out []string) {
	for _, s := range l.Steps {
		if !slices.Contains(out, s.Kind) {
			out = append(out, s.Kind)
		}
	}
	slices.Sort(out)
	return out
}

// leastWait returns the steps of a kind on the rank that waits least for others.
func leastWait(l *result.Light, kind string) *result.LightStep {
	var best *result.LightStep
	for i := range l.Steps {
		s := &l.Steps[i]
		if s.Kind == kind && (best == nil || s.Told == s.Steps && best.Told < best.Steps || (s.Told == s.Steps) == (best.Told == best.Steps) && ratio(s.Wait, s.Total) < ratio(best.Wait, best.Total)) {
			best = s
		}
	}
	return best
}

func article(kind string) string {
	if strings.HasPrefix(kind, "other") || strings.HasPrefix(kind, "idle") {
		return "an " + kind
	}
	return "a " + kind
}

func lightTable(r *result.Report, limit int) *table {
	t := &table{
		id: "light", title: "Speed of light",
		lead: "Device time per step, from the least time that the work needs at the peaks of the device to the whole; the parts add up. Padding: rows that a graph adds to the batch. Start: what good kernels need beyond the floor. Slow: what kernels take beyond that. Other: kernels without a known module.",
		cols: []column{
			{name: "kind", help: "of steps"}, {name: "rank"}, {name: "steps", right: true, drop: 3}, {name: "told", right: true, drop: 4, help: "steps whose kernels could be assigned to modules"},
			{name: "rows", right: true, drop: 6, help: "that the kernels compute in a step"}, {name: "step", right: true}, {name: "floor", right: true}, {name: "share", right: true, help: "of the floor in the step"},
			{name: "padding", right: true, drop: 9}, {name: "start", right: true}, {name: "slow", right: true}, {name: "other", right: true, drop: 5}, {name: "transfer", right: true, drop: 1, help: "the link needs at least the part after the comma"}, {name: "wait", right: true},
			{name: unrecorded, right: true, drop: 8, help: unrecordedHelp}, {name: "copy", right: true, drop: 7}, {name: "idle", right: true},
		},
	}
	if s := lightOf(r); s != "" {
		t.lead = s + ". " + t.lead
	}
	if r.Light.Model == "" {
		return t
	}
	for i := range r.Light.Steps {
		s := &r.Light.Steps[i]
		n := int64(max(s.Steps, 1))
		told := s.Told > 0 && Words(r.Light.Why) == ""
		transfer := durCell(s.Transfer / n)
		if s.TransferFloor > 0 {
			transfer.text += ", " + metric.Duration(s.TransferFloor/n)
		}
		t.rows = append(t.rows, []cell{
			textCell(s.Kind), textCell(s.Rank), countCell(s.Steps), countCell(s.Told), cellIf(told, countCell(s.Rows/max(s.Told, 1))), durCell(s.Total / n),
			cellIf(told, durCell(s.Floor/n)), cellIf(told, shareCell(ratio(s.Floor, s.Total))), cellIf(s.Padding > 0, durCell(s.Padding/n)), cellIf(told, durCell(s.Start/n)), cellIf(told, durCell(s.Slow/n)),
			durCell(s.Unpriced / n), transfer, durCell(s.Wait / n), cellIf(s.Unknown > 0, durCell(s.Unknown/n)), durCell(s.Copy / n), durCell(s.Idle / n),
		})
	}
	return t
}

// beyondFloor returns the time of a module beyond its floor, at least, or -1 if it is not known.
func beyondFloor(m *result.LightModule) float64 {
	switch {
	case Words(m.Why) != "" || m.AtLeast && m.High == 0:
		return -1
	case m.AtLeast:
		return float64(max(m.Time-m.High, 0))
	}
	return float64(m.Time - m.Floor)
}

// floorText states the floor of a module in n steps, with its bounds.
func floorText(m *result.LightModule, n int64) string {
	text := durCell(m.Floor / n).text
	switch {
	case m.AtLeast && m.High/n > m.Floor/n:
		return text + " … " + metric.Duration(m.High/n)
	case m.AtLeast:
		text = "≥ " + text
	}
	if m.Experts {
		text += " (" + metric.Duration(m.Low/n) + " … " + metric.Duration(m.High/n) + ")"
	}
	return text
}

func lightModulesTable(r *result.Report, limit int) *table {
	rows, omitted := ranked(r.Light.Modules, limit, " by time beyond the floor", beyondFloor)
	t := &table{
		id: "light-modules", title: "Speed of light by module", omitted: omitted,
		lead: "Floor: the least time that the module needs at the peaks of the device. Of peak: the rate of its main kernel over the limiting peak. Of attainable: over what good kernels reach. Means per step.",
		cols: []column{
			{name: "kind", help: "of steps", drop: 5}, {name: "rank", drop: 1}, {name: "module", flex: true, min: 14}, {name: "calls", right: true, drop: 6}, {name: "median", right: true, help: "of the main kernel"},
			{name: "time", right: true}, {name: "floor", right: true}, {name: "beyond", right: true}, {name: "of peak", right: true}, {name: "of attainable", right: true},
			{name: "TB/s", right: true, drop: 4}, {name: "checked", drop: 3, help: "by the grids of the kernels, or by their order alone"}, {name: "kernel", flex: true, min: 16, code: true, drop: 2},
			{name: "why not", flex: true, wrap: true, drop: 7, help: "the reason if the module cannot be told"},
		},
	}
	for _, says := range []string{Words(r.Light.Contexts), Words(r.Light.Cache)} {
		if says != "" {
			t.lead += " " + capital(says) + "."
		}
	}
	steps := toldSteps(&r.Light)
	for i := range rows {
		m := &rows[i]
		told := Words(m.Why) == ""
		checked := map[bool]string{true: "grid", false: "order"}[m.Grid]
		why := cell{text: ""}
		if !told {
			why = textCell(Words(m.Why))
			checked = dash
		}
		n := steps[[2]string{m.Rank, m.Kind}]
		floor := durCell(m.Floor / n)
		floor.text = floorText(m, n)
		beyond := durCell(max(int64(beyondFloor(m)), 0) / n)
		if m.AtLeast {
			beyond.text = "≥ " + beyond.text
		}
		t.rows = append(t.rows, []cell{
			textCell(m.Kind), textCell(m.Rank), textCell(m.Module), countCell(m.Calls / int(n)), durCell(m.Median), durCell(m.Time / n), cellIf(told, floor), cellIf(beyondFloor(m) >= 0, beyond),
			boundsCell(m.OfPeak, m.OfPeakMost), boundsCell(m.OfAttainable, m.OfAttainableMost),
			cellIf(m.OfPeak > 0 && m.Median > 0, rateCell(m.Bytes/float64(max(m.Median, 1))/1e3)), textCell(checked), nameCell(kernel.Short(m.Kernel), m.Kernel), why,
		})
	}
	return t
}

// boundsCell shows a share, or its bounds; most is 0 if there is one share, and least if there is only an upper bound.
func boundsCell(least, most float64) cell {
	c := shareCell(least)
	switch {
	case least == 0 && most > 0:
		c.text = "≤ " + share(most)
	case most > 0 && share(most) != c.text:
		c.text = strings.TrimSuffix(c.text, " %") + " … " + share(most)
	}
	return cellIf(least > 0 || most > 0, c)
}

// lightChanges returns at most limit changes that are worth something and have a known way, as sentences.
func lightChanges(r *result.Report, limit int) (out []string) {
	for i := range r.Light.Changes {
		x := &r.Light.Changes[i]
		if len(x.How) == 0 || x.Worth.Known && float64(x.Worth.Gain()) < leastWorth*float64(x.Worth.Step) || len(out) == limit {
			continue
		}
		text := x.Kind + " steps: " + Words(x.Say)
		if w := changeWorth(x); w != "" {
			text += ": " + w
		}
		for _, how := range x.How {
			text += ". " + capital(Words(how))
		}
		out = append(out, text)
	}
	return out
}

// mostChanges is the number of changes in the summary of a report.
const mostChanges = 4

// leastWorth is the share of a step that a change must be worth to be stated.
const leastWorth = 0.01

// changeWorth states by how much steps get shorter: as they are, and if the hosts took no time.
func changeWorth(x *result.LightChange) string {
	w := &x.Worth
	now := max(w.Step-w.Without, 0)
	if !w.Known {
		return ""
	}
	gain := func(ns int64) string {
		if float64(ns) < leastWorth*float64(w.Step) {
			return "nothing"
		}
		return map[bool]string{true: "up to "}[w.AtMost] + metric.Duration(ns)
	}
	recorded := ""
	if w.Unrecorded {
		recorded = " without recording"
	}
	text := fmt.Sprintf("worth %s of %s%s", gain(now), metric.Duration(w.Step), recorded)
	if gain(now) == "nothing" && gain(w.Last) != "nothing" {
		text = fmt.Sprintf("worth nothing of %s%s while the hosts hold the steps up, %s if they were never late", metric.Duration(w.Step), recorded, gain(w.Last))
	}
	return text
}

func lightChangesTable(r *result.Report, limit int) *table {
	rows, omitted := ranked(r.Light.Changes, limit, " by worth", func(x *result.LightChange) float64 {
		return float64(x.Worth.Step-x.Worth.Without) + float64(x.Worth.Last)/1e9
	})
	t := &table{
		id: "light-changes", title: "What to change", omitted: omitted,
		lead: "Changes that make kernels of a step shorter. Saved: their time in a step. Worth: what a replay of the steps gains, which is less if other work hides the time. The worths do not add up.",
		cols: []column{
			{name: "kind", help: "of steps", drop: 4}, {name: "change", flex: true, min: 24, wrap: true}, {name: "calls", right: true, drop: 3}, {name: "saved", right: true}, {name: "worth", right: true},
			{name: "no host", right: true, drop: 5, help: "worth if the hosts took no time"}, {name: "step", right: true, drop: 2, help: "length of the replayed steps"}, {name: "kernel", flex: true, min: 14, code: true, drop: 1}, {name: "how", flex: true, min: 14, wrap: true},
		},
	}
	for i := range rows {
		x := &rows[i]
		name := ""
		if len(x.Kernels) > 0 {
			name = x.Kernels[0]
		}
		var how []string
		for _, f := range x.How {
			how = append(how, Words(f))
		}
		worth, last := durCell(max(x.Worth.Step-x.Worth.Without, 0)), durCell(x.Worth.Last)
		if x.Worth.AtMost {
			worth.text, last.text = "≤ "+worth.text, "≤ "+last.text
		}
		t.rows = append(t.rows, []cell{
			textCell(x.Kind), textCell(Words(x.Say)), countCell(x.Calls), durCell(x.Time), cellIf(x.Worth.Known, worth), cellIf(x.Worth.Known, last), cellIf(x.Worth.Known, durCell(x.Worth.Step)),
			nameCell(kernel.Short(name), name), textCell(cmp.Or(strings.Join(how, "; "), dash)),
		})
	}
	return t
}

// compareLight compares modules by their roles. The rows of steps of one kind and size add up to the whole step.
func compareLight(c *result.Comparison) *table {
	t := &table{
		id: "light", title: "Modules by role",
		lead: "Device time per step, the mean over steps and ranks. The rows add up to the step. Floor: the least time that the device needs. A layer: the time in one layer, of A and of B. Source: the Python frame that launches the kernels.",
		cols: []column{
			{name: "steps", help: "kind and rows"}, {name: "part", flex: true, min: 24}, {name: "A", right: true}, {name: "B", right: true}, {name: "B − A", right: true},
			{name: "floor", right: true}, {name: "a layer", right: true, drop: 6}, {name: "kernels of A", flex: true, min: 12, code: true, drop: 2}, {name: "kernels of B", flex: true, min: 12, code: true, drop: 1},
			{name: "source of A", flex: true, min: 12, tail: true, drop: 5}, {name: "source of B", flex: true, min: 12, tail: true, drop: 4},
		},
	}
	told := slices.ContainsFunc(c.Light, func(d result.LightDiff) bool { return len(d.SourcesA)+len(d.SourcesB) > 0 })
	if !told {
		t.cols = t.cols[:len(t.cols)-2]
		t.lead = strings.Replace(t.lead, " Source: the Python frame that launches the kernels.", " The windows do not tell the source of the kernels (--source-from).", 1)
	}
	sizes := map[string]bool{}
	for i := range c.Light {
		sizes[stepsByRole(&c.Light[i])] = true
	}
	several := len(sizes) > 1
	for size := range sizes {
		if !several {
			t.cols, t.lead = t.cols[1:], capital(size)+". "+t.lead
		}
	}
	for i := range c.Light {
		d := &c.Light[i]
		floor := cellIf(d.Floor > 0, durCell(d.Floor))
		if d.Floor > 0 && d.FloorB > 0 && metric.Duration(d.Floor) != metric.Duration(d.FloorB) {
			floor.text += ", " + metric.Duration(d.FloorB)
		}
		layer := textCell(dash)
		if n := int64(d.Layers); n > 0 {
			layer = textCell(metric.Duration(d.A/n) + ", " + metric.Duration(d.B/n))
		}
		row := []cell{textCell(stepsByRole(d)), textCell(d.Part), durCell(d.A), durCell(d.B), textCell(signed(durCell, float64(d.B-d.A))), floor, layer, kernelsCell(d.KernelsA), kernelsCell(d.KernelsB)}
		if told {
			row = append(row, framesCell(d.SourcesA, d.KernelA), framesCell(d.SourcesB, d.KernelB))
		}
		if !several {
			row = row[1:]
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// stepsByRole names steps by their kind and rows.
func stepsByRole(d *result.LightDiff) string {
	rows := formats["rows"](d.RowsA)
	if d.RowsA != d.RowsB {
		rows += " and " + formats["rows"](d.RowsB)
	}
	return d.Kind + ", " + rows + " rows"
}

// kernelsCell lists kernels by their short names.
func kernelsCell(names []string) cell {
	var short []string
	for _, n := range names {
		short = append(short, kernel.Short(n))
	}
	return nameCell(strings.Join(short, " + "), strings.Join(names, "\n"))
}

// framesCell lists the frames that launch a part's kernels; kernel is the first of these, "": there is none.
func framesCell(frames []string, kernel string) cell {
	switch {
	case len(frames) > 0:
		return textCell(strings.Join(frames, ", "))
	case kernel != "":
		return textCell("not told")
	}
	return textCell("")
}
