// Package selftest measures how many streams the load generator can time accurately on this machine. It sends a load to
// a mock server, which keeps an exact schedule and includes the send time in each event. It then compares the client's
// times with the server's.
//
// All times are CLOCK_MONOTONIC, ns.
package selftest

import (
	"fmt"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
)

// Options configures the self test.
type Options struct {
	// Command is the command line that runs Main in a separate process: this executable and the hidden verb that calls
	// Main. Env is added to the environment of that process.
	Command []string
	Env     []string
	Shapes  []Shape   // nil: Shapes()
	Tries   int       // maximum attempts per shape until its goal is met; the best attempt counts
	Row     func(Row) // called with each row as soon as it has been measured
	// Peer is the command line of another client, used for the shapes with Peer set. It receives the same arguments as
	// this package's client.
	Peer []string
}

// Shape is a load of the self test.
type Shape struct {
	Name       string
	Streams    int
	Tokens     int           // per stream
	Period     time.Duration // between the tokens of a stream; 0: requests are answered at once
	Together   bool          // whether all streams step at the same time; if not, their phases are spread evenly
	StartRate  float64       // new requests/s
	UserStamps bool
	Peer       bool
	Goal       Goal
}

// Goal holds the limits of a shape; 0: no limit. Times in ns.
type Goal struct {
	UserITL, KernelITL, KernelLag, Late float64 // p99
	RSS                                 int64
}

func (s *Shape) phases() int {
	if s.Together {
		return 1
	}
	return s.Streams
}

// Shapes returns the loads of bench selftest: increasing numbers of streams of 50 tokens/s until the client is late, a
// batch whose streams step together, many slow streams, and a high rate of new requests.
func Shapes() []Shape {
	const us, ms = 1e3, 1e6
	var out []Shape
	for _, n := range []int{500, 1000, 1500, 2000} {
		s := Spread(n)
		if n <= 1500 {
			s.Goal = Goal{UserITL: ms, KernelITL: 20 * us}
		}
		out = append(out, s)
	}
	return append(out,
		Shape{Name: "256 streams together", Streams: 256, Tokens: 150, Period: 20 * time.Millisecond, Together: true, StartRate: 1000, Goal: Goal{KernelLag: 20 * us}},
		Shape{Name: "10000 slow streams", Streams: 10000, Tokens: 35, Period: 200 * time.Millisecond, StartRate: 2500, Goal: Goal{KernelITL: 20 * us, RSS: 250e6}},
		Shape{Name: "2000 new requests/s", Streams: 8000, Tokens: 1, StartRate: 2000, Goal: Goal{Late: ms}},
	)
}

// Spread returns a shape with n streams of 50 tokens/s whose phases are spread evenly.
func Spread(n int) Shape {
	return Shape{Name: fmt.Sprintf("%d streams spread", n), Streams: n, Tokens: 175, Period: 20 * time.Millisecond, StartRate: float64(n) / 0.7}
}

// ClientResult is the output on stdout of the client under test. The Python client writes the same format.
type ClientResult struct {
	OK          int     `json:"ok"`
	Failed      int     `json:"failed"`
	Error       string  `json:"error,omitempty"` // first failure
	CPU         float64 `json:"cpu"`             // CPU time of the whole process, s
	RSS         int64   `json:"rss"`             // peak, bytes
	LateP50     int64   `json:"late_p50"`
	LateP99     int64   `json:"late_p99"`
	LateP999    int64   `json:"late_p999"`
	LateMax     int64   `json:"late_max"`
	Merged      int     `json:"merged"`
	Reads       int     `json:"reads"`
	Stamps      string  `json:"stamps"`
	Verdict     string  `json:"verdict"`
	AllocsEvent float64 `json:"allocs_event"`
}

// Row is the result of a shape.
type Row struct {
	Shape  Shape
	Timing Timing
	Client ClientResult
	Met    bool
	Missed []string // goals that were not met
}

// Report holds all results.
type Report struct {
	Realtime bool // the child processes had real-time priority, and pauses of the machine are excluded
	Cores    bool // server and client run on different cores
	Rows     []Row
}

func (r *Row) judge() {
	r.Missed = nil
	hold := func(what string, got, goal float64, text func(float64) string) {
		if goal > 0 && got > goal {
			r.Missed = append(r.Missed, fmt.Sprintf("%s %s, goal %s", what, text(got), text(goal)))
		}
	}
	times := func(v float64) string { return metric.Duration(int64(v)) }
	g, t := r.Shape.Goal, r.Timing
	hold("ITL error by reads", t.UserITL99, g.UserITL, times)
	if r.Client.Stamps == "kernel" {
		hold("ITL error by the kernel", t.KernelITL99, g.KernelITL, times)
		hold("lag by the kernel", t.KernelLag99, g.KernelLag, times)
	}
	hold("send lateness", float64(r.Client.LateP99), g.Late, times)
	hold("memory", float64(r.Client.RSS), float64(g.RSS), func(v float64) string { return fmt.Sprintf("%.0f MB", v/1e6) })
	if r.Client.Failed > 0 {
		r.Missed = append(r.Missed, fmt.Sprintf("%d requests failed: %s", r.Client.Failed, r.Client.Error))
	}
	if r.Shape.Period > 0 && t.Events == 0 {
		r.Missed = append(r.Missed, "nothing could be compared: the machine was paused throughout")
	}
	r.Met = len(r.Missed) == 0
}

// RowHead names the cells of a row.
var RowHead = []string{"shape", "events/s", "ITL error p99 by kernel", "by reads", "lag p99 by kernel", "by reads", "sent late p99", "p99.9", "CPU/event", "memory", "left out", "goal"}

// Cells formats a row.
func (r *Row) Cells() []string {
	t, c := r.Timing, r.Client
	time := func(there bool, v float64) string {
		if !there {
			return "-"
		}
		return metric.Duration(int64(v))
	}
	events := t.Events > 0
	kernel := events && c.Stamps == "kernel"
	goal := "met"
	switch {
	case len(r.Missed) > 0:
		goal = strings.Join(r.Missed, "; ")
	case r.Shape.Goal == (Goal{}):
		goal = "-"
	}
	rate := "-"
	if events {
		rate = fmt.Sprintf("%.0f", t.Rate)
	}
	return []string{
		r.Shape.Name, rate, time(kernel, t.KernelITL99), time(events, t.UserITL99), time(kernel, t.KernelLag99), time(events, t.UserLag99),
		time(true, float64(c.LateP99)), time(true, float64(c.LateP999)), time(true, r.CPUEvent()), fmt.Sprintf("%.0f MB", float64(c.RSS)/1e6),
		fmt.Sprintf("%.0f%%", 100*t.LeftOut), goal,
	}
}

// CPUEvent returns the client's CPU time per event in ns. The CPU time includes the startup of the client.
func (r *Row) CPUEvent() float64 { return r.Client.CPU / float64(r.Shape.Streams*r.Shape.Tokens) * 1e9 }

// Ceiling returns the largest number of evenly spread streams for which the p99 read delay was at most 1 ms, and the
// events/s of these streams. If there is no such number, both are 0.
func (r *Report) Ceiling() (streams int, rate float64) {
	for _, row := range r.Rows {
		spread := !row.Shape.Together && row.Shape.Period == 20*time.Millisecond
		if spread && row.Timing.Events > 0 && row.Timing.UserITL99 <= 1e6 && row.Client.Failed == 0 && row.Shape.Streams > streams {
			streams, rate = row.Shape.Streams, row.Timing.Rate
		}
	}
	return streams, rate
}

// better reports whether the attempt r at a shape is better than the other attempt than.
func (r *Row) better(than Row) bool {
	if len(r.Missed) != len(than.Missed) {
		return len(r.Missed) < len(than.Missed)
	}
	return r.Timing.UserITL99 < than.Timing.UserITL99
}
