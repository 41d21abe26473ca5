package batch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/tokenizer"
	"github.com/stepscope/stepscope/internal/measure/batch"
	"github.com/stepscope/stepscope/internal/measure/workload"
)

// TestPrompts: each kind has the lengths that were asked for, and the same prompts
// each time.
func TestPrompts(t *testing.T) {
	tok, err := tokenizer.ByteLevel(512)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "p.txt")
	if err := os.WriteFile(file, []byte("Why is the sky blue?"), 0o600); err != nil {
		t.Fatal(err)
	}
	fixed := tok.Encode("Why is the sky blue?", true)
	c := batch.Case{Batch: 4, Input: 100, Output: 8}
	for _, k := range []struct {
		name    string
		data    batch.Data
		want    batch.Case
		lengths []int
	}{
		{"random", batch.Data{Dataset: "random"}, c, []int{100, 100, 100, 100}},
		{"random-ids", batch.Data{Dataset: "random-ids"}, c, []int{100, 100, 100, 100}},
		// 100 × (1 + (i − 1.5) × 0.2)
		{"steps", batch.Data{Dataset: "random", Step: 0.2}, c, []int{70, 90, 110, 130}},
		{"a list", batch.Data{Dataset: "random-ids", Lens: []int{30, 250, 7}}, batch.Case{Batch: 4, Input: 79, Output: 8}, []int{30, 250, 7, 30}},
		{"a file", batch.Data{Dataset: "random", File: file}, batch.Case{Batch: 4, Input: len(fixed), Output: 8}, slices.Repeat([]int{len(fixed)}, 4)},
	} {
		t.Run(k.name, func(t *testing.T) {
			d := k.data
			d.Tok, d.Seed = workload.NewLocal(tok, "test"), 42
			if err := d.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			p, err := d.Prompts(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			var lengths []int
			sum := 0
			for _, ids := range p.IDs {
				lengths = append(lengths, len(ids))
				sum += len(ids)
			}
			if p.Case != k.want || !slices.Equal(lengths, k.lengths) || p.Tokens != sum {
				t.Errorf("%+v with lengths %v, %d tokens; want %+v with %v", p.Case, lengths, p.Tokens, k.want, k.lengths)
			}
			if k.data.File != "" && !slices.Equal(p.IDs[3], fixed) {
				t.Errorf("prompt %v, want %v", p.IDs[3], fixed)
			}
			if again, err := d.Prompts(t.Context(), c); err != nil || fmt.Sprint(again.IDs) != fmt.Sprint(p.IDs) {
				t.Errorf("other prompts the second time, error %v", err)
			}
		})
	}

	// Two groups of two share all but their questions.
	d := batch.Data{Dataset: "generated-shared-prefix", Groups: 2, SystemLen: 60, QuestionLen: 10, OutputLen: 5, Tok: workload.NewLocal(tok, "test")}
	p, err := d.Prompts(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	common := func(a, b []int32) int {
		n := 0
		for n < min(len(a), len(b)) && a[n] == b[n] {
			n++
		}
		return n
	}
	shared := 0
	for i := range p.IDs {
		for j := range i {
			if common(p.IDs[i], p.IDs[j]) > 40 {
				shared++
			}
		}
	}
	if shared != 2 || p.Output != 5 || p.Input < 70 || p.Input > 140 { // random text seldom encodes to the ids that it was made of
		t.Errorf("%d pairs share a prefix, %+v", shared, p.Case)
	}

	d = batch.Data{Dataset: "random", LoRANames: []string{"a", "b"}, LoRADistribution: "distinct", LoRAAlpha: 1.1, Tok: workload.NewLocal(tok, "test")}
	if p, err = d.Prompts(t.Context(), c); err != nil || strings.Join(p.LoRA, "") != "abab" {
		t.Errorf("adapters %v, error %v", p.LoRA, err)
	}
	for _, bad := range []struct {
		data batch.Data
		want string
	}{
		{batch.Data{Dataset: "random", Tok: workload.Estimate{}}, "--local-tokenizer-path"},
		{batch.Data{Dataset: "random", File: file + "x", Tok: d.Tok}, "--fixed-prompt-file"},
		{batch.Data{Dataset: "mmmu", Tok: d.Tok}, "MMMU"},
	} {
		err := bad.data.Open(t.Context())
		if err == nil {
			_, err = bad.data.Prompts(t.Context(), c)
		}
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%+v: error %v, want %q", bad.data, err, bad.want)
		}
	}
}
