package bench

import (
	"slices"
	"testing"
)

// tokensAt returns a request with tokens at the given times, in ms.
func tokensAt(at ...int64) Record {
	r := Record{First: at[0] * 1e6, Last: at[len(at)-1] * 1e6}
	for _, t := range at {
		r.Chunks = append(r.Chunks, Chunk{At: t * 1e6, Tokens: 1, Text: true})
	}
	return r
}

// TestDecodeGaps: a step counts once, whatever its batch; steps around a prefill or affected by a window do not count;
// without one token per event the gaps are unknown.
func TestDecodeGaps(t *testing.T) {
	two := []Record{tokensAt(10, 12, 14, 16, 30, 32), tokensAt(10, 12, 14, 16, 30, 32, 34), tokensAt(29, 30)}
	for _, c := range []struct {
		name    string
		records []Record
		outside []Span
		change  func([]Record, *Run)
		want    []int64 // ends of gaps, ms
	}{
		{"steps once, a prefill left out", two, nil, nil, []int64{12, 14, 16, 32, 34}},
		{"a window", two, []Span{{From: 13e6, To: 15e6}}, nil, []int64{12, 32, 34}},
		{"several tokens an event", two, nil, func(r []Record, _ *Run) {
			for i := range r[0].Chunks {
				r[0].Chunks[i].Tokens = 3
			}
		}, nil},
		{"unknown tokens", two, nil, func(r []Record, _ *Run) {
			for i := range r[0].Chunks {
				r[0].Chunks[i].Tokens = -1
			}
		}, nil},
		{"unknown tokens, as many as events", two, nil, func(r []Record, _ *Run) {
			for i := range r {
				r[i].OutputFrom, r[i].OutputLen = FromServer, len(r[i].Chunks)
				for k := range r[i].Chunks {
					r[i].Chunks[k].Tokens = -1
				}
			}
		}, []int64{12, 14, 16, 32, 34}},
		{"a server that speculates", two, nil, func(_ []Record, run *Run) {
			run.ServerInfo = map[string]any{"internal_states": []any{map[string]any{"avg_spec_accept_length": 2.5}}}
		}, nil},
		{"one read brought two events", two[:1], nil, func(r []Record, _ *Run) { r[0].Chunks[2].Merged = true }, []int64{30, 32}},
	} {
		t.Run(c.name, func(t *testing.T) {
			records := slices.Clone(c.records)
			for i := range records {
				records[i].Chunks = slices.Clone(records[i].Chunks)
			}
			run := &Run{Backend: "sglang"}
			if c.change != nil {
				c.change(records, run)
			}
			var ends []int64
			for _, g := range DecodeGaps(records, run, c.outside) {
				ends = append(ends, g.To/1e6)
				if want := len(c.records) - 1; g.To <= 16e6 && g.Decoding != max(want, 1) {
					t.Errorf("%d in decode before %d", g.Decoding, g.To)
				}
			}
			if !slices.Equal(ends, c.want) {
				t.Errorf("gaps end at %v, want %v", ends, c.want)
			}
		})
	}
}
