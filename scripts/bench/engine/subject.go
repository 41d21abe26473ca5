//go:build linux && amd64 && !noasm

package main

import (
	"context"
	"errors"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/sched"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// shape is a Llama of 191 M parameters. Decoding a token reads 159 M of these parameters.
const shape = `{
	"architectures": ["LlamaForCausalLM"], "vocab_size": 32000, "hidden_size": 1024, "num_hidden_layers": 8,
	"num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 4096, "max_position_embeddings": 4096,
	"dtype": "bfloat16"}`

// Lengths in tokens, and the number of sequences in the large batch.
const (
	promptLen = 512 // prompt length of the measured prefill
	before    = 128 // context length of a decoded token
	window    = 4   // number of steps in a recording, enough to outweigh the cost of its start
	many      = 16
	kvBlocks  = 128
)

var options = model.Options{
	Format: tensor.BF16Dot, NumBlocks: kvBlocks, MaxTokens: many * (before + window), MaxSeqs: many, GraphSizes: []int{1, many},
}

// subject is the model on a device. The calling goroutine runs the subject in the same way as the engine runs a rank.
type subject struct {
	dev *device.Device
	run *model.Runner
}

func newSubject(cfg *model.Config, workers int, noGraphs bool) *subject {
	s := &subject{dev: device.New(device.Options{Workers: workers})}
	opt := options
	opt.NoGraphs = noGraphs
	s.run = must(model.NewRunner(cfg, model.NewDummy(cfg, 1), model.Shard{}, s.dev, model.Groups{}, opt))
	s.dev.Host().Bind("scheduler")
	check(s.run.CaptureGraphs())
	s.step(model.Extend, many, before+window, 0) // write all pages: others are not read from memory
	return s
}

func (s *subject) close() {
	s.dev.Host().Release()
	check(s.dev.Close())
}

// step runs a batch of seqs sequences. Each sequence has the given number of new tokens, which begin at position start.
func (s *subject) step(mode model.Mode, seqs, tokens, start int) {
	b := &model.Batch{Mode: mode}
	need := (start + tokens + model.BlockLen - 1) / model.BlockLen
	for i := range seqs {
		q := model.Seq{Start: start, Tokens: prompt(tokens)}
		for k := range need {
			q.Blocks = append(q.Blocks, int32(i*need+k))
		}
		b.Seqs = append(b.Seqs, q)
	}
	h := s.dev.Host()
	h.Annotate(sched.Step{Batch: b}.Name())
	must(s.run.Forward(b))
	h.End()
}

func prompt(n int) []int32 {
	p := make([]int32, n)
	for i := range p {
		p[i] = int32(i*31) % 32000
	}
	return p
}

func (s *subject) prefill() job { return timed(func() { s.step(model.Extend, 1, promptLen, 0) }) }

// decode returns a job that generates n tokens for each of seqs sequences.
func (s *subject) decode(seqs, n int) job {
	return timed(func() {
		for i := range n {
			s.step(model.Decode, seqs, 1, before+i)
		}
	})
}

// recorded returns a job that runs window decode steps and records them.
func (s *subject) recorded(stacks bool) job {
	decode := s.decode(1, window)
	return timed(func() {
		check(s.dev.StartRecording(device.RecordOptions{CPU: true, GPU: true, Shapes: true, Stack: stacks}))
		decode()
		if s.dev.StopRecording().Lost().Total() > 0 {
			check(errors.New("the recording has lost something"))
		}
	})
}

// served is the same model behind the engine, with queue, scheduler, sampler and streams.
type served struct{ e *engine.Engine }

func newServed(cfg *model.Config, workers int) *served {
	ranks := must(engine.NewRanks(engine.RanksOptions{
		Config: cfg, Source: model.NewDummy(cfg, 1), Model: options,
		TeamOptions: engine.TeamOptions{Device: func(int) device.Options { return device.Options{Workers: workers} }},
	}))
	return &served{engine.New([]engine.Group{ranks}, engine.Options{
		Sched:      sched.Options{Blocks: kvBlocks, Vocab: cfg.Vocab, MaxRunning: many, ChunkedPrefill: promptLen, Graphs: true},
		ContextLen: cfg.ContextLen(),
	})}
}

// decode returns a job that requests n+1 tokens and measures the time of the last n.
func (s *served) decode(n int) job {
	return func() time.Duration {
		events := must(s.e.Submit(context.Background(), &api.Request{
			Input: prompt(before), Params: api.Sampling{MaxNewTokens: n + 1, IgnoreEOS: true}, LogprobStart: -1, DPRank: -1,
		}))
		<-events
		start := time.Now()
		for ev := range events {
			if ev.Finish != nil && ev.Finish.Type == api.FinishAbort {
				check(errors.New(ev.Finish.Message))
			}
		}
		return time.Since(start)
	}
}

func (s *served) close() { check(s.e.Close()) }

// work counts the minimum work of a step.
type work struct{ cfg *model.Config }

// weights returns the number of parameters in the matrices of the layers and the number of parameters in the head.
func (w work) weights() (layers, head float64) {
	c := w.cfg
	attention := c.Hidden * c.HeadDim * (2*c.Heads + 2*c.KVHeads)
	return float64(c.Layers * (attention + 3*c.Hidden*c.Intermediate)), float64(c.Hidden * c.Vocab)
}

// flops returns the number of operations for a prompt of n tokens. Each weight needs two operations per token; the head
// is applied only to the last token. Each element of a query needs four operations per position that the query attends
// to.
func (w work) flops(n int) float64 {
	layers, head := w.weights()
	looks := float64(n) * float64(n+1) / 2
	return 2*layers*float64(n) + 2*head + 4*looks*float64(w.cfg.Layers*w.cfg.Heads*w.cfg.HeadDim)
}

// bytes returns the number of bytes that decode reads for one token that follows n other tokens. Each weight has two
// bytes, and each element of keys and values has four bytes.
func (w work) bytes(n int) float64 {
	c := w.cfg
	layers, head := w.weights()
	return 2*(layers+head) + 2*4*float64((n+1)*c.Layers*c.KVHeads*c.HeadDim)
}
