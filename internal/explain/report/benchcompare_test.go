package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/gate"
)

func benchComparison(scale float64, o bench.CompareOptions) *bench.Comparison {
	side := func(id string, seed uint64, scale float64) bench.Load {
		records, run := benchLoad(seed, 1200, scale)
		return bench.Load{ID: id, Runs: []bench.Measured{{Run: run, Records: records}}}
	}
	return bench.Compare(side("runs/base", 1, 1), side("runs/new", 2, scale), o)
}

func TestBenchCompareGolden(t *testing.T) {
	slo, err := bench.ParseSLO("ttft:250,tpot:25")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*bench.Comparison{
		"bench-compare":         benchComparison(1.25, bench.CompareOptions{Limits: gate.Limits{{By: 0.1}}, SLO: slo}),
		"bench-compare-same":    benchComparison(1, bench.CompareOptions{Limits: gate.Limits{{By: 0.1}}}),
		"bench-compare-nothing": bench.Compare(bench.Load{ID: "a"}, bench.Load{ID: "b"}, bench.CompareOptions{}),
	} {
		t.Run(name, func(t *testing.T) {
			for _, width := range []int{90, 100} {
				var b bytes.Buffer
				if err := BenchCompared(c, Options{}).Text(&b, Options{Width: width}); err != nil {
					t.Fatal(err)
				}
				for _, line := range strings.Split(b.String(), "\n") {
					if w := columns.Width(line); w > width {
						t.Errorf("a line of %d columns at %d: %q", w, width, line)
					}
				}
				if width == 100 {
					golden(t, name+".txt", b.Bytes())
				}
			}
		})
	}
	var b bytes.Buffer
	if err := Indented(&b, benchComparison(1.25, bench.CompareOptions{Limits: gate.Limits{{By: 0.1}}})); err != nil {
		t.Fatal(err)
	}
	golden(t, "bench-compare.json", b.Bytes())
}

func TestBenchCompat(t *testing.T) {
	b := benchSample()
	var out bytes.Buffer
	for _, tool := range bench.Tools {
		figures, err := bench.Compat(tool, b.Records, b.Run, bench.Options{SLO: b.Summary.Goodput.SLO})
		if err != nil {
			t.Fatal(err)
		}
		if err := BenchCompat(&out, tool, figures); err != nil {
			t.Fatal(err)
		}
		out.WriteByte('\n')
	}
	golden(t, "bench-compat.txt", out.Bytes())
}
