package launch

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/stepscope/stepscope/internal/base/tokenizer"
	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/hf"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
	"github.com/stepscope/stepscope/internal/reference/server"
)

// Model is a model whose sizes are known, before any rank has loaded its weights. The caller must close the Model when
// its ranks have been created.
type Model struct {
	ContextLen int // maximum tokens of a sequence
	Vocab      int
	Capacity   int // tokens that fit in a rank's KV cache, SGLang's max_total_num_tokens

	args    ModelArgs
	nodes   NodeArgs
	spread  *engine.Spread // nil: all ranks are in this process
	ahead   atomic.Int64   // ns by which the clock of traces is ahead of the clock of this process
	z       engine.Sizes
	faults  map[int]*device.Faults
	cfg     *model.Config
	src     hf.Source
	close   func() error
	tok     server.Tokenizer
	tokPath string
	tokEOS  []int32
	format  tensor.Format
	memory  int64 // bytes per rank
	blocks  int
}

// Open reads the model that the arguments name and computes all sizes. log receives lines about the model.
func Open(a ModelArgs, log func(line string)) (*Model, error) {
	return open(a, NodeArgs{NNodes: 1, Timeout: 1}, log)
}

func open(a ModelArgs, n NodeArgs, log func(line string)) (_ *Model, err error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	if err := n.Check(&a); err != nil {
		return nil, err
	}
	m := &Model{args: a, nodes: n, z: a.sizes()}
	ranks := m.z.TP * m.z.PP * m.z.DP
	if m.faults, err = parseFaults(a.Faults, ranks, nil); err != nil {
		return nil, err
	}
	if m.cfg, m.src, m.close, err = model.Open(a.ModelPath, a.LoadFormat == "dummy", []byte(a.Overrides)); err != nil {
		return nil, err
	}
	if err := m.size(log, n.here(&a)); err != nil {
		m.close()
		return nil, err
	}
	logMarks(a.Markers, !a.DisableGraph, log)
	return m, nil
}

func (m *Model) size(log func(string), ranks int) (err error) {
	a, cfg := &m.args, m.cfg
	for _, note := range cfg.Notes {
		log(note)
	}
	if err := cfg.CheckShard(m.shard()); err != nil {
		return err
	}
	if m.tok, m.tokPath, m.tokEOS, err = a.openTokenizer(cfg.Vocab, log); err != nil {
		return err
	}
	dtype := a.DType
	if dtype == "auto" {
		dtype = cfg.DType
	}
	m.format = formatOf(dtype)
	m.memory = freeMemory() / int64(ranks)
	if m.blocks, err = a.blocks(cfg, m.format, m.memory); err != nil {
		return err
	}
	m.Capacity, m.Vocab, m.ContextLen = m.blocks*model.BlockLen, cfg.Vocab, cfg.ContextLen()
	if a.ContextLength > 0 {
		if a.ContextLength > m.ContextLen {
			return fmt.Errorf("--context-length %d: the model has %d positions", a.ContextLength, m.ContextLen)
		}
		m.ContextLen = a.ContextLength
	}
	return nil
}

func (m *Model) shard() model.Shard {
	return model.Shard{TPSize: m.z.TP, PPSize: m.z.PP, EPSize: m.z.EP}
}

// Close closes the model's files.
func (m *Model) Close() error { return m.close() }

// PlainTokenizer returns the model's tokenizer, or nil.
func (m *Model) PlainTokenizer() *tokenizer.Tokenizer { return plain(m.tok) }

// Ranks loads the ranks of one replica, for batches of at most seqs sequences and tokens new tokens. The ranks have no
// scheduler, so the caller must allocate the cache blocks. The caller must close the ranks.
func (m *Model) Ranks(seqs, tokens int) (*engine.Ranks, error) {
	m.args.MaxRunningRequests = seqs // bounds the graph sizes
	return m.ranks(0, seqs, min(tokens, m.Capacity))
}

func (m *Model) ranks(dp, seqs, tokens int) (*engine.Ranks, error) {
	a := &m.args
	epoch := int64(0)
	if by := m.ahead.Load(); by != 0 {
		epoch = device.Epoch() + by
	}
	return engine.NewRanks(engine.RanksOptions{
		TeamOptions: engine.TeamOptions{
			Sizes: m.z, DP: dp, Host: hostname(), Spread: m.spread, Epoch: epoch,
			Device: func(rank int) device.Options {
				return device.Options{Name: accelerator(), Memory: m.memory, Workers: m.cores(), Faults: m.faults[rank], Marks: marks(a.Markers)}
			},
		},
		Config: m.cfg, Source: m.src,
		Model: model.Options{
			Format: m.format, NumBlocks: m.blocks, MaxSeqs: seqs, MaxTokens: tokens,
			NoGraphs: a.DisableGraph, GraphSizes: a.graphSizes(), Markers: a.Markers,
		},
	})
}

// cores returns the number of cores that one rank's device uses.
func (m *Model) cores() int {
	if m.args.Cores > 0 {
		return m.args.Cores
	}
	return max(1, runtime.GOMAXPROCS(0)/m.nodes.here(&m.args))
}

// accelerator returns the name of the device in traces and reports.
func accelerator() string { return "software GPU (" + KernelLevel() + ")" }

// KernelLevel is the CPU level that engines use.
func KernelLevel() string { return tensor.Current().String() }

// loaded returns the log line about the loaded model. Sizes are in bytes per rank.
func (m *Model) loaded(weights, kv int64) string {
	return fmt.Sprintf("Load weight end. type=%s, params=%d, weights=%.1f MiB a rank, KV cache: %d tokens, %.1f MiB a rank, graphs: %v, %s, %d cores a rank",
		m.cfg.Architecture, m.cfg.Params(), mib(weights), m.Capacity, mib(kv), !m.args.DisableGraph, accelerator(), m.cores())
}
