//go:build amd64 && !noasm

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// job does a piece of work and says how long that took.
type job func() time.Duration

// timed is a job of all that f does.
func timed(f func()) job {
	return func() time.Duration {
		start := time.Now()
		f()
		return time.Since(start)
	}
}

// pairs are times of two jobs that ran by turns.
type pairs struct {
	a, b         []float64 // ns, of the pairs that count
	taken, clean int
	noisy        bool // too few were clean, so all count
}

// fewest is how many clean pairs a median is taken of.
const fewest = 5

// alternate runs a and b by turns, now one first and now the other. It goes on for the budget, and until fewest pairs
// are clean, but for no more than three budgets.
func alternate(cores int, budget time.Duration, a, b job) *pairs {
	a()
	b()
	p, all := &pairs{}, &pairs{}
	for begin := time.Now(); ; {
		if d := time.Since(begin); d > 3*budget || d > budget && len(p.a) >= fewest {
			break
		}
		start, before := time.Now(), usage()
		var ta, tb time.Duration
		if p.taken%2 == 0 {
			ta, tb = a(), b()
		} else {
			tb, ta = b(), a()
		}
		p.taken++
		all.add(ta, tb)
		if before.clean(cores, time.Since(start)) {
			p.clean++
			p.add(ta, tb)
		}
	}
	if p.clean < fewest {
		p.a, p.b, p.noisy = all.a, all.b, true
	}
	return p
}

func (p *pairs) add(a, b time.Duration) {
	p.a, p.b = append(p.a, float64(a)), append(p.b, float64(b))
}

// ratio is the median of a/b: noise that lasts longer than a pair is in both.
func (p *pairs) ratio() float64 {
	r := make([]float64, len(p.a))
	for i := range r {
		r[i] = p.a[i] / p.b[i]
	}
	return median(r)
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[len(x)/2] + x[(len(x)-1)/2]) / 2
}

// used is what the threads of this process have had and lacked, as Linux counts it; nothing where nobody counts.
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

// clean tells whether nearly all of the last d was worked on so many cores: what was not, at least, is not for want of
// one. Waiting alone says little, since this process has threads whose delay delays nobody.
func (u used) clean(cores int, d time.Duration) bool {
	now := usage()
	short := time.Duration(cores)*d - (now.ran - u.ran)
	return min(short, now.waited-u.waited) <= time.Duration(cores)*d/15
}
