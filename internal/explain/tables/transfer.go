package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

func spreadOf(v []int64) (s result.Spread) {
	if len(v) == 0 {
		return s
	}
	slices.Sort(v)
	return result.Spread{N: len(v), Median: int64(metric.Quantile(v, 0.5)), P99: int64(metric.Quantile(v, 0.99)), Max: v[len(v)-1]}
}

// end is what one side recorded of a request's transfer.
type end struct {
	server *Server
	copies []copied
	ids    []string
	room   int64
}

func (e *end) bytes() (sum int64) {
	for i := range e.copies {
		sum += e.copies[i].bytes
	}
	return sum
}

func (e *end) first() int64 {
	at := e.copies[0].Start
	for _, c := range e.copies {
		at = min(at, c.Start)
	}
	return at
}

func (e *end) last() int64 {
	at := e.copies[0].End
	for _, c := range e.copies {
		at = max(at, c.End)
	}
	return at
}

// layers sums up the copies of each layer: the latest start and end, and all bytes.
func (e *end) layers() map[string]copied {
	out := map[string]copied{}
	for _, c := range e.copies {
		l, ok := out[c.name]
		if !ok {
			l.Interval = c.Interval
		}
		out[c.name] = copied{prep.Interval{Start: max(l.Start, c.Start), End: max(l.End, c.End)}, c.name, c.of, l.bytes + c.bytes}
	}
	return out
}

// endsOf collects the copies of a name on some servers, request by request, and the
// layers that any of them has.
func endsOf(servers []*Server, prefix string) (ends []*end, layers map[string]bool) {
	layers = map[string]bool{}
	for _, ps := range servers {
		of := map[request]*end{}
		for _, r := range ps.ranks {
			for _, c := range r.copies {
				layer, ok := strings.CutPrefix(c.name, prefix)
				if !ok {
					continue
				}
				e := of[c.of]
				if e == nil {
					e = &end{server: ps, ids: trace.RequestIDs(c.of.ids), room: c.of.room}
					of[c.of] = e
					ends = append(ends, e)
				}
				layers[layer], c.name = true, layer
				e.copies = append(e.copies, c)
			}
		}
	}
	return ends, layers
}

// transfers measures what went between the sides.
func Transfers(prefill, decode []*Server) (t result.Transfers) {
	sent, sentLayers := endsOf(prefill, "kv_send layer=")
	got, gotLayers := endsOf(decode, "kv_recv layer=")
	t.Sending = sending(prefill)
	pairs, by := pairOf(sent, got)
	t.By = by
	shift := compareClocks(&t, pairs)
	var took, exposed, joined []int64
	var moving int64
	for _, p := range pairs {
		t.Seen++
		s, g := p[0], p[1]
		// Of a transfer at an edge of a window some layers are missing, or bytes.
		switch {
		case s != nil && len(s.layers()) < len(sentLayers), g != nil && len(g.layers()) < len(gotLayers), s != nil && g != nil && s.bytes() != g.bytes():
			continue
		}
		t.Whole++
		one, at := g, int64(0)
		if g == nil {
			one = s
		} else if s != nil {
			at = shift[[2]*Server{s.server, g.server}]
		}
		var ran []prep.Interval
		for _, c := range one.copies {
			ran = append(ran, c.Interval)
		}
		slices.SortFunc(ran, func(a, b prep.Interval) int { return cmp.Compare(a.Start, b.Start) })
		moving += prep.Overlap(prep.Union(ran), one.first(), one.last())
		t.Copies += len(one.copies)
		t.Bytes += one.bytes()
		rest := int64(0) // of its prefill, from the transfer's end
		if s != nil && g != nil && g.last()+at >= s.first() {
			took = append(took, g.last()+at-s.first())
			if k := latest(s); k != 0 {
				exposed = append(exposed, max(0, g.last()+at-k))
				rest = max(0, k-g.last()-at)
			}
		}
		if g != nil {
			if b := earliest(g); b != 0 {
				joined = append(joined, max(0, b-g.last()-rest))
			}
		}
	}
	t.GBs = metric.Share(t.Bytes, moving) // bytes a nanosecond
	t.Took, t.Exposed, t.Joined = spreadOf(took), spreadOf(exposed), spreadOf(joined)
	return t
}

// sending is the share of the ranks' windows in which something was sent.
func sending(servers []*Server) (mean float64) {
	n := 0.0
	for _, ps := range servers {
		for _, r := range ps.ranks {
			mean += r.sending
			n++
		}
	}
	return mean / max(n, 1)
}

// pairOf brings the two ends of each request together: by room, else by the request's
// id, which both servers know only where the client chose it. One end may be nil.
func pairOf(sent, got []*end) (pairs [][2]*end, by string) {
	byRoom, byID := map[int64]*end{}, map[string]*end{}
	for _, g := range got {
		if g.room != 0 {
			byRoom[g.room] = g
		}
		for _, id := range g.ids {
			byID[id] = g
		}
	}
	used := map[*end]bool{}
	for _, s := range sent {
		g := byRoom[s.room]
		joined := "rooms"
		for _, id := range s.ids {
			// A request that was tried again has its id in several rooms.
			if other := byID[id]; g == nil && other != nil && (s.room == 0 || other.room == 0) {
				g, joined = other, "request ids"
			}
		}
		if g != nil && used[g] {
			g = nil
		}
		if g != nil {
			used[g] = true
			if by == "" || joined != "rooms" {
				by = joined
			}
		}
		pairs = append(pairs, [2]*end{s, g})
	}
	for _, g := range got {
		if !used[g] {
			pairs = append(pairs, [2]*end{nil, g})
		}
	}
	return pairs, by
}

// compareClocks bounds how far the clocks of each prefill and decode server differ: a
// layer cannot have arrived before it began to be sent. Decode times of another host
// that contradict that are shifted by as little as mends it.
func compareClocks(t *result.Transfers, pairs [][2]*end) (shift map[[2]*Server]int64) {
	ahead := map[[2]*Server]int64{} // decode's clock is ahead by this at most
	for _, p := range pairs {
		if p[0] == nil || p[1] == nil {
			continue
		}
		key := [2]*Server{p[0].server, p[1].server}
		got := p[1].layers()
		for layer, s := range p[0].layers() {
			g, ok := got[layer]
			if !ok || g.bytes != s.bytes { // a part lies outside of a window
				continue
			}
			d := g.End - s.Start
			if most, ok := ahead[key]; !ok || d < most {
				ahead[key] = d
			}
		}
	}
	shift = map[[2]*Server]int64{}
	strangers, odd := false, false
	for key, most := range ahead {
		a, b := key[0].host(), key[1].host()
		if a != "" && a == b {
			odd = odd || most < 0
			continue
		}
		strangers = true
		if most < 0 {
			shift[key] = -most
			t.ShiftNS = max(t.ShiftNS, -most)
		}
	}
	switch {
	case len(ahead) == 0:
		t.Clocks = "not compared: no transfer was recorded on both sides"
	case t.ShiftNS > 0:
		t.Clocks = fmt.Sprintf("differ: decode servers' times moved by up to %s, so that nothing arrives before it is sent; times from one side to the other are lower bounds", metric.Duration(t.ShiftNS))
	case strangers:
		t.Clocks = "not known to be one clock, and nothing contradicts that they agree: times from one side to the other are as good as the hosts' clocks"
	case odd:
		t.Clocks = "one host by its name, and yet some layers arrive before they are sent: times from one side to the other are wrong by more than they may be"
	default:
		t.Clocks = "agree: one host, and no layer arrives before it is sent"
	}
	return shift
}

func (s *Server) host() string {
	for _, r := range s.ranks {
		if r.host != "" {
			return r.host
		}
	}
	return ""
}

// latest is when the last kernel of the request's steps ended on any rank; 0: none was
// recorded.
func latest(e *end) (at int64) {
	for _, id := range e.ids {
		for _, r := range e.server.ranks {
			at = max(at, r.kernels[id])
		}
	}
	return at
}

// earliest is the request's first step, if that began after its transfer; 0: none was
// recorded.
func earliest(e *end) (at int64) {
	for _, id := range e.ids {
		first := int64(0)
		for _, r := range e.server.ranks {
			if b, ok := r.begins[id]; ok && (first == 0 || b < first) {
				first = b
			}
		}
		if first >= e.last() && (at == 0 || first < at) {
			at = first
		}
	}
	return at
}
