// Command watch tests the rules of "stepscope watch" on simulated time series. It counts how often and how soon the
// rules find known faults, and how often they raise false alarms.
//
// See scripts/truth/watch.sh.
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/testing/detecttest"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// series is a kind of simulated time series.
type series struct {
	name  string
	fleet detecttest.Fleet
	rules []string // the fault is found if any of these rules alerts; empty: no fault
	rank  bool     // whether the rule must also name rank 1
	more  []detect.Rule
}

// base returns a server of eight ranks. Each rank has sixteen requests of 300 tokens.
func base(change func(*detecttest.Fleet)) detecttest.Fleet {
	f := detecttest.Fleet{Ranks: 8, Load: 16, Tokens: 300, Step: 20 * time.Millisecond, Most: 256, Routing: detecttest.RoundRobin, Stale: true}
	change(&f)
	return f
}

const from = 600 // second at which the fault begins

func all() []series {
	var out []series
	add := func(name string, rank bool, rules string, change func(*detecttest.Fleet)) {
		s := series{name: name, fleet: base(change), rank: rank}
		if rules != "" {
			s.rules = strings.Split(rules, ", ")
			s.fleet.From = from
		}
		out = append(out, s)
	}
	type fleet = detecttest.Fleet
	for _, r := range []struct {
		name string
		of   detecttest.Routing
	}{{"round robin", detecttest.RoundRobin}, {"random", detecttest.Random}, {"least loaded", detecttest.LeastLoaded}} {
		add("nothing, "+r.name, false, "", func(f *fleet) { f.Routing = r.of })
		add("nothing, "+r.name+", 4 requests a rank", false, "", func(f *fleet) { f.Routing, f.Load = r.of, 4 })
		add("nothing, "+r.name+", 64 requests a rank", false, "", func(f *fleet) { f.Routing, f.Load = r.of, 64 })
	}
	add("nothing, random, 2 ranks", false, "", func(f *fleet) { f.Routing, f.Ranks = detecttest.Random, 2 })
	add("nothing, random, 64 ranks", false, "", func(f *fleet) { f.Routing, f.Ranks = detecttest.Random, 64 })
	add("nothing, short requests at random", false, "", func(f *fleet) { f.Routing, f.Load, f.Tokens = detecttest.Random, 4, 50 })
	add("nothing, bursts", false, "", func(f *fleet) { f.Bursts = true })
	add("nothing, load grows threefold in an hour", false, "", func(f *fleet) { f.Ramp = 3 })
	add("nothing, a restart", false, "", func(f *fleet) { f.Restart = 900 })
	add("nothing, a tenth of samples missing, and half a minute", false, "", func(f *fleet) { f.Missing, f.Hole = 0.1, 900 })

	load, pace := detect.UnevenLoad+", "+detect.UnevenPace, detect.UnevenPace+", "+detect.UnevenLoad
	add("rank 1 gets twice the requests", true, load, func(f *fleet) { f.Skew = 2 })
	add("rank 1 gets four times the requests", true, load, func(f *fleet) { f.Skew = 4 })
	add("the same, routed at random", true, load, func(f *fleet) { f.Skew, f.Routing = 4, detecttest.Random })
	add("the same, with bursts", true, load, func(f *fleet) { f.Skew, f.Bursts = 4, true })
	add("the same, a tenth of samples missing", true, load, func(f *fleet) { f.Skew, f.Missing = 4, 0.1 })
	add("the same, 4 requests a rank", true, load, func(f *fleet) { f.Skew, f.Load = 4, 4 })
	add("the same, 64 ranks", true, load, func(f *fleet) { f.Skew, f.Ranks = 4, 64 })
	add("rank 1 is 1.5 times as slow", true, pace, func(f *fleet) { f.Slow = 1.5 })
	add("rank 1 is twice as slow", true, pace, func(f *fleet) { f.Slow = 2 })
	add("the same, routed at random", true, pace, func(f *fleet) { f.Slow, f.Routing = 2, detecttest.Random })
	add("the same, to the least loaded", true, pace, func(f *fleet) { f.Slow, f.Routing = 2, detecttest.LeastLoaded })
	add("the same, a tenth of samples missing", true, pace, func(f *fleet) { f.Slow, f.Missing = 2, 0.1 })
	slow := strings.Join([]string{detect.SlowTokens, detect.LostThroughput, detect.SlowFirst, detect.GrowingQueue}, ", ")
	add("all ranks are twice as slow", false, slow, func(f *fleet) { f.AllSlow = 2 })
	add("all ranks are 1.3 times as slow", false, slow, func(f *fleet) { f.AllSlow = 1.3 })
	add("twice the requests that ranks can run", false, detect.GrowingQueue+", "+detect.SlowFirst, func(f *fleet) { f.Surge, f.Most = 2, 24 })
	// These stalls are below the limits of all default rules, so only a dedicated rule detects these stalls.
	stalls := detect.Rule{Name: "stalls", Kind: detect.Latency, Signal: "itl.p99.9", Factor: 2, Least: 1000, For: 10 * time.Second}
	add("rank 1 stands still for 60 ms each second", false, slow+", "+pace, func(f *fleet) { f.Stall = 0.06 })
	add("the same, with a rule for itl.p99.9", false, stalls.Name, func(f *fleet) { f.Stall = 0.06 })
	out[len(out)-1].more = []detect.Rule{stalls}
	add("nothing, with that rule", false, "", func(f *fleet) { f.Routing = detecttest.Random })
	out[len(out)-1].more = []detect.Rule{stalls}
	return out
}

// tally adds up the results for one kind of series.
type tally struct {
	hours, falseAlarms float64
	runs, found, named int
	delays, onsets     []float64 // s
}

func (t *tally) play(s *series, seed uint64, seconds int) {
	f := s.fleet
	f.Seed = seed
	e := &detect.Engine{Rules: append(detect.Defaults(), s.more...), Every: time.Second}
	truth := math.Inf(1)
	if len(s.rules) > 0 {
		truth = f.From
		t.runs++
	}
	done := false
	f.Play(seconds, func(second int, l *signals.Live) {
		if l == nil || done {
			return
		}
		before := float64(second) < truth
		if before {
			t.hours += 1. / 3600
		}
		for _, ev := range e.Take("server", l) {
			if ev.Ended {
				continue
			}
			at := func(x time.Time) float64 { return float64(second) + 1 - l.At.Sub(x).Seconds() }
			if *verbose {
				fmt.Fprintf(os.Stderr, "%s, seed %d: %s of %d at %d, onset %.0f, %.2f of %.2f, normally %.2f\n", s.name, seed, ev.Rule.Name, ev.Who, second, at(ev.Onset), ev.Value, ev.Limit, ev.Normal)
			}
			switch {
			case before:
				t.falseAlarms++
			case slices.Contains(s.rules, ev.Rule.Name) && !done:
				done = true
				t.found++
				t.delays = append(t.delays, at(ev.At)-truth)
				// The estimated onset is an interval between two samples. The error is the distance of the true onset from that
				// interval.
				after, onset := at(ev.After), at(ev.Onset)
				t.onsets = append(t.onsets, math.Max(math.Max(after-truth, truth-onset), 0))
				if !s.rank || ev.Who == 1 {
					t.named++
				}
			}
		}
	})
}

var (
	verbose = flag.Bool("v", false, "tell of each alarm")
	runs    = flag.Int("runs", 20, "series of each kind")
	minutes = flag.Int("minutes", 60, "of each in which nothing goes wrong")
	only    = flag.String("only", "", "kinds whose names contain this")
)

func main() {
	flag.Parse()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "series\thours\tfalse alarms\tan hour\tfound\tnamed\tdelay p50\tp90\tmost\tonset off p50\tp90")
	for _, s := range all() {
		if !strings.Contains(s.name, *only) {
			continue
		}
		var t tally
		for seed := range *runs {
			seconds := *minutes * 60
			if len(s.rules) > 0 {
				seconds = from + 120
			}
			t.play(&s, uint64(seed+1), seconds)
		}
		t.row(w, s.name)
	}
	w.Flush()
}

func (t *tally) row(w *tabwriter.Writer, name string) {
	fmt.Fprintf(w, "%s\t%.1f\t%.0f\t%.2f\t", name, t.hours, t.falseAlarms, t.falseAlarms/t.hours)
	if t.runs == 0 {
		fmt.Fprintln(w, "\t\t\t\t\t\t")
		return
	}
	slices.Sort(t.delays)
	slices.Sort(t.onsets)
	q := func(x []float64, p float64) string {
		if len(x) == 0 {
			return "-"
		}
		return fmt.Sprintf("%.1f s", metric.Quantile(x, p))
	}
	fmt.Fprintf(w, "%d of %d\t%d\t%s\t%s\t%s\t%s\t%s\n", t.found, t.runs, t.named, q(t.delays, 0.5), q(t.delays, 0.9), q(t.delays, 1), q(t.onsets, 0.5), q(t.onsets, 0.9))
}
