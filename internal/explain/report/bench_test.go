package report

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/columns"

	"github.com/stepscope/stepscope/bench"
)

// benchLoad is an open loop of n requests: a server that slows down as it fills,
// stands still once, and fails now and then.
func benchLoad(seed uint64, n int, scale float64) ([]bench.Record, *bench.Run) {
	r := rand.New(rand.NewPCG(seed, 1))
	var out []bench.Record
	var ends []int64
	at := 0.0
	for i := range n {
		at += r.ExpFloat64() * 1e9 / 25
		scheduled := int64(at)
		sent := scheduled + 40_000 + r.Int64N(60_000)
		busy := 0.0
		for _, e := range ends {
			if e > sent {
				busy++
			}
		}
		x := bench.Record{
			ID: "r", Index: i, Scheduled: scheduled, Released: scheduled, Connected: sent - 20_000, Sent: sent, Headers: sent + 900_000,
			FirstAny: bench.Never, First: bench.Never, Visible: bench.Never, Last: bench.Never, Done: sent + 1_200_000,
			PromptLen: 256, TextLen: 256, AskedLen: 64, Retokenized: -1, CachedTokens: 64, Status: 200, DPRank: -1, OutputFrom: bench.FromServer,
		}
		switch {
		case r.IntN(60) == 0:
			x.Status, x.Failure, x.Error = 500, "http_500", "Internal Server Error: out of memory: 12 pages wanted, 3 free"
			out = append(out, x)
			continue
		case r.IntN(90) == 0:
			x.Done, x.Failure, x.Error = sent+1_000_000_000, bench.Timeout, "no event within 1 s"
			out = append(out, x)
			continue
		}
		now := sent + int64((60e6+4e6*busy+20e6*r.ExpFloat64())*scale)
		for range 20 + r.IntN(45) {
			if now > 6_000_000_000 && now < 6_400_000_000 {
				now += 400_000_000 // it stands still
			}
			x.Chunks = append(x.Chunks, bench.Chunk{At: now, Tokens: 1, Text: true})
			x.OutputLen++
			if x.First == bench.Never {
				x.FirstAny, x.First, x.Visible = now, now, now
			}
			x.Last = now
			now += int64((9e6 + 0.35e6*busy + 3e6*r.Float64()) * scale)
		}
		x.Done = x.Last + 300_000
		ends = append(ends, x.Done)
		out = append(out, x)
	}
	end := int64(0)
	for i := range out {
		end = max(end, out[i].Done)
	}
	return out, &bench.Run{
		Tool: "bench serving", Backend: "sglang", Model: "llama-tiny", URL: "http://127.0.0.1:30000", Dataset: "random", Rate: 25, Duration: end,
		Stamps: bench.KernelStamps, Profiled: []bench.Span{{From: 4_000_000_000, To: 4_800_000_000}},
		Health: bench.Health{Verdict: "clean", Evidence: []string{"99 % were sent within 0.1 ms"}},
	}
}

func benchSample() *Bench {
	records, run := benchLoad(1, 300, 1)
	slo, _ := bench.ParseSLO("ttft:200,tpot:20,e2e:2000")
	b := &Bench{Run: run, Records: records, Summary: bench.Summarize(records, run, bench.Options{SLO: slo})}
	runs := []*bench.Summary{b.Summary}
	for seed := range uint64(2) {
		more, run := benchLoad(seed+2, 300, 1)
		runs = append(runs, bench.Summarize(more, run, bench.Options{SLO: slo}))
	}
	b.Repeats = bench.Repeated(runs)
	return b
}

// benchEmbedding has no generation.
func benchEmbedding() *Bench {
	records, run := benchLoad(1, 40, 1)
	run.Backend, run.Rate, run.Traced, run.MaxConcurrency, run.Health.Verdict = "sglang-embedding", 0, true, 8, "suspect"
	for i := range records {
		r := &records[i]
		r.FirstAny, r.First, r.Visible, r.Last, r.Chunks, r.OutputLen, r.CachedTokens = bench.Never, bench.Never, bench.Never, bench.Never, nil, 0, -1
	}
	return &Bench{Run: run, Records: records, Summary: bench.Summarize(records, run, bench.Options{})}
}

// benchAtOnce sends all requests at the start.
func benchAtOnce() *Bench {
	b := benchSample()
	for i := range b.Records {
		b.Records[i].Scheduled, b.Records[i].Released, b.Records[i].Sent = 0, 0, 0
	}
	return b
}

// benchCached has images, a cache report, speculation, and guessed lengths.
func benchCached() *Bench {
	records, run := benchLoad(1, 40, 1)
	run.Dataset, run.Backend, run.Rate, run.Health = "image", "sglang-oai-chat", 0, bench.Health{}
	run.ServerInfo = map[string]any{"internal_states": []any{map[string]any{"avg_spec_accept_length": 2.31}}}
	for i := range records {
		r := &records[i]
		r.TextLen, r.VisionLen, r.OutputFrom, r.Retokenized = 56, 200, bench.FromRequest, r.OutputLen
		r.CachedDetails = map[string]any{"device": 32.0, "host": 16.0, "storage": 16.0, "storage_backend": "file"}
		for k := range r.Chunks {
			r.Chunks[k].Tokens, r.Chunks[k].Merged = -1, k%5 == 4
		}
		if len(r.Chunks) > 0 {
			r.Visible = r.Chunks[len(r.Chunks)/2].At
		}
	}
	return &Bench{Run: run, Records: records, Summary: bench.Summarize(records, run, bench.Options{}), Cache: true}
}

// benchProfiled has a window so long that little is left without it.
func benchProfiled() *Bench {
	records, run := benchLoad(1, 40, 1)
	run.Profiled = []bench.Span{{From: 300_000_000, To: 2_700_000_000}}
	return &Bench{Run: run, Records: records, Summary: bench.Summarize(records, run, bench.Options{})}
}

// benchNothing is a server that was not there.
func benchNothing() *Bench {
	records, run := benchLoad(1, 5, 1)
	for i := range records {
		r := &records[i]
		*r = bench.Record{
			Scheduled: r.Scheduled, Released: r.Released, Connected: bench.Never, Sent: bench.Never, Headers: bench.Never, FirstAny: bench.Never,
			First: bench.Never, Visible: bench.Never, Last: bench.Never, Done: r.Released + 1000, Failure: bench.Refused,
			Error: "connect 127.0.0.1:30000: connection refused",
		}
	}
	return &Bench{Run: run, Records: records, Summary: bench.Summarize(records, run, bench.Options{})}
}

func benchSamples() map[string]*Bench {
	return map[string]*Bench{"bench": benchSample(), "bench-embedding": benchEmbedding(), "bench-cached": benchCached(), "bench-nothing": benchNothing(), "bench-profiled": benchProfiled()}
}

func TestBenchGolden(t *testing.T) {
	for name, b := range benchSamples() {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := BenchText(&out, b, Options{}); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", out.Bytes())
		})
	}
	var out bytes.Buffer
	if err := BenchJSON(&out, benchSample()); err != nil {
		t.Fatal(err)
	}
	golden(t, "bench.json", out.Bytes())
}

// The table is SGLang's: its own print statements made the recorded one
// (scripts/fixtures/bench.py).
func TestBenchTableIsSGLang(t *testing.T) {
	text, err := os.ReadFile("../../../bench/testdata/sglang.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Name, Table string
			Run         bench.Run
			Records     []bench.Record
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		if strings.Contains(c.Name, "empty") {
			continue // failures to us
		}
		t.Run(c.Name, func(t *testing.T) {
			var out strings.Builder
			cache := strings.Contains(c.Table, "Cache Hit Details")
			benchTable(&out, &Bench{Run: &c.Run, Summary: bench.Summarize(c.Records, &c.Run, bench.Options{}), Cache: cache})
			// These rows differ if events have several tokens: SGLang's client ignores their number.
			own := regexp.MustCompile(`(?m)^(Peak output token throughput|.* TPOT) .*\n`)
			if got, want := own.ReplaceAllString(out.String(), ""), own.ReplaceAllString(c.Table, ""); got != want {
				t.Errorf("got\n%s\nSGLang prints\n%s", got, want)
			}
		})
	}
}

func TestBenchWidth(t *testing.T) {
	for name, b := range benchSamples() {
		for _, width := range []int{60, 80, 100, 200} {
			var out strings.Builder
			if err := BenchText(&out, b, Options{Width: width, Color: true}); err != nil {
				t.Fatal(err)
			}
			_, beyond, _ := strings.Cut(out.String(), strings.Repeat("=", 50)+"\n")
			for i, line := range strings.Split(beyond, "\n") {
				if w := columns.Width(line); w > width {
					t.Errorf("%s at %d columns: line %d is %d wide: %q", name, width, i+1, w, line)
				}
			}
		}
	}
}
