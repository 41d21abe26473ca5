package judge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
)

// TestContexts: the time of attention grows with contexts. Where the names of steps give these, the explained part is
// work, and only the rest is the device's. Rank 2 is the odd one.
func TestContexts(t *testing.T) {
	only := func(rank int, is, else_ int64) int64 {
		if rank == 2 {
			return is
		}
		return else_
	}
	// told gives rank 2's requests the stated number of tokens to attend to, the others' 16,000.
	told := func(tokens int) func(int, int) string {
		return func(rank, _ int) string { return explaintest.DecodeOf(16, int(only(rank, int64(tokens), 16_000))) }
	}
	vllm := func(rank, _ int) string {
		k := only(rank, 64_000, 16_000)
		return fmt.Sprintf("execute_16_context_0(sq0sk0sqsq0sqsk0)_generation_16(sq16sk%dsqsq16sqsk%[1]d)", k)
	}
	for _, c := range []struct {
		name      string
		step      func(rank, step int) string
		attention int64 // of rank 2, ns; 60,000 elsewhere
		dense     int64 // of rank 2, ns; 40,000 elsewhere
		grid      int32 // of the dense product on rank 2; 64 elsewhere
		want      []string
		reason    string
		says      string
	}{
		{"four times the contexts, and a product that takes 4 % longer", told(64_000), 180_000, 41_600, 64,
			[]string{"rank 2 work 0-13"}, "contexts", "TP02-DP02-EP02 is late from step 0 on: its requests have longer contexts: 64,000 tokens in all, on the other ranks 16,000"},
		{"as vLLM names steps", vllm, 180_000, 41_600, 64, []string{"rank 2 work 0-13"}, "contexts", "its requests have longer contexts: 64,000 tokens in all, on the other ranks 16,000"},
		{"four times the contexts, otherwise equal", told(64_000), 180_000, 40_000, 64, []string{"rank 2 work 0-13"}, "contexts", "longer contexts: 64,000"},
		// Sums do not show how uneven contexts are.
		{"contexts equal to the other ranks", told(16_000), 180_000, 40_000, 64,
			[]string{"rank 2 work 0-13"}, "", "more than the length of its contexts explains (16,000 tokens, others 16,000)"},
		{"a tenth more, which explains a tenth", told(17_600), 180_000, 40_000, 64,
			[]string{"rank 2 work 0-13"}, "", "more than the length of its contexts explains (17,600 tokens, others 16,000)"},
		{"twice the contexts, on a device that takes half as long again", told(32_000), 180_000, 60_000, 64,
			[]string{"rank 2 device 0-13", "rank 2 work 0-13"}, "contexts", ""},
		{"a device that takes half as long again", told(16_000), 90_000, 60_000, 64,
			[]string{"rank 2 device 0-13"}, "", "although its requests attend to no more tokens (16,000, others 16,000)"},
		{"unknown contexts", func(int, int) string { return "step[DECODE bs=16]" }, 180_000, 40_000, 64,
			[]string{"rank 2 work 0-13"}, "", "the same number of blocks per launch: its requests have longer contexts"},
		{"four times the requests", func(rank, _ int) string { return fmt.Sprintf("step[DECODE bs=%d]", only(rank, 64, 16)) }, 100_000, 100_000, 256,
			[]string{"rank 2 work 0-13"}, "requests", "its steps have 64 requests, those of the other ranks 16; the others wait"},
		{"a few more requests, which explain little", func(rank, _ int) string { return fmt.Sprintf("step[DECODE bs=%d]", only(rank, 17, 16)) }, 60_000, 100_000, 256,
			[]string{"rank 2 work 0-13"}, "", "it does extra work"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := explaintest.Even(14)
			m.Name = c.step
			m.Attention = func(rank, _, _ int) int64 { return only(rank, c.attention, 60_000) }
			m.Dense = func(rank, _ int) int64 { return only(rank, c.dense, 40_000) }
			m.Grid = func(rank int) int32 { return int32(only(rank, int64(c.grid), 64)) }
			r := explaintest.Analyzed(t, m.Traces())
			explaintest.CheckSentences(t, r)
			got := explaintest.Stragglers(r)
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q%s", got, c.want, explaintest.Describe(r))
			}
			for _, f := range explaintest.Said(r, result.Straggler) {
				if want := c.reason; f.Cause == result.CauseWork && f.Reason != want {
					t.Errorf("got reason %q, want %q%s", f.Reason, want, explaintest.Describe(r))
				}
			}
			if text := explaintest.AllWords(r); !strings.Contains(text, c.says) {
				t.Errorf("the report lacks %q:\n%s", c.says, text)
			}
		})
	}
}

// TestGridsInEvidence: evidence gives both numbers of blocks if a rank computes with more blocks.
func TestGridsInEvidence(t *testing.T) {
	m := explaintest.Even(10)
	m.Grid = func(rank int) int32 { return map[int]int32{0: 49_152}[rank] + 6_144*int32(min(rank, 1)) }
	m.Dense = func(rank, _ int) int64 { return map[int]int64{0: 200_000}[rank] + 40_000 }
	r := explaintest.Analyzed(t, m.Traces())
	if text := explaintest.AllWords(r); !strings.Contains(text, "49,152 blocks per launch, others 6,144") {
		t.Errorf("got %q, want the number of blocks of both sides%s", text, explaintest.Describe(r))
	}
}

// TestLongerContextsAreNotSlow: a step that is long only because of its requests' contexts is not slow.
func TestLongerContextsAreNotSlow(t *testing.T) {
	for _, c := range []struct {
		name   string
		tokens func(step int) int
		want   string
	}{
		{"one step", func(n int) int {
			if n == 8 {
				return 320_000
			}
			return 16_000
		}, result.SlowStep},
		{"from a step on", func(n int) int { return 16_000 + n/8*160_000 }, result.SlowSince},
	} {
		for _, told := range []bool{true, false} {
			m := explaintest.Even(16)
			m.Attention = func(_, n, _ int) int64 { return int64(c.tokens(n)) * 3 }
			if m.Name = func(_, n int) string { return explaintest.DecodeOf(16, c.tokens(n)) }; !told {
				m.Name = func(int, int) string { return explaintest.DecodeOf(16, 16_000) }
			}
			r := explaintest.Analyzed(t, m.Traces())
			if explaintest.Has(r, c.want) == told {
				t.Errorf("%s, contexts in step names %v: got finding %s %v, want %v%s", c.name, told, c.want, told, !told, explaintest.Describe(r))
			}
			for _, f := range r.Findings {
				if f.Kind == result.Straggler {
					t.Errorf("%s: got late rank %q, want none", c.name, report.Words(f.Title))
				}
			}
		}
	}
}

// TestExpertsOnASlowerDevice: the times of other kernels show whether slower experts are due to the device or to their
// work. Rank 1 is the odd one.
func TestExpertsOnASlowerDevice(t *testing.T) {
	for _, c := range []struct {
		experts, dense int64 // of rank 1, ns; 100,000 and 40,000 elsewhere
		want           string
	}{
		{300_000, 40_000, "[rank 1 work 0-13]"},
		{300_000, 44_000, "[rank 1 work 0-13 rank 1 device 0-13]"}, // a tenth of all it takes,
		{150_000, 60_000, "[rank 1 device 0-13]"},
		{200_000, 60_000, "[rank 1 device 0-13]"},
	} {
		m := explaintest.Even(14)
		m.Attention = func(int, int, int) int64 { return 0 }
		m.Experts = func(rank, _, _ int) int64 { return 100_000 + (c.experts-100_000)*int64(explaintest.BoolInt(rank == 1)) }
		m.Dense = func(rank, _ int) int64 { return 40_000 + (c.dense-40_000)*int64(explaintest.BoolInt(rank == 1)) }
		r := explaintest.Analyzed(t, m.Traces())
		if got := fmt.Sprint(explaintest.Stragglers(r)); got != c.want {
			t.Errorf("%+v: got %s, want %s%s", c, got, c.want, explaintest.Describe(r))
		}
	}
}
