package bench

import (
	"math"
	"testing"
)

func TestParseSLO(t *testing.T) {
	tests := []struct{ text, want, err string }{
		{text: "ttft:500", want: "ttft:500"},
		{text: "ttft:500,tpot:50,e2e:2s", want: "ttft:500,tpot:50,e2e:2000"},
		{text: "ttft:500 tpot:50", want: "ttft:500,tpot:50"}, // SGLang's --goodput
		{text: "e2el:1000", want: "e2e:1000"},
		{text: "itl:0.5,ttft_visible:1ms,ttft_scheduled:1", want: "itl:0.5,ttft_visible:1,ttft_scheduled:1"},
		{text: "", err: `no objectives in "": give some, such as ttft:500,tpot:50 (milliseconds)`},
		{text: "latency:5", err: `unknown objective "latency": give NAME:MILLISECONDS; known objectives: ttft, ttft_scheduled, ttft_visible, tpot, itl, e2e, e2e_scheduled`},
		{text: "ttft", err: `objective "ttft": want ttft:MILLISECONDS, such as ttft:500, or a duration such as ttft:1.5s`},
		{text: "ttft:fast", err: `objective "ttft:fast": want ttft:MILLISECONDS, such as ttft:500, or a duration such as ttft:1.5s`},
		{text: "ttft:NaN", err: `objective "ttft:NaN": want ttft:MILLISECONDS, such as ttft:500, or a duration such as ttft:1.5s`},
		{text: "ttft:inf", err: `objective "ttft:inf": want ttft:MILLISECONDS, such as ttft:500, or a duration such as ttft:1.5s`},
		{text: "ttft:0", err: `objective "ttft:0": the limit must be above 0`},
		{text: "ttft:-5", err: `objective "ttft:-5": the limit must be above 0`},
		{text: "ttft:5,ttft:6", err: `objective "ttft" is given twice`},
	}
	for _, tt := range tests {
		got, err := ParseSLO(tt.text)
		if err != nil {
			if err.Error() != tt.err {
				t.Errorf("%q: error %q, want %q", tt.text, err, tt.err)
			}
			continue
		}
		if got.String() != tt.want || tt.err != "" {
			t.Errorf("%q: %q, want %q %s", tt.text, got, tt.want, tt.err)
		}
		if again, err := ParseSLO(got.String()); err != nil || again.String() != got.String() {
			t.Errorf("%q does not read back: %v", got, err)
		}
	}
}

func TestMeets(t *testing.T) {
	two := reply(0, 1, 100, 1, 150, 1)
	hidden := reply(0, 1, 100, 1, 150, 1)
	hidden.Visible = Never // including reasoning
	tests := []struct {
		name string
		slo  string
		r    Record
		want bool
	}{
		{"at the limit", "ttft:100", two, true},
		{"above it", "ttft:99.9", two, false},
		{"all of them", "ttft:100,tpot:50", two, true}, // (150 − 100) / 1; the last byte follows at 151
		{"above one of them", "ttft:100,tpot:49.9", two, false},
		{"longest gap", "itl:50", two, true},
		{"one token has no time between tokens", "tpot:1,itl:1", reply(0, 1, 100, 1), true},
		{"what was never seen is not in time", "ttft_visible:1000", hidden, false},
	}
	for _, tt := range tests {
		slo, err := ParseSLO(tt.slo)
		if err != nil {
			t.Fatal(err)
		}
		if got := slo.Meets(&tt.r); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// TestShort: if too few requests meet their objectives, a line says which requests missed which objective.
func TestShort(t *testing.T) {
	slo, err := ParseSLO("ttft:100,tpot:50")
	if err != nil {
		t.Fatal(err)
	}
	var records []Record
	for i, r := range []Record{
		reply(0, 1, 90, 1, 120, 1), reply(0, 1, 300, 1, 320, 1), reply(0, 1, 400, 1, 520, 1), failed(0, Timeout, "no event"),
		reply(0, 1, 90, 1, 120, 1), reply(0, 1, 101, 1, 120, 1), reply(0, 1, 102, 1, 120, 1), reply(0, 1, 103, 1, 120, 1), reply(0, 1, 104, 1, 120, 1),
	} {
		r.Index = i
		records = append(records, r)
	}
	g := Summarize(records, &Run{Duration: 1e9}, Options{SLO: slo}).Goodput
	want := "22.2 % of 9 requests met ttft:100,tpot:50 ms, below the required 95.0 %: " +
		"ttft over 100 ms in 6 of them (1, 2, 5, 6, 7, …; request 2 worst, 400 ms), tpot over 50.0 ms in 1 of them (2; request 2 worst, 120 ms), 1 failed"
	if got := g.Short(0.95); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for share, short := range map[float64]bool{2. / 9: false, math.Nextafter(2./9, 1): true, 1: true} {
		if got := g.Short(share); (got != "") != short {
			t.Errorf("%v: %q", share, got)
		}
	}
}

// TestMissedAndUnmeasured: a request that certainly missed one limit is judged, even if another latency was not seen.
func TestMissedAndUnmeasured(t *testing.T) {
	ms := int64(1e6)
	late := func(i int) Record { // all tokens in one event after 10 s
		return Record{Index: i, Sent: 0, First: 10_000 * ms, Last: 10_000 * ms, Done: 10_000 * ms, OutputLen: 20, OutputFrom: FromServer, Chunks: []Chunk{{At: 10_000 * ms, Tokens: 20, Text: true}}}
	}
	fine := func(i int) Record {
		r := Record{Index: i, Sent: 0, First: 100 * ms, OutputLen: 20, OutputFrom: FromServer}
		for k := range 20 {
			r.Chunks = append(r.Chunks, Chunk{At: int64(100+10*k) * ms, Tokens: 1, Text: true})
		}
		r.Last, r.Done = 290*ms, 290*ms
		return r
	}
	var records []Record
	for i := range 1000 {
		if i < 8 {
			records = append(records, late(i))
		} else {
			records = append(records, fine(i))
		}
	}
	slo, err := ParseSLO("ttft:500,tpot:15")
	if err != nil {
		t.Fatal(err)
	}
	g := Summarize(records, &Run{Duration: 10_000 * ms}, Options{SLO: slo}).Goodput
	if g == nil || g.Met[1] != 1 || g.Judged != 1000 || g.Good != 992 || g.Unmeasured != 0 || g.Short(1) == "" {
		t.Errorf("%+v", g)
	}
}
