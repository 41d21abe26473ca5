package watch

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// TestMind checks the events for given states of servers.
func TestMind(t *testing.T) {
	gone := func(from, to float64, err error) func(float64) error {
		return func(at float64) error {
			if at >= from && at < to {
				return err
			}
			return nil
		}
	}
	five := Capture{Most: 5, Cooldown: 10 * time.Minute}
	for _, c := range []struct {
		name    string
		capture Capture
		server  server
		took    time.Duration
		want    string
	}{
		{"ten balanced minutes", five, server{}, 10 * time.Minute, ""},
		{"a busy rank", five, func() (f server) { f.running, f.tokens = busy(1, 100, 200); return f }(), 5 * time.Minute, `
104 alarm a uneven load DP01 since 100
104 capture a capture-1 uneven load
108 verdict a capture-1 more work DP01
204 over a uneven load`},
		{"a slow rank", five, server{tokens: func(i int, at float64) float64 {
			if i == 2 && at >= 100 {
				return 30
			}
			return 100
		}}, 140 * time.Second, `
106 alarm a uneven pace DP02 since 100
106 capture a capture-1 uneven pace
110 verdict a capture-1 slower DP02`},
		{"the cooldown applies to the same rank but not to another", five, server{
			running: func(i int, at float64) float64 {
				a, _ := busy(1, 100, 200)
				b, _ := busy(1, 300, 400)
				c, _ := busy(3, 500, 600)
				return max(a(i, at), b(i, at), c(i, at))
			}, tokens: func(i int, at float64) float64 {
				_, a := busy(1, 100, 200)
				_, b := busy(1, 300, 400)
				_, c := busy(3, 500, 600)
				return max(a(i, at), b(i, at), c(i, at))
			}}, 11 * time.Minute, `
104 alarm a uneven load DP01 since 100
104 capture a capture-1 uneven load
108 verdict a capture-1 more work DP01
204 over a uneven load
304 alarm a uneven load DP01 since 300
304 skipped a uneven load DP01 the last capture for this cause began at 00:01:44, and --cooldown is 10m0s
404 over a uneven load
504 alarm a uneven load DP03 since 500
504 capture a capture-2 uneven load
508 verdict a capture-2 more work DP03
604 over a uneven load`},
		{"a condition that a capture shows is not captured again within the cooldown", Capture{Most: 5, Cooldown: time.Minute}, func() (f server) { f.running, _ = busy(1, 100, 1000); return f }(), 200 * time.Second, `
104 alarm a uneven load DP01 since 100
104 capture a capture-1 uneven load
108 verdict a capture-1 slower DP01
111 alarm a uneven pace DP01 since 100
111 skipped a uneven pace DP01 capture-1, which began at 00:01:44, already shows it, and --cooldown is 1m0s
164 capture a capture-2 uneven pace
168 verdict a capture-2 slower DP01`},
		{"a rank that stops reporting", five, server{ranks: func(at float64) int {
			if at >= 100 {
				return 3
			}
			return 4
		}}, 2 * time.Minute, `
109 alarm a silent rank DP03 since 100
109 capture a capture-1 silent rank
113 verdict a capture-1 unclear DP03`},
		{"no captures are allowed", Capture{}, func() (f server) { f.running, f.tokens = busy(1, 100, 200); return f }(), 2 * time.Minute, `
104 alarm a uneven load DP01 since 100
104 skipped a uneven load DP01 0 captures made, the most that --max-captures allows`},
		{"it is down for a while", five, server{error: gone(50, 80, errors.New("connection refused"))}, 2 * time.Minute, `
55 lost a no sample since 00:00:50: connection refused
80 back a 30 s`},
		{"it is down for a moment", five, server{error: gone(50, 53, errors.New("connection refused"))}, 2 * time.Minute, ""},
		{"it rejects requests", five, server{error: gone(50, 60, &client.Refused{Status: 401})}, 2 * time.Minute, `
50 lost a no sample since 00:00:50: : 401 Unauthorized (give --api-key)
60 back a 10 s`},
		{"it restarts while it is down", five, server{error: gone(50, 80, errors.New("connection refused")), anew: 80}, 2 * time.Minute, `
55 lost a no sample since 00:00:50: connection refused
80 back a 30 s
80 restarted a`},
		{"it restarts while an alarm waits for the cooldown", Capture{Most: 5, Cooldown: 2 * time.Minute}, server{anew: 215,
			running: func(i int, at float64) float64 {
				a, _ := busy(1, 100, 130)
				b, _ := busy(1, 200, 215)
				return max(a(i, at), b(i, at))
			}, tokens: func(i int, at float64) float64 {
				_, a := busy(1, 100, 130)
				_, b := busy(1, 200, 215)
				return max(a(i, at), b(i, at))
			}}, 5 * time.Minute, `
104 alarm a uneven load DP01 since 100
104 capture a capture-1 uneven load
108 verdict a capture-1 more work DP01
134 over a uneven load
204 alarm a uneven load DP01 since 200
204 skipped a uneven load DP01 the last capture for this cause began at 00:01:44, and --cooldown is 2m0s
215 restarted a
215 over a uneven load`},
		{"it restarts, and is uneven while it warms up", five, func() (f server) { f.running, f.tokens = busy(1, 50, 75); f.anew = 50; return f }(), 2 * time.Minute, `
50 restarted a`},
		{"its clock goes back and forth", five, server{clock: func(at float64) time.Duration {
			switch {
			case at >= 100 && at < 200:
				return -time.Hour
			case at >= 300:
				return time.Hour
			}
			return 0
		}}, 6 * time.Minute, `
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.server.name = "a"
				got, _ := watching(t, &Watch{Capture: c.capture}, c.took, &c.server)
				if want := strings.TrimSpace(c.want); got != want {
					t.Errorf("\n%s\nwant\n%s", got, want)
				}
			})
		})
	}
}

// sequence is a server with two busy ranks, one half a minute after the other.
func sequence(name string) *server {
	f := &server{name: name}
	f.running, f.tokens = func(i int, at float64) float64 {
		a, _ := busy(1, 100, 130)
		b, _ := busy(2, 160, 190)
		return max(a(i, at), b(i, at))
	}, func(i int, at float64) float64 {
		_, a := busy(1, 100, 130)
		_, b := busy(2, 160, 190)
		return max(a(i, at), b(i, at))
	}
	return f
}

// TestBounds checks --max-captures and --max-disk.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		name    string
		capture Capture
		want    string
	}{
		{"one capture", Capture{Most: 1}, "1 capture made, the most that --max-captures allows"},
		{"1000 bytes, used up by the first", Capture{Most: 5, MostBytes: 1000}, "captures have used up --max-disk, 1.00 kB"},
	} {
		synctest.Test(t, func(t *testing.T) {
			got, m := watching(t, &Watch{Capture: c.capture}, 4*time.Minute, sequence("a"))
			if !strings.Contains(got, "164 skipped a uneven load DP02 "+c.want) || m.budget.made != 1 {
				t.Errorf("%s:\n%s", c.name, got)
			}
		})
	}
}

// TestDisk checks that a capture that does not fit in --max-disk is removed, and that no other capture follows.
func TestDisk(t *testing.T) {
	for most, want := range map[int64]string{
		500: `104 capture a capture-1 uneven load
108 failed a capture-1 removed: the files exceed the limit on disk space; allow more with --max-disk
134 over a uneven load
164 alarm a uneven load DP02 since 160
164 skipped a uneven load DP02 capture-1 did not fit in --max-disk, 500 B`,
		1500: `168 failed a capture-2 removed: the files exceed the limit on disk space; allow more with --max-disk`,
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			got, _ := watching(t, &Watch{Dir: dir, Capture: Capture{Most: 5, MostBytes: most}}, 4*time.Minute, sequence("a"))
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != int(most/1000) || !strings.Contains(got, want) {
				t.Errorf("%d bytes: %v %v\n%s", most, left, err, got)
			}
		})
	}
}

// TestRestarts checks that a server whose start time changes with each sample is reported twice at most: as a restart,
// and as a server whose samples contradict each other.
func TestRestarts(t *testing.T) {
	f := &follower{}
	var said []string
	for i := range 1000 {
		if s := f.restarted(time.Unix(int64(i), 0)); s != "" {
			said = append(said, s)
		}
	}
	if len(said) != 2 || !strings.Contains(said[0], "has restarted") || !strings.Contains(said[1], "from sample to sample") {
		t.Errorf("%q", said)
	}
	if s := f.restarted(time.Unix(2000, 0)); !strings.Contains(s, "has restarted") {
		t.Errorf("a restart after a while: %q", s)
	}
}

// TestServers checks that servers are compared with each other, that the outlier is captured with its peers, and that
// the others are judged during a capture and captured next.
func TestServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []*server
		for _, name := range []string{"a", "b", "c"} {
			f := &server{name: name}
			if name == "a" {
				f.takes = 100 * time.Millisecond // so that it is the last of each round
			}
			if name == "b" {
				f.running = func(_ int, at float64) float64 {
					if at >= 100 {
						return 32
					}
					return 8
				}
				f.tokens = func(_ int, at float64) float64 {
					if at >= 100 {
						return 400
					}
					return 100
				}
			}
			all = append(all, f)
		}
		got, _ := watching(t, &Watch{Capture: Capture{Most: 5, Cooldown: time.Hour}}, 3*time.Minute, all...)
		if want := `104 alarm all servers uneven load b since 100
104 capture all servers capture-1 uneven load
108 verdict all servers capture-1 more work b`; got != want {
			t.Errorf("\n%s\nwant\n%s", got, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		a, b := &server{name: "a"}, &server{name: "b"}
		a.running, a.tokens = busy(1, 100, 200)
		b.running, b.tokens = busy(2, 102, 200)
		got, _ := watching(t, &Watch{Capture: Capture{Most: 5, Cooldown: time.Hour}}, 130*time.Second, a, b)
		if want := `104 alarm a uneven load DP01 since 100
104 capture a capture-1 uneven load
106 alarm b uneven load DP02 since 102
108 verdict a capture-1 more work DP01
109 capture b capture-2 uneven load
113 verdict b capture-2 more work DP02`; got != want {
			t.Errorf("\n%s\nwant\n%s", got, want)
		}
	})
}

// TestNobodyToCapture checks a server that is down while an alarm waits for its capture, and logs without a server.
func TestNobodyToCapture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &server{name: "a"}, &server{name: "b", takes: 100 * time.Millisecond} // the last of each round
		a.running, a.tokens = busy(1, 100, 1000)
		a.error = func(at float64) error {
			if at >= 200 && at < 220 || at >= 250 && at < 270 {
				return errors.New("connection refused")
			}
			return nil
		}
		got, _ := watching(t, &Watch{Rules: detect.Defaults()[:1], Capture: Capture{}}, 5*time.Minute, b, a)
		if want := `104 alarm a uneven load DP01 since 100
104 skipped a uneven load DP01 0 captures made, the most that --max-captures allows
200 skipped a uneven load DP01 it does not answer
205 lost a no sample since 00:03:20: connection refused
220 back a 20 s
255 lost a no sample since 00:04:10: connection refused
270 back a 20 s`; got != want {
			t.Errorf("\n%s\nwant\n%s", got, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		a, b := &server{name: "a", log: true}, &server{name: "b", log: true}
		a.running = func(int, float64) float64 { return 32 }
		got, m := watching(t, &Watch{Rules: detect.Defaults()[:1], Capture: Capture{Most: 5}}, time.Minute, a, b)
		if !strings.Contains(got, "skipped all servers uneven load a there is only a log, no server to capture") || m.budget.made > 0 {
			t.Errorf("%s", got)
		}
	})
}

// TestEndInCapture checks that a capture in progress is completed and reported after an interrupt.
func TestEndInCapture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &server{name: "a"}
		a.running, a.tokens = busy(1, 100, 200)
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(105500*time.Millisecond, interrupt)
		began := time.Now()
		got, m := watchingUntil(t, ctx, &Watch{Capture: Capture{Most: 5}}, time.Hour, a)
		if want := `104 alarm a uneven load DP01 since 100
104 capture a capture-1 uneven load
108 verdict a capture-1 more work DP01`; got != want {
			t.Errorf("\n%s\nwant\n%s", got, want)
		}
		if took := time.Since(began); m.shooting != nil || took != 108500*time.Millisecond {
			t.Errorf("ended after %v", took)
		}
	})
}
