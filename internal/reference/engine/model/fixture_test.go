package model

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/device/comm"
	"github.com/stepscope/stepscope/internal/reference/engine/hf"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// fixtures are the models that scripts/fixtures/model.py makes.
var fixtures = []string{"llama", "qwen2", "qwen3", "qwen3moe"}

// tolerance is the allowed difference of logits from the reference, whose own sums are float32.
const tolerance = 1e-4

// fixture is a tiny model with the answers of Hugging Face transformers.
type fixture struct {
	cfg     *Config
	src     hf.Source
	Prompts [][]int32
	Tokens  [][]int32 // greedy
	All     int       // the prompts of all

	all, last, end [][]float32
}

func loadFixture(t *testing.T, name string) *fixture {
	t.Helper()
	dir := filepath.Join("testdata", name)
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	f := &fixture{}
	data, err := os.ReadFile(filepath.Join(dir, "reference.json"))
	must(err)
	must(json.Unmarshal(data, f))
	f.cfg, err = LoadConfig(dir, nil)
	must(err)
	ck, err := hf.OpenCheckpoint(dir, hf.ModelWeights)
	must(err)
	t.Cleanup(func() { ck.Close() })
	must(f.cfg.CheckSource(ck))
	f.src = ck
	ref, err := hf.OpenFile(filepath.Join(dir, "reference.safetensors"))
	must(err)
	defer ref.Close()
	for tensorName, dst := range map[string]*[][]float32{"all": &f.all, "last": &f.last, "end": &f.end} {
		shape, _ := ref.Shape(tensorName)
		for i := range shape[0] {
			row := make([]float32, shape[1])
			must(ref.Read(tensorName, i*shape[1], row))
			*dst = append(*dst, row)
		}
	}
	return f
}

// layout is the division of a job over ranks.
type layout struct{ tp, pp, ep int }

func (l layout) String() string { return fmt.Sprintf("tp%d_pp%d_ep%d", l.tp, l.pp, l.ep) }

// job is all ranks of one model in this process.
type job struct {
	ranks []*Runner
	free  []int32 // blocks
}

func newJob(t *testing.T, cfg *Config, src hf.Source, l layout, opt Options, dev device.Options) *job {
	t.Helper()
	l.tp, l.pp, l.ep = max(l.tp, 1), max(l.pp, 1), max(l.ep, 1)
	tp := make([][]device.Comm, l.pp)
	for p := range tp {
		tp[p] = group("tp", l.tp, p*l.tp, 1)
	}
	pp := make([][]device.Comm, l.tp)
	for i := range pp {
		pp[i] = group("pp", l.pp, i, l.tp)
	}
	j := &job{}
	for p := range l.pp {
		for i := range l.tp {
			d := device.New(dev)
			t.Cleanup(func() { d.Close() })
			shard := Shard{TPRank: i, TPSize: l.tp, PPRank: p, PPSize: l.pp, EPSize: l.ep}
			r, err := NewRunner(cfg, src, shard, d, Groups{TP: tp[p][i], PP: pp[i][p]}, opt)
			if err != nil {
				t.Fatal(err)
			}
			j.ranks = append(j.ranks, r)
		}
	}
	for b := j.ranks[0].opt.NumBlocks - 1; b >= 0; b-- {
		j.free = append(j.free, int32(b))
	}
	return j
}

// group joins n ranks of the job, from first on, step apart.
func group(name string, n, first, step int) []device.Comm {
	var ranks []int
	for i := range n {
		ranks = append(ranks, first+i*step)
	}
	return device.NewGroup(name, name, ranks, comm.Options{Add: tensor.Add})
}

// forward runs a batch on every rank, checks that all ranks with logits have the same ones, and returns a copy.
func (j *job) forward(t *testing.T, b *Batch) [][]float32 {
	t.Helper()
	out := make([][][]float32, len(j.ranks))
	errs := make([]error, len(j.ranks))
	var wg sync.WaitGroup
	for i, r := range j.ranks {
		wg.Go(func() { out[i], errs[i] = r.Forward(b) })
	}
	wg.Wait()
	var logits [][]float32
	for i, r := range j.ranks {
		if errs[i] != nil {
			t.Fatalf("rank %d: %v", i, errs[i])
		}
		if !r.Last() {
			if out[i] != nil {
				t.Fatalf("rank %d of an early stage has logits", i)
			}
			continue
		}
		if logits == nil {
			for _, row := range out[i] {
				logits = append(logits, slices.Clone(row))
			}
		} else if !slices.EqualFunc(logits, out[i], slices.Equal) {
			t.Fatalf("the logits of rank %d differ from the first rank's", i)
		}
	}
	return logits
}

// blocks returns a block table for n positions, in an order that is not ascending.
func (j *job) blocks(n int) []int32 {
	k := blocksFor(n)
	got := slices.Clone(j.free[len(j.free)-k:])
	j.free = j.free[:len(j.free)-k]
	return got
}

// wantLogits compares rows of logits.
func wantLogits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d logits, want %d", what, len(got), len(want))
	}
	worst := 0.0
	for i := range got {
		worst = max(worst, math.Abs(float64(got[i]-want[i])))
		if math.IsNaN(float64(got[i])) {
			t.Fatalf("%s: logit %d is NaN", what, i)
		}
	}
	if worst > tolerance {
		t.Errorf("%s: off by %g, more than %g", what, worst, tolerance)
	}
}

// generate prefills the prompts, chunk tokens at a time, and decodes steps tokens greedily, all prompts in one batch.
// It checks the logits after the prompt and before the last token against the reference.
func (j *job) generate(t *testing.T, f *fixture, which []int, chunk, steps int) [][]int32 {
	t.Helper()
	seqs := make([]Seq, len(which))
	tokens := make([][]int32, len(which))
	pick := func(k int, logits []float32) {
		tokens[k] = append(tokens[k], int32(tensor.MaxIdx(logits)))
	}
	for k, i := range which {
		prompt := f.Prompts[i]
		seqs[k].Blocks = j.blocks(len(prompt) + steps)
		for at := 0; at < len(prompt); at += chunk {
			end := min(at+chunk, len(prompt))
			seqs[k].Start, seqs[k].Tokens, seqs[k].NoLogits = at, prompt[at:end], end < len(prompt)
			logits := j.forward(t, &Batch{Mode: Extend, Seqs: seqs[k : k+1]})
			if end == len(prompt) {
				wantLogits(t, fmt.Sprintf("after prompt %d", i), logits[0], f.last[i])
				pick(k, logits[0])
			} else if len(logits) != 0 {
				t.Fatalf("a chunk in the middle has %d rows of logits", len(logits))
			}
		}
	}
	for step := 1; step < steps; step++ {
		for k, i := range which {
			seqs[k].Tokens, seqs[k].Start = tokens[k][step-1:], len(f.Prompts[i])+step-1
		}
		logits := j.forward(t, &Batch{Mode: Decode, Seqs: seqs})
		for k, i := range which {
			if step == len(f.Tokens[i])-1 {
				wantLogits(t, fmt.Sprintf("at the end of %d", i), logits[k], f.end[i])
			}
			pick(k, logits[k])
		}
	}
	for _, s := range seqs {
		j.free = append(j.free, s.Blocks...)
	}
	return tokens
}
