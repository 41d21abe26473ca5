package onebatch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/jsontest"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/measure/batch"
	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/sched"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/reference/onebatch"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

func args(tp int) launch.ModelArgs {
	return launch.ModelArgs{
		ModelPath: "builtin:llama-tiny", SkipTokenizer: true, LoadFormat: "auto", Overrides: "{}", DType: "auto", TP: tp, DP: 1, PP: 1, EP: 1,
		MaxRunningRequests: 8, MaxQueuedRequests: 64, ChunkedPrefill: 2048, MaxPrefillTokens: 16384, Conservativeness: 1, LoadBalance: "round_robin",
		MaxTotalTokens: 4096,
	}
}

// bench makes a Bench on real ranks that prints to out.
func bench(t *testing.T, tp int) (b *onebatch.Bench, out *bytes.Buffer) {
	t.Helper()
	m, err := launch.Open(args(tp), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ranks, err := m.Ranks(4, 1024)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ranks.Close(); err != nil {
			t.Error(err)
		}
	})
	out = &bytes.Buffer{}
	return &onebatch.Bench{Ranks: ranks, Vocab: m.Vocab, Seed: 7, Out: out, Warn: func(f string, a ...any) { fmt.Fprintf(out, "warning: "+f+"\n", a...) }}, out
}

// TestTokens compares the tokens of a batch with those that the engine generates for each of its prompts: with a
// scheduler, a prefix cache, and in chunks.
func TestTokens(t *testing.T) {
	for _, tp := range []int{1, 2} {
		t.Run(fmt.Sprintf("TP%d", tp), func(t *testing.T) {
			b, _ := bench(t, tp)
			c := batch.Case{Batch: 3, Input: 150, Output: 20}
			prompts := b.Random(c)
			r, err := b.Run(t.Context(), "", c, prompts)
			if err != nil {
				t.Fatal(err)
			}
			e, err := launch.Load(t.Context(), args(tp), launch.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			for i, p := range prompts {
				events, err := e.Submit(t.Context(), &api.Request{
					Input: p, DPRank: -1, LogprobStart: -1, Params: api.Sampling{MaxNewTokens: c.Output, TopP: 1, RepetitionPenalty: 1, IgnoreEOS: true},
				})
				if err != nil {
					t.Fatal(err)
				}
				var want []int32
				for ev := range events {
					want = append(want, ev.Token)
				}
				if !slices.Equal(r.Tokens[i], want) {
					t.Errorf("sequence %d: %v, the engine has %v", i, r.Tokens[i], want)
				}
			}
		})
	}
}

// TestSkip checks skipped batches: 4096 positions are 64 blocks.
func TestSkip(t *testing.T) {
	room := onebatch.Room{Capacity: 4096, ContextLen: 2048}
	for _, c := range []struct {
		batch.Case
		want string // a part of the reason
	}{
		{batch.Case{Batch: 4, Input: 1000, Output: 24}, ""},
		{batch.Case{Batch: 5, Input: 1000, Output: 24}, "skipping (5, 1000, 24) due to max batch size limit"},
		{batch.Case{Batch: 2, Input: 2000, Output: 48}, ""},
		{batch.Case{Batch: 1, Input: 2000, Output: 49}, "due to the context length: 2049 tokens exceed 2048"},
		{batch.Case{Batch: 64, Input: 1, Output: 1}, ""},
		{batch.Case{Batch: 65, Input: 1, Output: 1}, "whole blocks of 64 tokens"},
		// The last token is never computed, so 65 tokens are in one block.
		{batch.Case{Batch: 63, Input: 1, Output: 64}, ""},
		{batch.Case{Batch: 33, Input: 60, Output: 6}, "whole blocks of 64 tokens"},
	} {
		got := room.Skip(c.Case)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.Case, got, c.want)
		}
	}
}

var (
	numbers = regexp.MustCompile(`\d+\.\d+`)
	spaces  = regexp.MustCompile(` +`)
)

// masked returns text without the parts that differ from run to run.
func masked(s string) string {
	return spaces.ReplaceAllString(numbers.ReplaceAllString(s, "N"), " ")
}

const lines = `Prefill. latency: N s, throughput: N token/s
Decode 0. Batch size: 2, latency: N s, throughput: N token/s
Decode 1. Batch size: 2, latency: N s, throughput: N token/s
Decode 2. Batch size: 2, latency: N s, throughput: N token/s
Decode 3. Batch size: 2, latency: N s, throughput: N token/s
Decode 4. Batch size: 2, latency: N s, throughput: N token/s
Decode 6. Batch size: 2, latency: N s, throughput: N token/s
Decode 9. Batch size: 2, latency: N s, throughput: N token/s
Decode. median latency: N s, median throughput: N token/s
Total. latency: N s, throughput: N token/s
`

// TestLines checks that output and files match those of SGLang's tool.
func TestLines(t *testing.T) {
	b, out := bench(t, 1)
	b.LogDecodeStep = 3
	r, err := b.Run(t.Context(), "x", batch.Case{Batch: 2, Input: 16, Output: 12}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := masked(out.String()); got != lines {
		t.Errorf("printed\n%s\nwant\n%s", got, lines)
	}
	if got, err := jsontest.Keys(r); err != nil || got != "run_name batch_size input_len output_len prefill_latency prefill_throughput median_decode_latency median_decode_throughput total_latency overall_throughput" {
		t.Errorf("keys %s, %v", got, err)
	}
	if got, want := r.OverallThroughput*r.TotalLatency, float64(2*(16+12)); got < want-0.01 || got > want+0.01 {
		t.Errorf("total throughput × latency is %v tokens, want %v", got, want)
	}
	if got := r.PrefillThroughput * r.PrefillLatency; got < 31.99 || got > 32.01 {
		t.Errorf("prefill throughput × latency is %v tokens, want 32", got)
	}
	if got := *r.MedianDecodeThroughput * *r.MedianDecodeLatency; got < 1.99 || got > 2.01 {
		t.Errorf("decode throughput × latency is %v tokens, want 2", got)
	}
	if r, err = b.Run(t.Context(), "x", batch.Case{Batch: 1, Input: 16, Output: 1}, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := jsontest.Keys(r); err != nil || got != "run_name batch_size input_len output_len prefill_latency prefill_throughput total_latency overall_throughput" {
		t.Errorf("keys %s, %v", got, err)
	}
}

// TestTraces checks that each stage has a file with the requested steps, of rank 0 only.
func TestTraces(t *testing.T) {
	for _, c := range []struct {
		name    string
		profile onebatch.Profile
		output  int
		prefill int // steps in its trace
		decode  int
		warns   bool
	}{
		{"defaults", onebatch.Profile{Stage: "all", Start: -1, Steps: 1}, 8, 1, 1, false},
		{"steps", onebatch.Profile{Stage: "all", Start: 2, Steps: 3}, 8, 1, 3, false},
		{"prefill alone", onebatch.Profile{Stage: api.Prefill, Start: -1, Steps: 1}, 8, 1, 0, false},
		{"decode alone", onebatch.Profile{Stage: api.Decode, Start: 0, Steps: 7}, 8, 0, 7, false},
		{"the only decode step", onebatch.Profile{Stage: api.Decode, Start: -1, Steps: 1}, 2, 0, 1, false},
		{"beyond the end", onebatch.Profile{Stage: api.Decode, Start: 5, Steps: 4}, 8, 0, 2, true},
		{"after the end", onebatch.Profile{Stage: api.Decode, Start: 9, Steps: 1}, 8, 0, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, out := bench(t, 2)
			p := c.profile
			p.Dir, p.Prefix, p.CPU, p.GPU, p.Shapes = t.TempDir(), "mine", true, true, true
			b.Profile = &p
			bc := batch.Case{Batch: 2, Input: 20, Output: c.output}
			if _, err := b.Run(t.Context(), "x", bc, nil); err != nil {
				t.Fatal(err)
			}
			if warned := strings.Contains(out.String(), "warning: "); warned != c.warns {
				t.Errorf("warned: %v\n%s", warned, out)
			}
			var want []string
			for stage, steps := range map[string]int{api.Prefill: c.prefill, api.Decode: c.decode} {
				if steps == 0 {
					continue
				}
				path := filepath.Join(p.Dir, fmt.Sprintf("mine_batch2_input20_output%d_%s.trace.json.gz", c.output, stage))
				want = append(want, path)
				steady(t, path, stage, steps)
				if line := fmt.Sprintf("torch profiler chrome trace for %s saved to %s\n", stage, path); !strings.Contains(out.String(), line) {
					t.Errorf("%q is not printed", line)
				}
			}
			slices.Sort(want)
			if got, _ := filepath.Glob(filepath.Join(p.Dir, "*")); !slices.Equal(got, want) {
				t.Errorf("files %q, want %q", got, want)
			}
		})
	}
}

// steady checks the steps of a trace.
func steady(t *testing.T, path, stage string, steps int) {
	t.Helper()
	traces, err := read.ReadFile(t.Context(), set.File{Path: path}, read.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(traces) != 1 || traces[0].Source.World != (trace.World{Known: true, Rank: 0, Size: 2}) {
		t.Fatalf("%s: %d traces, of %+v", path, len(traces), traces[0].Source.World)
	}
	name := map[string]string{api.Prefill: "step[EXTEND bs=2 toks=40]", api.Decode: "step[DECODE bs=2]"}[stage]
	passes, _ := trace.Passes(traces[0])
	for _, p := range passes {
		if got := traces[0].Strings.Get(p.Name); got != name {
			t.Errorf("%s has a step %s", path, got)
		}
	}
	if len(passes) != steps {
		t.Errorf("%s: %d steps, want %d", path, len(passes), steps)
	}
}

// spoiled are ranks whose steps go wrong in one way.
type spoiled struct {
	whole onebatch.Ranks
	spoil func(s sched.Step, rows [][]float32)
}

func (s spoiled) Ranks() []engine.Rank { return s.whole.Ranks() }

func (s spoiled) Forward(st sched.Step) ([][]float32, error) {
	rows, err := s.whole.Forward(st)
	s.spoil(st, rows)
	return rows, err
}

// TestInterrupt checks that finished measurements are printed, and that an unfinished stage leaves no trace.
func TestInterrupt(t *testing.T) {
	b, out := bench(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	decodes := 0
	b.Ranks = spoiled{b.Ranks, func(s sched.Step, _ [][]float32) {
		if s.Batch.Mode == model.Decode {
			if decodes++; decodes == 3 {
				cancel()
			}
		}
	}}
	p := &onebatch.Profile{Dir: t.TempDir(), Prefix: "p", Stage: api.Decode, Start: 1, Steps: 5, CPU: true}
	b.Profile = p
	_, err := b.Run(ctx, "x", batch.Case{Batch: 1, Input: 8, Output: 9}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if got := masked(out.String()); !strings.HasSuffix(got, "Decode. median latency: N s, median throughput: N token/s\nInterrupted after 3 of 8 decode steps\n") {
		t.Errorf("printed\n%s", got)
	}
	if files, _ := filepath.Glob(filepath.Join(p.Dir, "*")); len(files) > 0 {
		t.Errorf("files %q", files)
	}
}
