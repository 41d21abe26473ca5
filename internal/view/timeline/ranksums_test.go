package timeline

import (
	"slices"
	"testing"
)

// TestRankSums: the parts of a rank are those that a look at each moment between two borders of spans gives, and sum up
// to the interval. Rows of threads alone have only busy and idle time.
func TestRankSums(t *testing.T) {
	for _, c := range []struct {
		capture string
		from    int64
	}{{"compute_skew", 470_500_000}, {"sglang_shared", 30_000_000}, {"graphs", 40_000_000}} {
		tl := open(t, c.capture)
		var all, threads []int
		for i := range tl.rows {
			all = append(all, i)
			if tl.rows[i].Role == RoleLaunch {
				threads = append(threads, i)
			}
		}
		in := Interval{c.from, c.from + 2_000_000}
		busy := false
		for _, got := range tl.RankSums(all, func(int) Interval { return in }) {
			want, longest := tl.moments(got.Rank, in)
			if have := [5]int64{got.Compute, got.Wait, got.Transfer, got.Copy, got.Idle}; have != want || !got.Device {
				t.Errorf("%s: rank %d has %d, moment by moment %d", c.capture, got.Rank, have, want)
			}
			if longest >= 0 && (got.Longest == nil || got.Longest.Dur != longest) {
				t.Errorf("%s: rank %d has %+v as its longest, of %d ns", c.capture, got.Rank, got.Longest, longest)
			}
			busy = busy || want[0] > 0 && want[1] > 0 && want[2] > 0 && want[4] > 0
		}
		if !busy && c.capture == "compute_skew" {
			t.Errorf("%s: no rank computes, waits and transfers", c.capture)
		}
		for _, s := range tl.RankSums(threads, func(int) Interval { return Interval{tl.from, tl.to} }) {
			if s.Device || s.Wait != 0 || s.Compute == 0 || s.Compute+s.Idle != tl.to-tl.from {
				t.Errorf("%s: threads take %+v", c.capture, s)
			}
		}
	}
}

// moments divides an interval of a rank moment by moment, and returns the length of its longest GPU span.
func (t *Timeline) moments(rank int, in Interval) (parts [5]int64, longest int64) {
	type piece struct {
		from, to int64
		part     int
	}
	longest = -1
	var pieces []piece
	borders := []int64{in.From, in.To}
	for _, row := range t.rows {
		if row.Rank != rank || !row.onGPU() {
			continue
		}
		for _, l := range t.lanes[row.Lane : row.Lane+row.Lanes] {
			for i := range l.start {
				if l.end[i] <= in.From || l.start[i] >= in.To {
					continue
				}
				longest = max(longest, l.end[i]-l.start[i])
				p := piece{l.start[i], l.end[i], 0}
				switch Classes[l.class[i]] {
				case "communication":
					p.part = 2
					if l.wait != nil && l.wait[i] > 0 {
						pieces = append(pieces, piece{l.start[i], l.start[i] + l.wait[i], 1})
						borders = append(borders, l.start[i]+l.wait[i])
					}
				case "copy":
					p.part = 3
				}
				pieces = append(pieces, p)
				borders = append(borders, p.from, p.to)
			}
		}
	}
	slices.Sort(borders)
	for i, at := range borders[:len(borders)-1] {
		next := min(borders[i+1], in.To)
		if at < in.From || next <= at {
			continue
		}
		part := 4
		for _, p := range pieces {
			if p.from <= at && next <= p.to {
				part = min(part, p.part)
			}
		}
		parts[part] += next - at
	}
	return parts, longest
}

// TestAlike: spans of one name on a rank are walked in order of time, the longest is the longest of them, and what is no
// span is refused.
func TestAlike(t *testing.T) {
	tl := open(t, "compute_skew")
	first := tl.Search("nvjet_sm90_tst_64x16_64x16_2x1_v_bz_splitK", []int{0}, 0, false).Names[0].First.Span
	if was, err := tl.Alike(0, first, "previous"); was != nil || err != nil {
		t.Errorf("before the first is %+v, %v", was, err)
	}
	longest, err := tl.Alike(0, first, "longest")
	if err != nil || longest == nil {
		t.Fatal(err)
	}
	n, last := 0, int64(-1)
	for at := first; ; n++ {
		next, err := tl.Alike(0, at, "next")
		if err != nil {
			t.Fatal(err)
		}
		if next == nil {
			break
		}
		back, _ := tl.Alike(0, next.Span, "previous")
		if next.Start < last || next.Dur > longest.Dur || next.Label != longest.Label || back == nil || back.Span != at {
			t.Fatalf("after %d comes %+v, before it %+v; the longest is %+v", at, next, back, longest)
		}
		at, last = next.Span, next.Start
	}
	if n < 5 {
		t.Errorf("only %d spans", n)
	}
	if _, err := tl.Alike(0, first, "best"); err == nil {
		t.Error("best is something")
	}
	if _, err := tl.Alike(9, first, "next"); err == nil {
		t.Error("there is a rank 9")
	}
}
