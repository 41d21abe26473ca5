package tables_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
)

// TestBalance: how evenly experts and attention are spread, by time, and whether the same rank is always the slowest.
// Of four ranks, three take 100 µs for the experts of each of three layers, and one, given by the case, takes 200: the
// mean is 125 of 200, and a step loses 3 × 75 µs.
func TestBalance(t *testing.T) {
	const n = 12
	turn := func(step, layer int) int { return (step*step + step/3 + layer*7) % 4 } // no half of the steps predicts the other
	for _, c := range []struct {
		name    string
		slowest func(step, layer int) int
		same    float64 // within 0.2
		says    string
	}{
		{"always the same rank", func(int, int) int { return 1 }, 1, "uneven_experts kind=decode balance=0.625 same=uneven_same_experts"},
		{"another in each layer", func(_, layer int) int { return layer }, 1, "uneven_experts kind=decode balance=0.625 same=uneven_same_experts"},
		{"another in each step", turn, 0, "uneven_experts kind=decode balance=0.625 same=uneven_changing_experts"},
		{"one rank in two steps of three", func(n, _ int) int { return n % 3 % 2 * 3 }, 0.5, "uneven_experts kind=decode balance=0.625 same=uneven_partly"},
	} {
		for _, work := range []string{result.Experts, result.Attention} {
			t.Run(c.name+", "+work, func(t *testing.T) {
				m := explaintest.Even(n)
				m.Name = func(int, int) string { return "step[DECODE bs=16]" }
				of := func(rank, step, layer int) int64 {
					if rank == c.slowest(step, layer) {
						return 200_000
					}
					return 100_000
				}
				if m.Experts = of; work == result.Attention {
					m.Attention, m.Experts = of, explaintest.Even(n).Experts
				}
				r := explaintest.Analyzed(t, m.Traces())
				explaintest.CheckSentences(t, r)
				rows := explaintest.BalanceRows(r, work)
				if len(rows) != 1 {
					t.Fatalf("got balance rows %+v, want one", rows)
				}
				b := rows[0]
				if b.Kind != "decode" || b.Steps != n-1 || math.Abs(b.Ratio-0.625) > 1e-9 || b.Lost != 225_000 || b.Waited != 225_000 || !b.Halves || math.Abs(b.Same-c.same) > 0.2 {
					t.Errorf("got %+v, want decode, ratio 0.625, 225 µs lost and waited, same %.1f ± 0.2", b, c.same)
				}
				if len(b.Layers) != 3 || b.Layers[1].Layer != 1 || b.Layers[1].Lost != 75_000 || c.same == 1 && (b.Layers[2].Slowest != c.slowest(0, 2) || b.Layers[2].Same < 0.99) {
					t.Errorf("got layers %+v, want 3 with 75 µs lost in each", b.Layers)
				}
				text := explaintest.AllFacts(r)
				if work == result.Experts && !strings.Contains(text, c.says) {
					t.Errorf("the report lacks %q:\n%s", c.says, text)
				}
				if work == result.Attention && !strings.Contains(text, "uneven_attention kind=decode balance=0.625") {
					t.Errorf("got no uneven_attention with balance 0.625 in\n%s", text)
				}
				for _, f := range explaintest.Said(r, result.Straggler) {
					if work == result.Experts && (f.Cause != result.CauseWork || f.Reason != result.Experts) {
						t.Errorf("the late rank has another cause or reason than its experts%s", explaintest.Describe(r))
					}
				}
				if explaintest.Has(r, result.Balanced) {
					t.Errorf("got balanced, want uneven work%s", explaintest.Describe(r))
				}
				if other := explaintest.BalanceRows(r, map[string]string{result.Experts: result.Attention, result.Attention: result.Experts}[work]); len(other) != 1 || other[0].Ratio != 1 || other[0].Lost != 0 {
					t.Errorf("got balance of the other work %+v, want ratio 1 and nothing lost", other)
				}
			})
		}
	}
}

// TestBalanceOfLayers: if each rank is the slowest in some layer, sums over a step do not show the waits.
func TestBalanceOfLayers(t *testing.T) {
	m := explaintest.Even(12)
	m.Layers = 4
	m.Experts = func(rank, _, layer int) int64 { return 100_000 + 100_000*int64(explaintest.BoolInt(rank == layer)) }
	r := explaintest.Analyzed(t, m.Traces())
	b := explaintest.BalanceRows(r, result.Experts)[0]
	for _, p := range b.Parts {
		if p.Time != 500_000 || math.Abs(p.Share-0.25) > 1e-9 {
			t.Errorf("got parts %+v, want 500 µs and a quarter on each rank", b.Parts)
		}
	}
	if b.Lost != 300_000 || !explaintest.Has(r, result.UnevenExperts) && !strings.Contains(explaintest.AllFacts(r), "uneven_experts") {
		t.Errorf("got %+v, want 300 µs lost and uneven experts reported%s", b, explaintest.Describe(r))
	}
}

// TestIdleRank: a data-parallel rank without requests has no attention work.
func TestIdleRank(t *testing.T) {
	m := explaintest.Even(12)
	m.Name = func(rank, _ int) string {
		if rank == 0 {
			return "step[IDLE bs=0]"
		}
		return explaintest.DecodeOf(16, 16_000)
	}
	m.Attention = func(rank, _, _ int) int64 { return 300_000 * int64(explaintest.BoolInt(rank != 0)) }
	r := explaintest.Analyzed(t, m.Traces())
	rows := explaintest.BalanceRows(r, result.Attention)
	if len(rows) != 1 || rows[0].Ratio != 0.75 || len(rows[0].Layers) != 3 {
		t.Errorf("got %+v, want one row with ratio 0.75 and 3 layers%s", rows, explaintest.Describe(r))
	}
}
