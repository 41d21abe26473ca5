package model

import (
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/hf"
	"github.com/stepscope/stepscope/internal/reference/engine/op"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// Options size a Runner. Zero values mean the defaults.
type Options struct {
	Format    tensor.Format // format of the weight matrices; see FormatFor
	NumBlocks int           // blocks of BlockLen positions in the KV cache; default 64
	MaxTokens int           // maximum number of new tokens in one batch; default 2048
	MaxSeqs   int           // maximum sequences of one batch; default 64

	// NoGraphs runs decode steps op by op instead of replaying graphs.
	NoGraphs bool
	// GraphSizes are the batch sizes that graphs are captured for. A decode batch is padded to the next larger size.
	// Batches that exceed the largest size run op by op. Default: 1, 2, 4, then multiples of 4 up to 32, multiples of 8
	// up to 128, and multiples of 16 up to MaxSeqs.
	GraphSizes []int
	// Encoder omits the last layer, the final norm and the head: such a runner supports only [Runner.Encode].
	Encoder bool
	// Markers annotates each module call with the text of SGLang's layer-wise NVTX markers.
	Markers bool
	// Component names a component of a diffusion pipeline and its stage, such as "TextEncodingStage.text_encoder". If
	// Component is set, markers have the form for such components. If it is "", markers have the form for language
	// models.
	Component string
}

func (o Options) withDefaults() Options {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&o.NumBlocks, 64)
	def(&o.MaxTokens, 2048)
	def(&o.MaxSeqs, 64)
	switch {
	case o.NoGraphs:
		o.GraphSizes = nil
	case o.GraphSizes == nil:
		o.GraphSizes = graphSizes(o.MaxSeqs)
	default:
		o.GraphSizes = slices.Clone(o.GraphSizes)
		slices.Sort(o.GraphSizes)
	}
	return o
}

func graphSizes(most int) []int {
	var sizes []int
	for n := 1; n < most; {
		sizes = append(sizes, n)
		switch {
		case n < 4:
			n *= 2
		case n < 32:
			n += 4
		case n < 128:
			n += 8
		default:
			n += 16
		}
	}
	return append(sizes, most)
}

// FormatFor returns the default format for weights of a checkpoint's dtype: Weights of type float32 stay float32.
// Weights of 16-bit types are stored as bf16 and multiplied in pairs of bf16, as on GPUs.
func FormatFor(dtype string) tensor.Format {
	if dtype == "float32" {
		return tensor.F32
	}
	return tensor.BF16Dot
}

// Runner is one rank. It has a shard of the weights, a KV cache and the memory of a forward pass. Only one goroutine
// may use it.
type Runner struct {
	cfg         *Config
	geo         *geometry
	opt         Options
	dev         *device.Device
	groups      Groups
	op.Launcher // launches on the default stream
	w           *weights
	rope        *ropeTable
	kv          []*kvCache // one for each layer of the stage

	rows       int // maximum rows of a pass
	positions  int // maximum positions of a sequence
	headsWidth int // query heads · head_dim
	qkvWidth   int
	mod        modules
	buf        buffers
	moe        *moeBuffers // nil: the stage has no layers with experts
	graphs     map[int]*decodeGraph
}

// buffers are the activations of a pass. In each buffer, one row belongs to one token.
type buffers struct {
	x       []float32 // [rows][hidden]: the residual stream
	h       []float32 // [rows][hidden]: input of the next layer, or output of the previous layer
	qkv     []float32 // [rows][qkvWidth]
	attn    []float32 // [rows][headsWidth]
	gateUp  []float32 // [rows][2·ffn]
	act     []float32 // [rows][ffn]
	picked  []float32 // [MaxSeqs][hidden]
	part    []float32 // [MaxSeqs][vocabWidth]: this rank's logits
	parts   []float32 // [TP][MaxSeqs][vocabWidth]
	logits  []float32 // [MaxSeqs][vocab]
	results [][]float32
}

// NewRunner loads a rank's weights and allocates its memory. Launches go to the default stream of dev. src is no longer
// needed after NewRunner returns. The caller must check once, with [Config.CheckSource], that src fits cfg.
func NewRunner(cfg *Config, src hf.Source, shard Shard, dev *device.Device, groups Groups, opt Options) (*Runner, error) {
	geo, err := cfg.cut(shard)
	if err != nil {
		return nil, err
	}
	if opt.Encoder {
		if geo.PPSize > 1 || cfg.Layers < 2 {
			return nil, fmt.Errorf("an encoder of %d layers over %d pipeline stages; want at least 2, and one stage", cfg.Layers, geo.PPSize)
		}
		geo.headless = true
		geo.layers.Hi--
	}
	opt = opt.withDefaults()
	if opt.NumBlocks < 1 || opt.MaxTokens < 1 || opt.MaxSeqs < 1 {
		return nil, fmt.Errorf("runner of %d blocks, %d tokens and %d sequences; want at least 1", opt.NumBlocks, opt.MaxTokens, opt.MaxSeqs)
	}
	for _, g := range []struct {
		name       string
		c          device.Comm
		rank, size int
	}{{"TP", groups.TP, geo.TPRank, geo.TPSize}, {"PP", groups.PP, geo.PPRank, geo.PPSize}} {
		if g.size > 1 && (g.c == nil || g.c.Size() != g.size || g.c.Rank() != g.rank) {
			return nil, fmt.Errorf("rank %d of the %s group of %d has no communicator for such a group", g.rank, g.name, g.size)
		}
	}
	w, err := loadWeights(cfg, geo, src, opt.Format)
	if err != nil {
		return nil, err
	}
	r := &Runner{
		cfg: cfg, geo: geo, opt: opt, w: w,
		dev: dev, Launcher: op.Launcher{Stream: dev.Stream(), Workers: max(dev.Info().SMs, 1)}, groups: groups,
		rows:       max(opt.MaxTokens, opt.MaxSeqs),
		positions:  min(cfg.ContextLen(), opt.NumBlocks*BlockLen),
		headsWidth: geo.heads.Len() * cfg.HeadDim,
		qkvWidth:   (geo.heads.Len() + 2*geo.kv.Len()) * cfg.HeadDim,
		graphs:     map[int]*decodeGraph{},
	}
	r.rope = cfg.Rope.table(cfg.HeadDim, r.positions)
	r.mod = r.modules()
	r.allocate()
	return r, nil
}

func (r *Runner) allocate() {
	c, g := r.cfg, r.geo
	zeros := func(rows, width int) []float32 { return make([]float32, rows*width) }
	r.buf = buffers{
		x: zeros(r.rows, c.Hidden), h: zeros(r.rows, c.Hidden),
		qkv: zeros(r.rows, r.qkvWidth), attn: zeros(r.rows, r.headsWidth),
		gateUp: zeros(r.rows, 2*g.ffn.Len()), act: zeros(r.rows, g.ffn.Len()),
	}
	if g.last() {
		n := r.opt.MaxSeqs
		r.buf.picked, r.buf.logits = zeros(n, c.Hidden), zeros(n, c.Vocab)
		r.buf.part = r.buf.logits
		if g.TPSize > 1 {
			r.buf.part, r.buf.parts = zeros(n, g.vocabWidth), zeros(n*g.TPSize, g.vocabWidth)
		}
	}
	for i := g.layers.Lo; i < g.layers.Hi; i++ {
		r.kv = append(r.kv, newKVCache(g.kv.Len(), c.HeadDim, r.opt.NumBlocks))
		if c.HasExperts(i) && r.moe == nil {
			r.moe = newMoEBuffers(c, g, r.rows)
		}
	}
}

// Config returns the model's configuration.
func (r *Runner) Config() *Config { return r.cfg }

// Last reports whether this rank belongs to the last pipeline stage, so that Forward returns logits.
func (r *Runner) Last() bool { return r.geo.last() }

// WeightBytes returns the memory of the rank's packed matrices in bytes.
func (r *Runner) WeightBytes() int64 {
	n := 0
	add := func(ws ...op.Linear) {
		for _, w := range ws {
			if w.Matrix != nil {
				n += w.Bytes()
			}
		}
	}
	if e := r.w.embed; e != nil {
		n += 4*len(e.f32) + 2*len(e.bf16)
	}
	add(r.w.head)
	for _, y := range r.w.layers {
		add(y.qkv, y.o, y.router, y.ffn.gateUp, y.ffn.down)
		for _, e := range y.experts {
			add(e.gateUp, e.down)
		}
	}
	return int64(n)
}
