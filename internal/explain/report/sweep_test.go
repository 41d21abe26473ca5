package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

func sampleSweep() *Sweep {
	nan := math.NaN()
	return &Sweep{
		Name: "profiling", Began: time.Date(2026, 11, 23, 4, 0, 0, 0, time.UTC), Parameters: []string{"graph", "load"},
		Figures: []SweepFigure{{"output tokens", "1/s"}, {"TTFT", "ns"}, {"steps", "count"}, {"idle", "share"}},
		Jobs: []SweepJob{
			{Name: "job_001", Values: []string{"true", "16"}, Outcome: "completed"},
			{Name: "job_002", Values: []string{"true", "4"}, Outcome: "completed, 1 missing"},
			{Name: "job_003", Values: []string{"false", "16"}, Outcome: "failed (worker)", Failed: true, Why: "decode_w0 failed:\x1b[2J exit status 2"},
			{Name: "job_004", Values: []string{"false", "4"}, Outcome: "not started"},
		},
		Roles: []SweepRole{
			{Name: "decode", Rows: [][]float64{{1234, 20.5e6, 50, 0.125}, {400, nan, nan, nan}, {99, 7e6, nan, nan}, nil}},
			{Name: "prefill", Rows: [][]float64{{10, 30e6, nan, nan}, nil, nil, nil}},
		},
	}
}

func TestSweepText(t *testing.T) {
	var b strings.Builder
	if err := SweepText(&b, sampleSweep(), Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	const want = `profiling: 4 jobs

decode
graph  load  outcome               output tokens     TTFT  steps    idle
──────────────────────────────────────────────────────────────────────────
true     16  completed                   1,234/s  20.5 ms     50  12.5 %
true      4  completed, 1 missing          400/s        –      –       –
false    16  failed (worker)              99.0/s  7.00 ms      –       –
false     4  not started                       –        –      –       –

prefill
graph  load  outcome               output tokens     TTFT  steps  idle
────────────────────────────────────────────────────────────────────────
true     16  completed                    10.0/s  30.0 ms      –     –
true      4  completed, 1 missing              –        –      –     –
false    16  failed (worker)                   –        –      –     –
false     4  not started                       –        –      –     –

job_003: decode_w0 failed: [2J exit status 2
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestSweepData: plots are over the first parameter that is a number, with its values in their order, at their
// logarithms if they are far apart; what no job has gets no panel.
func TestSweepData(t *testing.T) {
	got, err := json.Marshal(sampleSweep().data())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"axis":"load","ticks":[{"at":0,"text":"4"},{"at":1,"text":"16"}],"series":["graph true","graph false"],"panels":[` +
		`{"id":"plot-decode-0","title":"output tokens","unit":"1/s","values":[[400,1234],[null,99]]},` +
		`{"id":"plot-decode-1","title":"TTFT","unit":"ns","values":[[null,20500000],[null,7000000]]},` +
		`{"id":"plot-decode-2","title":"steps","unit":"count","values":[[null,50],[null,null]]},` +
		`{"id":"plot-decode-3","title":"idle","unit":"share","values":[[null,0.125],[null,null]]},` +
		`{"id":"plot-prefill-0","title":"output tokens","unit":"1/s","values":[[null,10],[null,null]]},` +
		`{"id":"plot-prefill-1","title":"TTFT","unit":"ns","values":[[null,30000000],[null,null]]}]}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, c := range []struct {
		values string
		want   []float64
	}{
		{"3", []float64{0.5}},
		{"0 5 10", []float64{0, 0.5, 1}},
		{"1 10 100", []float64{0, 0.5, 1}},
		{"b a b c", []float64{0, 0.5, 1}},
	} {
		s := &Sweep{Parameters: []string{"p"}}
		for _, v := range strings.Fields(c.values) {
			s.Jobs = append(s.Jobs, SweepJob{Values: []string{v}})
		}
		var at []float64
		for _, tick := range s.data().Ticks {
			at = append(at, math.Round(tick.At*1e6)/1e6)
		}
		if len(at) != len(c.want) || at[0] != c.want[0] || at[len(at)/2] != c.want[len(at)/2] {
			t.Errorf("%s: %v, want %v", c.values, at, c.want)
		}
	}
}

// TestSweepPage: the page has each panel's canvas and the tables, and what a job said is no markup.
func TestSweepPage(t *testing.T) {
	s := sampleSweep()
	s.Jobs[2].Why = "<script>alert(1)</script>"
	var b strings.Builder
	if err := SweepHTML(&b, s); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{`<section id="role-decode"`, `<canvas id="plot-prefill-1"`, "completed, 1 missing", "&lt;script&gt;alert", `"axis":"load"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "http://") || strings.Contains(page, "https://") {
		t.Error("the page has foreign markup, or an address")
	}
	if b.Reset(); SweepHTML(&b, &Sweep{Parameters: []string{"p"}, Jobs: []SweepJob{{Values: []string{"1"}, Outcome: "not started"}}}) != nil || !strings.Contains(b.String(), "not started") {
		t.Error("a sweep that came to nothing has no page")
	}
}

const sweepProbe = `
  const out = {colors: {}, keys: []};
  for (const c of document.querySelectorAll("canvas")) {
    const d = c.getContext("2d").getImageData(0, 0, c.width, c.height - 28 * devicePixelRatio).data, seen = new Set();
    for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
    out.colors[c.id] = seen.size;
  }
  out.keys = [...document.querySelectorAll("#role-decode .series .key")].map((k) => k.textContent);
  const c = document.getElementById("plot-decode-0");
  for (const k of ["ArrowRight", "ArrowRight", "ArrowLeft"]) c.dispatchEvent(new KeyboardEvent("keydown", {key: k}));
  out.tip = document.getElementById("tip").textContent;
  return out;
`

func TestSweepChromium(t *testing.T) {
	var b strings.Builder
	if err := SweepHTML(&b, sampleSweep()); err != nil {
		t.Fatal(err)
	}
	var p struct {
		Colors map[string]int
		Keys   []string
		Tip    string
	}
	browse(t, b.String(), sweepProbe, &p)
	for id, least := range map[string]int{"plot-decode-0": 4, "plot-decode-1": 3, "plot-decode-2": 2, "plot-decode-3": 2, "plot-prefill-0": 2} {
		if p.Colors[id] < least {
			t.Errorf("canvas %s holds %d colours, want at least %d", id, p.Colors[id], least)
		}
	}
	if want := "output tokens, load 4graph true400/sgraph false–"; p.Tip != want || strings.Join(p.Keys, ", ") != "graph true, graph false" {
		t.Errorf("the keys lead to %q, lines are %q", p.Tip, p.Keys)
	}
}
