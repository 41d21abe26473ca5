package explain_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// pairOfHosts describes two ranks that share a collective after each kernel. Their kernels take about the same time, so
// each rank comes last at times.
type pairOfHosts struct {
	hosts    [2]string
	device   int32                          // of the second; the first has 0
	steps    int                            // of half a second, each with a collective; 0: 60 of 8 ms with four
	transfer int64                          // length of a collective in ns once both have arrived
	leaves   func(rank, step int) int64     // delay of a rank's leave, ns
	slower   func(rank, step int) int64     // excess of a kernel's time, ns
	clock    func(rank int, at int64) int64 // lead of the clock
}

func (p pairOfHosts) traces() (out []*trace.Trace) {
	steps, period, each := cmp.Or(p.steps, 60), int64(8_000_000), 4
	if p.steps > 0 { // few
		period, each = 500_000_000, 1
	}
	at := func(f func(int, int) int64, rank, step int) int64 {
		if f == nil {
			return 0
		}
		return f(rank, step)
	}
	var ys [2]*toytrace.Toy
	wall := func(rank int, ns int64) int64 {
		if p.clock == nil {
			return 1e9 + ns
		}
		return 1e9 + ns + p.clock(rank, ns)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for rank := range ys {
		ys[rank] = toytrace.New()
		ys[rank].T.Source.Rank.TP, ys[rank].T.Source.Host = rank, p.hosts[rank]
	}
	for n := range steps {
		begin := int64(n) * period
		var free [2]int64
		var corr [2]int64
		for rank, y := range ys {
			y.Step(wall(rank, begin), wall(rank, begin+period-1_000_000))
			corr[rank] = y.Launch("cudaGraphLaunch", wall(rank, begin+10), wall(rank, begin+1000))
			free[rank] = begin + 5_000
		}
		for range each {
			var came [2]int64
			for rank, y := range ys {
				came[rank] = free[rank] + 1_000_000 + rng.Int64N(30_000) + at(p.slower, rank, n)
				y.Op(trace.Kernel, "gemm", corr[rank], 1, wall(rank, free[rank]), wall(rank, came[rank]), 8)
			}
			for rank, y := range ys {
				free[rank] = max(came[0], came[1]) + p.transfer + at(p.leaves, rank, n)
				y.Op(trace.Kernel, toytrace.AllReduce, corr[rank], 1, wall(rank, came[rank]), wall(rank, free[rank]), 1)
			}
		}
	}
	for i := range ys[1].T.Tracks {
		if k := &ys[1].T.Tracks[i]; k.GPU {
			k.Device = p.device
		}
	}
	return []*trace.Trace{ys[0].Done(), ys[1].Done()}
}

// by returns a function with one rank's value from a step on.
func by(rank, step int, ns int64) func(int, int) int64 {
	return func(r, n int) int64 {
		if r != rank || n < step {
			return 0
		}
		return ns
	}
}

// TestWhatClocksMayFeign: lateness that only shows in a comparison of clocks counts as far as it exceeds the clock
// difference that collectives allow. One host has one clock. A rank's own extra time needs no comparison.
func TestWhatClocksMayFeign(t *testing.T) {
	const off = 120_000 // ns; collectives take 500 µs, so nothing contradicts it
	ahead := func(rank int, _ int64) int64 { return int64(rank) * off }
	drifts := func(rank int, at int64) int64 { return int64(rank) * at / 2_500 }
	two, one, none := [2]string{"a", "b"}, [2]string{"a", "a"}, [2]string{}
	for _, c := range []struct {
		name   string
		p      pairOfHosts
		want   []string
		says   string   // of the clocks
		doubts []string // ranks reported as possibly late
	}{
		{"a clock is off", pairOfHosts{hosts: two, transfer: 500_000, clock: ahead}, nil, "agree within ±62", []string{"TP01"}},
		{"a clock gains 400 ppm", pairOfHosts{hosts: two, transfer: 500_000, clock: drifts}, nil, "agree within ±6", []string{"TP01"}},
		{"one host, a slow link", pairOfHosts{hosts: one, transfer: 500_000, leaves: by(1, 0, 2*off)},
			[]string{"rank 1 communication 0-59"}, "are one: the files name the same host", nil},
		{"no host is named", pairOfHosts{hosts: none, device: 1, transfer: 500_000, leaves: by(1, 0, 2*off)},
			[]string{"rank 1 communication 0-59"}, "assumed=clocks_assumed", nil},
		{"no host is named, equal device numbers", pairOfHosts{hosts: none, transfer: 500_000, leaves: by(1, 0, 2*off)},
			nil, "assumed=clocks_several", []string{"TP01"}},
		{"a slow link from the first step on", pairOfHosts{hosts: two, transfer: 500_000, leaves: by(1, 0, 2*off)}, nil, "agree within ±7", []string{"TP01"}},
		{"a link becomes slow by more than the clock difference", pairOfHosts{hosts: two, transfer: 12_000, leaves: by(1, 30, 900_000)},
			[]string{"rank 1 communication 30-59"}, "agree within ±", nil},
		{"a device is slower", pairOfHosts{hosts: two, transfer: 500_000, slower: by(1, 0, 200_000)},
			[]string{"rank 1 device 0-59"}, "agree within ±", nil},
		{"a device is slower, a clock off", pairOfHosts{hosts: two, transfer: 500_000, slower: by(1, 20, 400_000), clock: ahead},
			[]string{"rank 1 device 20-59"}, "agree within ±", []string{"TP01"}}, // in the steps before
	} {
		rep := explaintest.Analyzed(t, c.p.traces())
		var doubts []string
		for _, f := range rep.Findings {
			if strings.HasPrefix(f.ID, "data-offsets") {
				doubts = append(doubts, f.Names...)
			}
		}
		if got := explaintest.Stragglers(rep); !slices.Equal(got, c.want) || !slices.Equal(doubts, c.doubts) || len(doubts) > 0 && explaintest.Has(rep, result.Balanced) {
			t.Errorf("%s: got %q late, %v in doubt; want %q, %v%s", c.name, got, doubts, c.want, c.doubts, explaintest.Describe(rep))
		}
		if says := report.Words(rep.Source.Clocks) + "\n" + rep.Source.Clocks.String(); !strings.Contains(says, c.says) {
			t.Errorf("%s: got clocks %q, want %q in it", c.name, says, c.says)
		}
	}
}

// TestClockBounds: the bounds of each rank's clock contain the truth, for any offset and drift, and are as tight as
// collectives are short.
func TestClockBounds(t *testing.T) {
	for _, c := range []struct {
		offset int64
		drift  float64
	}{{0, 0}, {3_000, 0}, {-7_000_000, 0}, {5_000, 40e-6}, {-2_000_000_000, -80e-6}} {
		clock := func(rank int, at int64) int64 { return int64(rank) * (c.offset + int64(c.drift*float64(at))) }
		rep := explaintest.Analyzed(t, pairOfHosts{hosts: [2]string{"a", "b"}, transfer: 12_000, clock: clock}.traces())
		first, second := rep.Ranks[0].Clock, &rep.Ranks[1]
		got := second.Clock
		// In the middle of the window, where the shift applies; the bounds hold to its ends.
		truth := -clock(1, 240_000_000) - second.ShiftNS
		if c.drift == 0 && (truth < got.Low || truth > got.High) || got.High-got.Low > 60_000 || got.Method != "collectives" || got.Against != "TP00" || first.Method != "reference" {
			t.Errorf("%+v: got clock %+v, want bounds of at most 60 µs by collectives that hold %d", c, got, truth)
		}
		if -got.Low > rep.Source.Within || got.High > rep.Source.Within || rep.Source.Within > 40_000 {
			t.Errorf("%+v: got clock %+v, report within %d ns; want the bounds within it, and it within 40 µs", c, got, rep.Source.Within)
		}
	}
}

// TestFewCollectives: collectives too few to show a drift by their ends still bound it, so clocks are shifted by an
// amount that all of them allow.
func TestFewCollectives(t *testing.T) {
	for _, drift := range []float64{60e-6, -60e-6} {
		p := pairOfHosts{hosts: [2]string{"a", "b"}, steps: 12, transfer: 12_000, slower: by(1, 6, 40_000_000)}
		p.clock = func(rank int, at int64) int64 { return int64(float64(rank) * (5e6 + drift*float64(at))) }
		rep := explaintest.Analyzed(t, p.traces())
		if got := explaintest.Stragglers(rep); !slices.Equal(got, []string{"rank 1 device 6-11"}) {
			t.Errorf("got %q late, want rank 1 device 6-11%s", got, explaintest.Describe(rep))
		}
		if says := report.Words(rep.Source.Clocks); !strings.HasPrefix(says, "differ: they were aligned by 12 shared collectives") || strings.Contains(says, "contradict") {
			t.Errorf("got clocks %q, want alignment by 12 collectives without contradiction", says)
		}
		// In the middle of the window.
		if c := rep.Ranks[1]; explaintest.Abs(c.ShiftNS+5_000_000+int64(drift*3e9)) > 200_000 {
			t.Errorf("got rank %+v, want its clock shifted by -5 ms minus the drift, ±200 µs", c)
		}
	}
}

// TestClockJumps: a clock that is reset within the window contradicts every offset and drift, and so do collectives
// that are not the same.
func TestClockJumps(t *testing.T) {
	for _, hosts := range [][2]string{{"a", "b"}, {}} {
		jumps := func(rank int, at int64) int64 {
			if at < 300_000_000 {
				return 0
			}
			return int64(rank) * 3_000_000
		}
		rep := explaintest.Analyzed(t, pairOfHosts{hosts: hosts, transfer: 12_000, clock: jumps}.traces())
		if says := report.Words(rep.Source.Clocks); !strings.Contains(says, "contradict each other") || !strings.Contains(says, "whatever the offset and the drift of the hosts' clocks: one jumped") {
			t.Errorf("hosts %q: got clocks %q, want a contradiction by a jump", hosts, says)
		}
		if got := explaintest.Stragglers(rep, result.CauseCommunication); len(got) > 0 {
			t.Errorf("hosts %q: got %q late by communication, want none%s", hosts, got, explaintest.Describe(rep))
		}
	}
}
