package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Sweep is a set of jobs that differ in a few parameters, with the figures of each job for each role of its workers.
type Sweep struct {
	Name       string
	Began      time.Time
	Parameters []string
	Figures    []SweepFigure
	Jobs       []SweepJob
	Roles      []SweepRole
}

// SweepFigure is a figure by which jobs are compared.
type SweepFigure struct{ Name, Unit string } // ns, 1/s, share, count

// SweepJob is a job of a sweep.
type SweepJob struct {
	Name    string
	Values  []string // one value per parameter
	Outcome string
	Failed  bool
	Why     string
}

// SweepRole holds the figures of a role, one row per job. NaN and a nil row mean that the figures are unknown.
type SweepRole struct {
	Name string
	Rows [][]float64
}

// value returns a figure of a job, and whether the figure is known.
func (r *SweepRole) value(job, figure int) (float64, bool) {
	if job >= len(r.Rows) || figure >= len(r.Rows[job]) || math.IsNaN(r.Rows[job][figure]) {
		return 0, false
	}
	return r.Rows[job][figure], true
}

// sweepDrops are the columns that are dropped first to save space. The column with the highest number is dropped first.
var sweepDrops = map[string]int{"ITL": 5, "steps": 4, "wait": 3, "TTFT p99": 2}

// SweepText writes a table for each role, and the reasons of failed jobs.
func SweepText(w io.Writer, s *Sweep, o Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", columns.Clean(s.Name), plural(len(s.Jobs), "job"))
	for _, t := range s.tables() {
		b.WriteString(t.below(o))
	}
	for i, line := range s.failures() {
		b.WriteString(strings.Repeat("\n", 1-min(i, 1)) + line + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sweepFailures is the maximum number of failed jobs whose reasons are shown.
const sweepFailures = 10

// failures returns a line for each failed job with its reason.
func (s *Sweep) failures() (lines []string) {
	for _, j := range s.Jobs {
		if j.Failed {
			lines = append(lines, columns.Clean(j.Name+": "+j.Why))
		}
	}
	if more := len(lines) - sweepFailures; more > 0 {
		lines = append(lines[:sweepFailures], fmt.Sprintf("and %s more failed", metric.Count(more)))
	}
	return lines
}

// tables returns one table per role. If no job produced figures, it returns one table without figures.
func (s *Sweep) tables() (all []*table) {
	for i := range s.Roles {
		all = append(all, s.table(&s.Roles[i]))
	}
	if len(all) == 0 {
		all = append(all, s.table(nil))
	}
	return all
}

func (s *Sweep) table(role *SweepRole) *table {
	t := &table{id: "jobs", title: "jobs"}
	if role != nil {
		t.id, t.title = "role-"+role.Name, role.Name
	}
	for k, p := range s.Parameters {
		t.cols = append(t.cols, column{name: p, right: s.numbers(k) != nil})
	}
	t.cols = append(t.cols, column{name: "outcome"})
	figures := s.Figures
	if role == nil {
		figures = nil
	}
	for _, of := range figures {
		t.cols = append(t.cols, column{name: of.Name, right: true, drop: sweepDrops[of.Name]})
	}
	for i, j := range s.Jobs {
		var row []cell
		for k, v := range j.Values {
			c := textCell(v)
			if n := s.numbers(k); n != nil {
				c.num = n[i]
			}
			row = append(row, c)
		}
		row = append(row, textCell(j.Outcome))
		for f, of := range figures {
			if v, ok := role.value(i, f); ok {
				row = append(row, cell{text: sweepText(v, of.Unit), num: v})
			} else {
				row = append(row, cell{text: dash, num: -1})
			}
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// sweepText formats a figure.
func sweepText(v float64, unit string) string {
	if unit == "count" {
		return metric.Count(int64(v))
	}
	return bench.Unit(unit).Text(v)
}

// numbers returns the values of a parameter in all jobs, or nil unless all values are numbers.
func (s *Sweep) numbers(parameter int) []float64 {
	out := make([]float64, len(s.Jobs))
	for i, j := range s.Jobs {
		v, err := strconv.ParseFloat(j.Values[parameter], 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			return nil
		}
		out[i] = v
	}
	return out
}

// sweepData is the data of the plots: a panel for each figure of a role, over one parameter.
type sweepData struct {
	Axis   string       `json:"axis"`
	Ticks  []sweepTick  `json:"ticks"`
	Series []string     `json:"series"` // names of the series: values of the other parameters
	Panels []sweepPanel `json:"panels"`
}

// sweepTick is a value of the parameter with its position, from 0 to 1.
type sweepTick struct {
	At   float64 `json:"at"`
	Text string  `json:"text"`
}

type sweepPanel struct {
	ID     string       `json:"id"`
	Title  string       `json:"title"`
	Unit   string       `json:"unit"`
	Values [][]*float64 `json:"values"` // values of each series at each tick; null: unknown
}

// logFrom is the minimum ratio of the largest to the smallest value at which the axis is logarithmic.
const logFrom = 8

// data arranges the figures over the first numeric parameter, or over the first parameter if none is numeric. A figure
// that no job has gets no panel.
func (s *Sweep) data() *sweepData {
	d := &sweepData{Ticks: []sweepTick{}, Series: []string{}, Panels: []sweepPanel{}}
	if len(s.Parameters) == 0 || len(s.Jobs) == 0 {
		return d
	}
	axis := 0
	for k := len(s.Parameters) - 1; k >= 0; k-- {
		if s.numbers(k) != nil {
			axis = k
		}
	}
	d.Axis = columns.Clean(s.Parameters[axis])
	d.Ticks = s.ticks(axis)
	tick, series := make([]int, len(s.Jobs)), make([]int, len(s.Jobs))
	for i, j := range s.Jobs {
		tick[i] = slices.IndexFunc(d.Ticks, func(t sweepTick) bool { return t.Text == columns.Clean(j.Values[axis]) })
		var others []string
		for k, v := range j.Values {
			if k != axis {
				others = append(others, s.Parameters[k]+" "+v)
			}
		}
		name := columns.Clean(strings.Join(others, ", "))
		if series[i] = slices.Index(d.Series, name); series[i] < 0 {
			series[i] = len(d.Series)
			d.Series = append(d.Series, name)
		}
	}
	for r := range s.Roles {
		role := &s.Roles[r]
		for f, of := range s.Figures {
			p := sweepPanel{ID: fmt.Sprintf("plot-%s-%d", role.Name, f), Title: of.Name, Unit: of.Unit, Values: make([][]*float64, len(d.Series))}
			for k := range p.Values {
				p.Values[k] = make([]*float64, len(d.Ticks))
			}
			known := false
			for i := range s.Jobs {
				if v, ok := role.value(i, f); ok {
					p.Values[series[i]][tick[i]], known = &v, true
				}
			}
			if known {
				d.Panels = append(d.Panels, p)
			}
		}
	}
	return d
}

// ticks returns the values of a parameter with their positions on the axis. Numbers have a linear scale, or a
// logarithmic scale if they span several magnitudes. Other values are placed in order of appearance.
func (s *Sweep) ticks(parameter int) (all []sweepTick) {
	numbers := s.numbers(parameter)
	if numbers == nil {
		numbers = make([]float64, len(s.Jobs))
		seen := map[string]int{}
		for i, j := range s.Jobs {
			if _, ok := seen[j.Values[parameter]]; !ok {
				seen[j.Values[parameter]] = len(seen)
			}
			numbers[i] = float64(seen[j.Values[parameter]])
		}
	}
	low, high := slices.Min(numbers), slices.Max(numbers)
	at := func(v float64) float64 {
		switch {
		case high == low:
			return 0.5
		case low > 0 && high >= logFrom*low:
			return math.Log(v/low) / math.Log(high/low)
		}
		return (v - low) / (high - low)
	}
	for i, j := range s.Jobs {
		t := sweepTick{at(numbers[i]), columns.Clean(j.Values[parameter])}
		if !slices.ContainsFunc(all, func(o sweepTick) bool { return o.Text == t.Text }) {
			all = append(all, t)
		}
	}
	sorts.Stable(all, func(a, b sweepTick) int { return cmp.Compare(a.At, b.At) })
	return all
}

// sweepPage is the data of the template.
type sweepPage struct {
	assets
	Title    string
	Head     []string
	Failures []string
	Axis     string
	Series   bool // the plots have several series
	Sections []sweepSection
}

type sweepSection struct {
	pageTable
	Panels []sweepPanel
}

// SweepHTML writes a sweep as one self-contained page.
func SweepHTML(w io.Writer, s *Sweep) error {
	d := s.data()
	p := sweepPage{Title: "Sweep " + columns.Clean(s.Name), Failures: s.failures(), Axis: d.Axis, Series: len(d.Series) > 1}
	p.Head = []string{plural(len(s.Jobs), "job"), "over " + columns.Clean(strings.Join(s.Parameters, ", ")), s.Began.Format("2006-01-02 15:04:05")}
	for i, t := range s.tables() {
		section := sweepSection{pageTable: benchPageTable(t)}
		for _, panel := range d.Panels {
			if i < len(s.Roles) && strings.HasPrefix(panel.ID, "plot-"+s.Roles[i].Name+"-") {
				section.Panels = append(section.Panels, panel)
			}
		}
		p.Sections = append(p.Sections, section)
	}
	p.assets.take("sweep", "page/page.css", "benchpage/bench.css")
	text, err := execute("sweep.html", &p, &p.Data, d)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}
