package launch

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/tokenizer"
	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/mesh"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/sched"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
	"github.com/stepscope/stepscope/internal/reference/server"
)

// Options are the callbacks and the environment of a loaded engine.
type Options struct {
	OnStep         func(api.Step)    // called for each step; must not block
	Log            func(line string) // receives lines about loading and profiling; any goroutine may call it
	DecodeInterval int               // --decode-log-interval
	Disagg         engine.Disagg     // role in prefill/decode disaggregation; zero value: the engine works alone
	Nodes          NodeArgs          // set if this process is node 0 of several nodes; zero value: only one node
}

// Engine is a loaded model that serves requests.
type Engine struct {
	*engine.Engine
	tok  server.Tokenizer
	info server.Info
	mesh *mesh.Mesh // nil: a single node
	here int        // number of ranks in this process
}

// Info describes the model and the ranks. See server.Engine.
func (e *Engine) Info() server.Info { return e.info }

// Tokenizer returns the model's tokenizer for the server.
func (e *Engine) Tokenizer() server.Tokenizer { return e.tok }

// Lost returns a channel that is closed when ranks on another node are permanently lost. LostCause then names these
// ranks. With one node it returns nil.
func (e *Engine) Lost() <-chan struct{} {
	if e.mesh == nil {
		return nil
	}
	return e.mesh.Lost()
}

// LostCause returns the reason for which Lost is closed, or nil.
func (e *Engine) LostCause() error {
	if e.mesh == nil {
		return nil
	}
	return e.mesh.Err()
}

// Close stops the engine and then makes the other nodes stop.
func (e *Engine) Close() error {
	err := e.Engine.Close()
	if e.mesh != nil {
		e.mesh.Leave("")
	}
	return err
}

// PlainTokenizer returns the model's tokenizer without the server's wrapper, or nil.
func (e *Engine) PlainTokenizer() *tokenizer.Tokenizer { return plain(e.tok) }

func plain(t server.Tokenizer) *tokenizer.Tokenizer {
	if t, ok := t.(text); ok {
		return t.Tokenizer
	}
	return nil
}

// Load reads the model and starts its ranks. The caller must close the engine.
func Load(ctx context.Context, a ModelArgs, opt Options) (_ *Engine, err error) {
	if opt.Log == nil {
		opt.Log = func(string) {}
	}
	if opt.Nodes == (NodeArgs{}) {
		opt.Nodes = NodeArgs{NNodes: 1, Timeout: 1}
	}
	m, err := open(a, opt.Nodes, opt.Log)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	e := &Engine{tok: m.tok, here: m.nodes.here(&m.args)}
	var j *job
	if opt.Nodes.Several() {
		if j, err = m.join(ctx, opt.Log); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				j.mesh.Leave(err.Error())
			}
		}()
		if err = j.agree(ctx); err != nil {
			return nil, err
		}
		e.mesh = j.mesh
	}
	// Each running request holds at least one block.
	m.args.MaxRunningRequests = min(a.MaxRunningRequests, m.blocks)
	so := m.args.scheduler(opt.DecodeInterval)
	so.Blocks, so.Vocab = m.blocks, m.Vocab
	if opt.Disagg.Role == api.Decode {
		so.DisableRadix = true // as in SGLang: this server computes no prompts, so it looks up no prefixes
	}

	seqs, tokens := m.args.MaxRunningRequests, min(engine.BatchTokens(so, m.ContextLen), m.Capacity)
	groups, weights, err := m.groups(ctx, j, seqs, tokens)
	if err != nil {
		return nil, err
	}
	eo := engine.Options{
		Sched: so, ContextLen: m.ContextLen, EOS: append(m.cfg.EOS[:len(m.cfg.EOS):len(m.cfg.EOS)], m.tokEOS...), Balance: engine.Balance(a.LoadBalance),
		Sizes: m.z, Seed: uint64(a.Seed), Log: opt.Log, CUDAProfiler: outerProfiler(),
	}
	if opt.OnStep != nil {
		eo.OnStep = func(dp int, st api.Step) {
			st.Ranks, st.Role = m.z.LogPrefix(dp), opt.Disagg.Role
			opt.OnStep(st)
		}
	}
	e.Engine = engine.New(groups, eo)
	opt.Disagg.Model = m.identity()
	if err := e.Join(opt.Disagg); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	perBlock, err := m.cfg.KVBytesPerBlock(m.shard())
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.info = server.Info{
		Role: opt.Disagg.Role, ModelPath: a.ModelPath, TokenizerPath: m.tokPath, ModelType: m.cfg.ModelType, Architectures: []string{m.cfg.Architecture},
		LoadFormat: a.LoadFormat, WeightVersion: "default", ContextLen: m.ContextLen, VocabSize: m.Vocab,
		DP: m.z.DP, TP: m.z.TP, PP: m.z.PP, EP: m.z.EP, MaxRunningRequests: m.args.MaxRunningRequests, TokenCapacity: e.Capacity(), PageSize: sched.PageSize,
		WeightBytes: weights, KVBytes: int64(m.blocks) * perBlock, Accelerator: accelerator(),
	}
	e.info.Temperature, e.info.TopP, e.info.TopK = samplingDefaults(a.ModelPath)
	if note := tensor.LevelNote(); note != "" {
		opt.Log(note)
	}
	opt.Log(m.loaded(weights, e.info.KVBytes))
	return e, nil
}

// groups creates the ranks of all replicas. j is nil if all ranks are in this process.
func (m *Model) groups(ctx context.Context, j *job, seqs, tokens int) (groups []engine.Group, weights int64, err error) {
	if j != nil {
		return j.groups(ctx, seqs, tokens)
	}
	for dp := range m.z.DP {
		if err := ctx.Err(); err != nil {
			return nil, 0, errors.Join(err, closeAll(groups))
		}
		g, err := m.ranks(dp, seqs, tokens)
		if err != nil {
			return nil, 0, errors.Join(err, closeAll(groups))
		}
		weights = g.WeightBytes()
		groups = append(groups, g)
	}
	return groups, weights, nil
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

func closeAll(groups []engine.Group) (err error) {
	for _, g := range groups {
		err = errors.Join(err, g.Close())
	}
	return err
}

// formatOf returns the weight format for a value of --dtype.
func formatOf(dtype string) tensor.Format {
	switch dtype {
	case "float":
		dtype = "float32"
	case "half":
		dtype = "float16"
	}
	return model.FormatFor(dtype)
}

// samplingDefaults reads the sampling parameters in generation_config.json.
func samplingDefaults(dir string) (temperature, topP *float64, topK *int) {
	f, err := os.Open(filepath.Join(dir, "generation_config.json"))
	if err != nil {
		return nil, nil, nil
	}
	defer f.Close()
	var c struct {
		Temperature *float64 `json:"temperature"`
		TopP        *float64 `json:"top_p"`
		TopK        *int     `json:"top_k"`
	}
	if json.NewDecoder(io.LimitReader(f, 1<<20)).Decode(&c) != nil {
		return nil, nil, nil
	}
	return c.Temperature, c.TopP, c.TopK
}
