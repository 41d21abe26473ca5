package judge_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
)

// TestEvenIsSilent: differences of a few percent between ranks are not a finding, nor is a rank with a slow device, nor
// are ranks without expert coordinates.
func TestEvenIsSilent(t *testing.T) {
	silent := func(t *testing.T, r *result.Report) {
		t.Helper()
		if text := explaintest.AllFacts(r); strings.Contains(text, "uneven_") {
			t.Errorf("got uneven work, want none:\n%s", text)
		}
	}
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("healthy ", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			m := explaintest.Even(14)
			some := func(ns float64) int64 { return int64(ns * (1 + 0.03*rng.NormFloat64())) }
			m.Experts = func(int, int, int) int64 { return some(100_000) }
			m.Attention = func(int, int, int) int64 { return some(60_000) }
			r := explaintest.Analyzed(t, m.Traces())
			silent(t, r)
			if b := explaintest.BalanceRows(r, result.Experts)[0]; b.Same > 0.5 {
				t.Errorf("got %+v, want same of at most 0.5", b)
			}
			if len(explaintest.Said(r, result.Straggler)) > 0 {
				t.Errorf("got a late rank, want none%s", explaintest.Describe(r))
			}
		})
	}
	t.Run("a slow device", func(t *testing.T) {
		m := explaintest.Even(14)
		slow := func(rank int, ns int64) int64 { return ns + ns*int64(explaintest.BoolInt(rank == 3)) }
		m.Experts = func(rank, _, _ int) int64 { return slow(rank, 100_000) }
		m.Attention = func(rank, _, _ int) int64 { return slow(rank, 60_000) }
		m.Dense = func(rank, _ int) int64 { return slow(rank, 40_000) }
		r := explaintest.Analyzed(t, m.Traces())
		silent(t, r)
		if got := fmt.Sprint(explaintest.Stragglers(r)); got != "[rank 3 device 0-13]" {
			t.Errorf("got %s, want rank 3 late by its device in steps 0-13%s", got, explaintest.Describe(r))
		}
	})
	t.Run("no coordinates", func(t *testing.T) {
		m := explaintest.Even(14)
		m.Experts = func(rank, _, _ int) int64 { return 100_000 + 100_000*int64(explaintest.BoolInt(rank == 3)) }
		ts := m.Traces()
		for _, tr := range ts {
			tr.Source.Rank.DP, tr.Source.Rank.EP = -1, -1
		}
		if r := explaintest.Analyzed(t, ts); len(r.Balance) > 0 {
			t.Errorf("got balance %+v, want none without expert coordinates", r.Balance)
		}
	})
}

// TestUntoldIsNotBalanced: software devices may be slow in turns, so waits of 225 µs per step for changing ranks are no
// finding; but the capture is not called balanced either.
func TestUntoldIsNotBalanced(t *testing.T) {
	m := explaintest.Even(12)
	m.Soft = true
	m.Experts = func(rank, step, layer int) int64 {
		return 100_000 + 100_000*int64(explaintest.BoolInt(rank == (step*step+layer)%4))
	}
	r := explaintest.Analyzed(t, m.Traces())
	if b := explaintest.BalanceRows(r, result.Experts)[0]; b.Waited != 225_000 || explaintest.Has(r, result.UnevenExperts) || len(explaintest.Stragglers(r)) > 0 {
		t.Fatalf("got %+v, want 225 µs waited and no findings%s", b, explaintest.Describe(r))
	}
	if explaintest.Has(r, result.Balanced) {
		t.Errorf("got balanced, want no statement%s", explaintest.Describe(r))
	}
}

// TestUnfeltImbalance: attention is uneven, but another rank is later still, so no rank waits for the one
// with the most attention.
func TestUnfeltImbalance(t *testing.T) {
	m := explaintest.Even(12)
	m.Name = func(int, int) string { return "step[DECODE bs=16]" }
	m.Attention = func(rank, _, _ int) int64 { return 60_000 + 100_000*int64(explaintest.BoolInt(rank == 1)) }
	m.Grid = func(rank int) int32 { return 64 + 64*int32(explaintest.BoolInt(rank == 0)) }
	m.Dense = func(rank, _ int) int64 { return 40_000 + 400_000*int64(explaintest.BoolInt(rank == 0)) }
	r := explaintest.Analyzed(t, m.Traces())
	if b := explaintest.BalanceRows(r, result.Attention)[0]; b.Lost != 225_000 || b.Waited != 0 {
		t.Errorf("got %+v, want 225 µs lost and nothing waited", b)
	}
	if text := explaintest.AllFacts(r); strings.Contains(text, "uneven_attention") {
		t.Errorf("got uneven attention, want none:\n%s", text)
	}
}
