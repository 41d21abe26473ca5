//go:build linux && amd64 && !noasm

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
)

// job performs a piece of work and returns the time that the work took.
type job func() time.Duration

// timed returns a job that runs f and measures its duration.
func timed(f func()) job {
	return func() time.Duration {
		start := time.Now()
		f()
		return time.Since(start)
	}
}

// pairs holds the times, in ns, of two jobs that were run alternately.
type pairs struct{ a, b []float64 }

// fewest is the minimum number of undisturbed (clean) pairs from which a median is taken.
const fewest = 5

// alternate runs pairs of the jobs a and b, whose order changes from pair to pair. It returns the times of all pairs
// and the times of the clean pairs. It runs for the budget. If there are then fewer than fewest clean pairs, it
// continues, but at most until three times the budget.
func alternate(cores int, budget time.Duration, a, b job) (all, clean pairs) {
	a()
	b()
	for begin := time.Now(); ; {
		if d := time.Since(begin); d > 3*budget || d > budget && len(clean.a) >= fewest {
			return all, clean
		}
		start, before := time.Now(), usage()
		var ta, tb time.Duration
		if len(all.a)%2 == 0 {
			ta, tb = a(), b()
		} else {
			tb, ta = b(), a()
		}
		if before.clean(cores, time.Since(start)) {
			clean.add(ta, tb)
		}
		all.add(ta, tb)
	}
}

func (p *pairs) add(a, b time.Duration) {
	p.a, p.b = append(p.a, float64(a)), append(p.b, float64(b))
}

// ratio returns the median of a/b over the pairs. Noise that lasts longer than a pair affects both jobs and therefore
// cancels out.
func (p pairs) ratio() float64 {
	r := make([]float64, len(p.a))
	for i := range r {
		r[i] = p.a[i] / p.b[i]
	}
	return metric.Median(r)
}

// used contains two times as counted by Linux: the time for which threads of this process ran on a core, and the time
// for which they waited for a core. It is zero on other systems.
type used struct {
	ran    time.Duration // on a core
	waited time.Duration // ready to run, without a core
}

func usage() used {
	files, _ := filepath.Glob("/proc/self/task/*/schedstat")
	var u used
	for _, name := range files {
		text, _ := os.ReadFile(name)
		if f := strings.Fields(string(text)); len(f) == 3 {
			ran, _ := strconv.ParseInt(f[0], 10, 64)
			waited, _ := strconv.ParseInt(f[1], 10, 64)
			u.ran, u.waited = u.ran+time.Duration(ran), u.waited+time.Duration(waited)
		}
	}
	return u
}

// clean reports whether a measurement of duration d was undisturbed. In an undisturbed measurement, the process
// computed on the given number of cores nearly all of the time, or at least did not wait for a core. The waiting time
// alone is not sufficient, because a delay of some threads of this process does not delay the work.
func (u used) clean(cores int, d time.Duration) bool {
	now := usage()
	short := time.Duration(cores)*d - (now.ran - u.ran)
	return min(short, now.waited-u.waited) <= time.Duration(cores)*d/15
}
