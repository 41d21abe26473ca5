package tables

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
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

// end is the transfer of a request's KV cache as recorded by one side.
type end struct {
	prep.Interval // from the start of the first copy to the end of the last copy
	server        *Server
	ids           []string
	room, bytes   int64
	copies        []prep.Interval
	layers        map[string]*copied // copies of each layer combined: the latest start and end, and the sum of bytes
}

// endsOf collects, by request, the copies on the given servers whose names have the prefix. layers are all layers that
// occur in these copies.
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
					e = &end{Interval: c.Interval, server: ps, ids: trace.RequestIDs(c.of.ids), room: c.of.room, layers: map[string]*copied{}}
					of[c.of] = e
					ends = append(ends, e)
				}
				e.Start, e.End, e.bytes = min(e.Start, c.Start), max(e.End, c.End), e.bytes+c.bytes
				e.copies = append(e.copies, c.Interval)
				l := e.layers[layer]
				if l == nil {
					l = &copied{Interval: c.Interval}
					e.layers[layer] = l
				}
				l.Start, l.End, l.bytes = max(l.Start, c.Start), max(l.End, c.End), l.bytes+c.bytes
				layers[layer] = true
			}
		}
	}
	return ends, layers
}

// Transfers measures the transfers between prefill and decode servers.
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
		// Skip transfers at the edge of a window, which lack some layers or bytes.
		switch {
		case s != nil && len(s.layers) < len(sentLayers), g != nil && len(g.layers) < len(gotLayers), s != nil && g != nil && s.bytes != g.bytes:
			continue
		}
		t.Whole++
		one, shifted := g, int64(0)
		if g == nil {
			one = s
		} else if s != nil {
			shifted = shift[[2]*Server{s.server, g.server}]
		}
		t.Copies += len(one.copies)
		t.Bytes += one.bytes
		sorts.By(one.copies, func(a, b prep.Interval) int { return cmp.Compare(a.Start, b.Start) })
		moving += prep.Overlap(prep.Union(one.copies), one.Start, one.End)
		rest := int64(0) // time from the end of the transfer to the end of the request's prefill
		if s != nil && g != nil && g.End+shifted >= s.Start {
			took = append(took, g.End+shifted-s.Start)
			if k := latest(s); k != 0 {
				exposed = append(exposed, max(0, g.End+shifted-k))
				rest = max(0, k-g.End-shifted)
			}
		}
		if g != nil {
			if b := earliest(g); b != 0 {
				joined = append(joined, max(0, b-g.End-rest))
			}
		}
	}
	t.GBs = metric.Share(t.Bytes, moving) // bytes per nanosecond
	t.Took, t.Exposed, t.Joined = spreadOf(took), spreadOf(exposed), spreadOf(joined)
	return t
}

// sending returns the share of the window in which KV cache was being sent, as the mean over ranks.
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

// pairOf pairs the two ends of each request by room or, without rooms, by request ID. Both servers use the same request
// ID only if the client chose it. One end of a pair may be nil.
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
			// A retried request has the same ID in several rooms, so an ID pairs two ends only if one of them has no
			// room.
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

// compareClocks bounds the clock difference of each pair of prefill and decode servers: a layer cannot arrive before
// the sender begins to send it. If the times of a decode server on another host contradict this, they are shifted by
// the smallest amount that removes the contradiction.
func compareClocks(t *result.Transfers, pairs [][2]*end) (shift map[[2]*Server]int64) {
	ahead := map[[2]*Server]int64{} // upper bound of how far the decode server's clock is ahead
	for _, p := range pairs {
		if p[0] == nil || p[1] == nil {
			continue
		}
		key := [2]*Server{p[0].server, p[1].server}
		for layer, s := range p[0].layers {
			g := p[1].layers[layer]
			if g == nil || g.bytes != s.bytes { // a part of the layer's transfer lies outside of a window
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
		t.Clocks = fact.Of("pd_clocks_none")
	case t.ShiftNS > 0:
		t.Clocks = fact.Of("pd_clocks_moved", "ns", t.ShiftNS)
	case strangers:
		t.Clocks = fact.Of("pd_clocks_strangers")
	case odd:
		t.Clocks = fact.Of("pd_clocks_odd")
	default:
		t.Clocks = fact.Of("pd_clocks_agree")
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

// latest returns the end of the last kernel in steps of the request on any rank, or 0 if none was recorded.
func latest(e *end) (at int64) {
	for _, id := range e.ids {
		for _, r := range e.server.ranks {
			at = max(at, r.kernels[id])
		}
	}
	return at
}

// earliest returns the start of the request's first step if that step starts after the transfer, or 0 if there is no
// such step.
func earliest(e *end) (at int64) {
	for _, id := range e.ids {
		first := int64(0)
		for _, r := range e.server.ranks {
			if b, ok := r.begins[id]; ok && (first == 0 || b < first) {
				first = b
			}
		}
		if first >= e.End && (at == 0 || first < at) {
			at = first
		}
	}
	return at
}
