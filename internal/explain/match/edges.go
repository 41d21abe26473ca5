package match

import "github.com/stepscope/stepscope/internal/explain/prep"

// Ranks begin and end recording at different moments. At the edges of a window, a collective therefore lasts until
// another rank begins recording, or runs against a rank whose recording has ended. This time is neither waiting nor
// transfer.

// recorded returns the interval in which a rank was recorded, in one stretch of the window, on the aligned clock.
func (r *Rank) recorded(stretch int) (from, to int64) {
	from, to = r.Extent.Start, r.Extent.End
	if n := len(r.Stretches); n > 1 {
		s := &r.Stretches[min(stretch, n-1)]
		from, to = s.Start, s.End
	}
	return r.Wall(from), r.Wall(to)
}

// markEdges sets Edge of the ranks and matches, and subtracts it from the waits.
func (d *Domain) markEdges() {
	matched := make([]map[int32]bool, len(d.Ranks)) // ops of Outside
	for i, r := range d.Ranks {
		r.Edge, matched[i] = map[int32]int64{}, map[int32]bool{}
	}
	for _, matches := range [][]Match{d.Matches, d.Outside} {
		for i := range matches {
			d.markBegin(&matches[i])
		}
	}
	for i := range d.Outside {
		for _, p := range d.Outside[i].At {
			matched[p.Rank][p.Op] = true
		}
	}
	list, of := d.sequences()
	runs := make([]map[*Rank]bool, len(list)) // ranks that run a sequence
	for i, r := range d.Ranks {
		for _, s := range of[i] {
			if s >= 0 && runs[s] == nil {
				runs[s] = map[*Rank]bool{}
			}
			if s >= 0 {
				runs[s][r] = true
			}
		}
	}
	for i, r := range d.Ranks {
		for j := range r.Ops {
			if o := &r.Ops[j]; o.Comm() && of[i][o.Coll] >= 0 && r.Match[j] < 0 && !matched[i][int32(j)] {
				r.markUnmatched(int32(j), runs[of[i][o.Coll]])
			}
		}
	}
}

// markBegin corrects the waits for a rank that began recording after other ranks had arrived at the collective. These
// ranks arrived earlier by the time between the beginnings of the recordings.
func (d *Domain) markBegin(m *Match) {
	if !m.Possible() {
		return
	}
	var begun int64
	stretch := 0
	for _, p := range m.At {
		if r := d.Ranks[p.Rank]; p.Start == m.Last {
			stretch = r.Stretch(r.Ops[p.Op].Start)
			begun, _ = r.recorded(stretch)
		}
	}
	for i := range m.At {
		p := &m.At[i]
		r := d.Ranks[p.Rank]
		if from, _ := r.recorded(stretch); p.Start < begun && p.Wait > 0 && from < begun {
			p.Edge = min(p.Wait, begun-from)
			p.Wait -= p.Edge
			r.Edge[p.Op] = p.Edge
			if m.Step >= 0 {
				r.Wait[p.Op] = p.Wait
			}
		}
	}
}

// markUnmatched marks the time of a collective without a match in which one of the ranks was not recorded.
func (r *Rank) markUnmatched(op int32, ranks map[*Rank]bool) {
	o := &r.Ops[op]
	from, to := r.Wall(o.Start), r.Wall(o.End)
	both := prep.Interval{Start: from, End: to}
	for q := range ranks {
		begun, ended := q.recorded(r.Stretch(o.Start))
		both.Start, both.End = max(both.Start, begun), min(both.End, ended)
	}
	if edge := to - from - max(both.End-both.Start, 0); edge > 0 {
		r.Edge[op] = min(edge, o.End-o.Start)
	}
}

// Own returns the time of an op without the waits for other ranks and without Edge.
func (r *Rank) Own(op int) int64 {
	o := &r.Ops[op]
	return o.End - o.Start - r.Wait[op] - r.Edge[int32(op)]
}
