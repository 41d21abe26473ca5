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

// job does a piece of work and returns its duration.
type job func() time.Duration

// timed returns a job that runs and times f.
func timed(f func()) job {
	return func() time.Duration {
		start := time.Now()
		f()
		return time.Since(start)
	}
}

// pairs are times of two jobs that ran alternately, ns.
type pairs struct{ a, b []float64 }

// fewest is the minimum number of clean pairs for a median.
const fewest = 5

// alternate runs a and b alternately, changing which one goes first, and returns all pairs of times and the clean ones.
// It continues for the budget and until there are fewest clean pairs, but at most for three budgets.
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

// ratio is the median of a/b. Noise that lasts longer than a pair affects both.
func (p pairs) ratio() float64 {
	r := make([]float64, len(p.a))
	for i := range r {
		r[i] = p.a[i] / p.b[i]
	}
	return metric.Median(r)
}

// used is the CPU time that this process's threads got and waited for, as counted by Linux; zero on other systems.
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

// clean reports whether nearly all of the last d was computed on that many cores, or at least was not spent waiting for
// a core. Waiting time alone means little, since this process has threads whose delay delays nothing.
func (u used) clean(cores int, d time.Duration) bool {
	now := usage()
	short := time.Duration(cores)*d - (now.ran - u.ran)
	return min(short, now.waited-u.waited) <= time.Duration(cores)*d/15
}
