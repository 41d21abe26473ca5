package model

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// decodeGraph is a captured decode step for a fixed number of sequences. Its kernels read the batch from the buffer in,
// so a replay needs only one upload and one launch.
type decodeGraph struct {
	host, in *inputs
	graph    *device.Graph
}

// graphSize returns the captured size to which the batch is padded. It returns 0 if no captured size is large enough or
// if the batch needs an operation that the graph lacks.
func (r *Runner) graphSize(b *Batch) int {
	for i := range b.Seqs {
		if b.Seqs[i].NoLogits {
			return 0
		}
	}
	for _, size := range r.opt.GraphSizes {
		if size >= len(b.Seqs) && size <= r.opt.MaxSeqs {
			return size
		}
	}
	return 0
}

// CaptureGraphs captures the decode steps of all graph sizes, so that no request has to wait for a capture.
func (r *Runner) CaptureGraphs() error {
	for _, size := range r.opt.GraphSizes {
		if size <= r.opt.MaxSeqs {
			if _, err := r.captured(size); err != nil {
				return err
			}
		}
	}
	return nil
}

// captured returns the graph of a size. It captures the graph at the first call for that size.
func (r *Runner) captured(size int) (*decodeGraph, error) {
	if g := r.graphs[size]; g != nil {
		return g, nil
	}
	width := blocksFor(r.positions)
	g := &decodeGraph{host: newInputs(size, size, width, size), in: newInputs(size, size, width, size)}
	p := &pass{r: r, in: g.in, mode: Decode, n: size}
	r.Stream.BeginCapture()
	p.body()
	if r.geo.last() {
		p.head(g.in.pick, size)
	}
	var err error
	if g.graph, err = r.Stream.EndCapture(); err != nil {
		return nil, fmt.Errorf("capture the decode step of %d sequences: %w", size, err)
	}
	r.graphs[size] = g
	return g, nil
}

// replay runs a decode batch with the graph for size sequences.
func (r *Runner) replay(b *Batch, size int) ([][]float32, error) {
	g, err := r.captured(size)
	if err != nil {
		return nil, err
	}
	g.host.fill(b, r.opt.NumBlocks)
	if err := r.upload(g.in, g.host); err != nil {
		return nil, err
	}
	g.graph.Launch(r.Stream)
	if err := r.Stream.Synchronize(); err != nil || !r.geo.last() {
		return nil, err
	}
	out, vocab := r.buf.results[:0], r.cfg.Vocab
	for i := range b.Seqs {
		out = append(out, r.buf.logits[i*vocab:][:vocab:vocab])
	}
	r.buf.results = out
	return out, nil
}
