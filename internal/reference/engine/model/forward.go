package model

import (
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/op"
)

// pass is one forward pass over a laid-out batch. It consists only of launches, so it can either be run directly or be
// captured once and then replayed.
type pass struct {
	r      *Runner
	in     *inputs
	mode   Mode
	n      int // rows, including padding
	stored func(layer int)
}

// Forward computes one batch: it launches the pass, waits for the pass to finish and returns rows of logits, [vocab]
// each, in the order of the sequences. Depending on the request, the rows of a sequence are one row after its last
// token, one row after each of its tokens, or none. The rows are valid until the next call of Forward. Only ranks of
// the last pipeline stage return rows. All ranks must get equal batches in the same order. After an error in a
// collective, the rank cannot be used any more.
func (r *Runner) Forward(b *Batch) ([][]float32, error) {
	if err := r.check(b); err != nil {
		return nil, err
	}
	if b.Mode == Decode {
		if size := r.graphSize(b); size > 0 {
			return r.replay(b, size)
		}
	}
	width := 0
	for i := range b.Seqs {
		width = max(width, blocksFor(b.Seqs[i].Start+len(b.Seqs[i].Tokens)))
	}
	// There are two buffers for the inputs: the host fills the first, and kernels read the second, which is on the
	// device.
	tokens, seqs, tiles := b.Tokens(), len(b.Seqs), tilesOf(b)
	host, in := newInputs(tokens, seqs, width, tiles), newInputs(tokens, seqs, width, tiles)
	picked := host.fill(b, r.opt.NumBlocks)
	p := &pass{r: r, in: in, mode: b.Mode, n: tokens, stored: b.Stored}
	if err := r.upload(in, host); err != nil {
		return nil, err
	}
	p.body()
	return p.logits(picked)
}

// body runs the stage's layers. The result is in x. In the last stage, the normalized result is in h.
func (p *pass) body() {
	r := p.r
	x, h := r.buf.x[:p.n*r.cfg.Hidden], r.buf.h[:p.n*r.cfg.Hidden]
	if !r.geo.first() {
		r.Stream.Recv(r.groups.PP, r.geo.PPRank-1, x)
	}
	p.enter(&r.mod.model)
	p.stage(x, h)
	p.leave(&r.mod.model)
	if !r.geo.last() && !r.geo.headless {
		r.Stream.Send(r.groups.PP, r.geo.PPRank+1, x)
	}
}

// stage launches the part of the body between receiving from the previous pipeline stage and sending to the next stage.
func (p *pass) stage(x, h []float32) {
	r := p.r
	if r.geo.first() {
		p.enter(&r.mod.embed)
		p.embed(x)
		p.reduce(x)
		p.leave(&r.mod.embed)
	}
	var pending []float32 // output of the last block; the next norm adds it to the residual stream
	for i := range r.w.layers {
		p.layer(i, x, h, pending)
		pending = h
	}
	if !r.geo.last() {
		p.add(x, h)
		return
	}
	p.enter(&r.mod.norm)
	p.norm(h, x, pending, r.w.norm)
	p.leave(&r.mod.norm)
}

// layer runs one decoder layer. x is the residual stream without pending. layer first adds pending to x. It leaves the
// output of the layer's last block in h and does not add this output to x.
func (p *pass) layer(i int, x, h, pending []float32) {
	r := p.r
	y, m := &r.w.layers[i], &r.mod.layers[i]
	p.enter(&m.layer)
	defer p.leave(&m.layer)

	p.enter(&m.inputNorm)
	p.norm(h, x, pending, y.inputNorm)
	p.leave(&m.inputNorm)

	p.enter(&m.selfAttn)
	p.attend(y, m, h, i)
	p.leave(&m.selfAttn)

	p.enter(&m.postNorm)
	p.norm(h, x, h, y.postNorm)
	p.leave(&m.postNorm)

	p.enter(&m.mlp)
	if y.experts != nil {
		p.experts(y, m, h)
	} else {
		p.dense(y, m, h)
	}
	p.leave(&m.mlp)
}

// dense launches the feed-forward of a layer without experts.
func (p *pass) dense(y *layer, m *layerModules, h []float32) {
	r, hidden, width := p.r, p.r.cfg.Hidden, p.r.geo.ffn.Len()
	p.enter(&m.gateUp)
	r.Linear(r.buf.gateUp, 2*width, y.ffn.gateUp, h, hidden, p.n)
	p.leave(&m.gateUp)

	p.enter(&m.act)
	r.SiLUMul(r.buf.act, r.buf.gateUp, width, p.n, func() int { return p.n })
	p.leave(&m.act)

	p.enter(&m.down)
	r.Linear(h, hidden, y.ffn.down, r.buf.act, width, p.n)
	p.reduce(h)
	p.leave(&m.down)
}

// reduce sums a buffer over the tensor-parallel group.
func (p *pass) reduce(buf []float32) {
	if p.r.geo.TPSize > 1 {
		p.r.Stream.AllReduce(p.r.groups.TP, buf)
	}
}

// logits runs the head for the picked rows and waits for the results. If the buffer is too small for all rows, logits
// runs the head several times.
func (p *pass) logits(picked int) ([][]float32, error) {
	r := p.r
	clear(r.buf.results[:cap(r.buf.results)]) // release the logits of the previous step
	out := r.buf.results[:0]
	if !r.geo.last() || picked == 0 {
		return nil, r.Stream.Synchronize()
	}
	room, vocab := r.opt.MaxSeqs, r.cfg.Vocab
	for at := 0; at < picked; at += room {
		n := min(room, picked-at)
		p.head(p.in.pick[at:], n)
		if err := r.Stream.Synchronize(); err != nil {
			return nil, err
		}
		from := r.buf.logits
		if picked > room { // happens if all logits of prompts are requested
			from = append([]float32(nil), from[:n*vocab]...)
		}
		for i := range n {
			out = append(out, from[i*vocab:][:vocab:vocab])
		}
	}
	r.buf.results = out
	return out, nil
}

// head launches the logits of n ≤ MaxSeqs rows of h, [n][vocab], on every rank of the group.
func (p *pass) head(pick []int32, n int) {
	r, c, g := p.r, p.r.cfg, p.r.geo
	p.enter(&r.mod.logits)
	defer p.leave(&r.mod.logits)
	p.gather(r.buf.picked, r.buf.h, pick, n)
	part := r.buf.part[:n*g.vocabWidth]
	r.Linear(part, g.vocabWidth, r.w.head, r.buf.picked, c.Hidden, n)
	if g.TPSize == 1 {
		return
	}
	parts := r.buf.parts[:n*g.vocabWidth*g.TPSize]
	r.Stream.AllGather(r.groups.TP, parts, part)
	s := r.ByRows(n, c.Vocab)
	r.Launch(device.Kernel{
		Name: "CatArrayBatchedCopy", Op: "aten::cat", Grid: op.Grid(n, 1),
		Args: []device.Arg{op.Floats(g.TPSize, n, g.vocabWidth)},
	}, s.Chunks(), func(chunk int) {
		for i := s.Span(chunk).Lo; i < s.Span(chunk).Hi; i++ {
			row := r.buf.logits[i*c.Vocab:][:c.Vocab]
			for rank := range g.TPSize {
				// Leave out the padding of the last ranks' parts, which would be beyond the end of the row.
				copy(row[min(rank*g.vocabWidth, c.Vocab):], parts[(rank*n+i)*g.vocabWidth:][:g.vocabWidth])
			}
		}
	})
}
