package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stepscope/stepscope/internal/device"
	"github.com/stepscope/stepscope/internal/engine"
	"github.com/stepscope/stepscope/internal/engine/model"
	"github.com/stepscope/stepscope/internal/engine/sched"
	"github.com/stepscope/stepscope/internal/server"
	"github.com/stepscope/stepscope/internal/tensor"
)

// Options are what a loaded engine tells the world.
type Options struct {
	// OnStep is told of each step; ranks is SGLang's prefix of the log lines of
	// its data-parallel rank. It must not block.
	OnStep         func(ranks string, r sched.Report)
	Log            func(line string) // about loading and profiling; any goroutine calls it
	DecodeInterval int               // --decode-log-interval
}

// Engine is a loaded model that serves.
type Engine struct {
	*engine.Engine
	tok    server.Tokenizer
	info   server.Info
	config *model.Config
}

// Load reads the model and starts its ranks. Close the engine.
func Load(ctx context.Context, a ModelArgs, opt Options) (*Engine, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	if opt.Log == nil {
		opt.Log = func(string) {}
	}
	z := a.sizes()
	perDP := z.TP * z.PP
	faults, err := parseFaults(a.Faults, perDP*z.DP)
	if err != nil {
		return nil, err
	}
	cfg, src, closeSource, err := model.Open(a.ModelPath, a.LoadFormat == "dummy", []byte(a.Overrides))
	if err != nil {
		return nil, err
	}
	defer closeSource()
	for _, note := range cfg.Notes {
		opt.Log(note)
	}
	if err := cfg.CheckShard(model.Shard{TPSize: z.TP, PPSize: z.PP, EPSize: z.EP}); err != nil {
		return nil, err
	}
	tok, tokPath, tokEOS, err := a.openTokenizer(cfg.Vocab, opt.Log)
	if err != nil {
		return nil, err
	}
	dtype := a.DType
	if dtype == "auto" {
		dtype = cfg.DType
	}
	format := formatOf(dtype)
	memory := freeMemory() / int64(perDP*z.DP)
	blocks, err := a.blocks(cfg, format, memory)
	if err != nil {
		return nil, err
	}
	// Each running request holds a block or more.
	a.MaxRunningRequests = min(a.MaxRunningRequests, blocks)
	context := cfg.ContextLen()
	if a.ContextLength > 0 {
		if a.ContextLength > context {
			return nil, fmt.Errorf("--context-length %d: the model has %d positions", a.ContextLength, context)
		}
		context = a.ContextLength
	}
	so := a.scheduler(opt.DecodeInterval)
	so.Blocks, so.Vocab = blocks, cfg.Vocab
	host, _ := os.Hostname()

	var groups []engine.Group
	var weights int64
	for dp := range z.DP {
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(err, closeAll(groups))
		}
		g, err := engine.NewRanks(engine.RanksOptions{
			Config: cfg, Source: src, Sizes: z, DP: dp, Host: host,
			Model: model.Options{
				Format: format, NumBlocks: blocks, MaxSeqs: a.MaxRunningRequests, MaxTokens: min(engine.BatchTokens(so, context), blocks*model.BlockLen),
				NoGraphs: a.DisableGraph, GraphSizes: a.graphSizes(),
			},
			Device: func(rank int) device.Options {
				return device.Options{Name: "software GPU (" + tensor.Current().String() + ")", Memory: memory, Workers: a.cores(), Faults: faults[rank]}
			},
		})
		if err != nil {
			return nil, errors.Join(err, closeAll(groups))
		}
		weights = g.WeightBytes()
		groups = append(groups, g)
	}
	e := &Engine{tok: tok, config: cfg}
	eo := engine.Options{
		Sched: so, ContextLen: context, EOS: append(cfg.EOS[:len(cfg.EOS):len(cfg.EOS)], tokEOS...), Balance: engine.Balance(a.LoadBalance),
		Sizes: z, Seed: uint64(a.Seed), Log: opt.Log,
	}
	if opt.OnStep != nil {
		eo.OnStep = func(dp int, r sched.Report) { opt.OnStep(z.LogPrefix(dp), r) }
	}
	e.Engine = engine.New(groups, eo)
	perBlock, err := cfg.KVBytesPerBlock(model.Shard{TPSize: z.TP, PPSize: z.PP, EPSize: z.EP})
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.info = server.Info{
		ModelPath: a.ModelPath, TokenizerPath: tokPath, ModelType: cfg.ModelType, Architectures: []string{cfg.Architecture},
		LoadFormat: a.LoadFormat, WeightVersion: "default", ContextLen: context, VocabSize: cfg.Vocab,
		DP: z.DP, TP: z.TP, PP: z.PP, EP: z.EP, MaxRunningRequests: a.MaxRunningRequests, TokenCapacity: e.Capacity(),
		WeightBytes: weights, KVBytes: int64(blocks) * perBlock, Accelerator: "software GPU (" + tensor.Current().String() + ")",
	}
	e.info.Temperature, e.info.TopP, e.info.TopK = samplingDefaults(a.ModelPath)
	opt.Log(fmt.Sprintf("Load weight end. type=%s, params=%d, weights=%.1f MiB a rank, KV cache: %d tokens, %.1f MiB a rank, graphs: %v, %s, %d cores a rank",
		cfg.Architecture, cfg.Params(), mib(weights), e.Capacity(), mib(e.info.KVBytes), !a.DisableGraph, e.info.Accelerator, a.cores()))
	return e, nil
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

func closeAll(groups []engine.Group) (err error) {
	for _, g := range groups {
		err = errors.Join(err, g.Close())
	}
	return err
}

// formatOf is how weights are kept for a --dtype.
func formatOf(dtype string) tensor.Format {
	switch dtype {
	case "float":
		dtype = "float32"
	case "half":
		dtype = "float16"
	}
	return model.FormatFor(dtype)
}

// samplingDefaults reads what generation_config.json says of sampling, as far as
// it does.
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

// Step is a step as the batch log shows it.
func Step(ranks string, r sched.Report) server.Step {
	return server.Step{
		Time: r.Time, Ranks: ranks, Prefill: r.Prefill, Iter: r.Step, NewSeqs: r.NewSeqs, NewTokens: r.NewTokens, CachedTokens: r.CachedTokens,
		Pending: r.PendingTokens, Running: r.Running, Queued: r.Queued, UsedTokens: r.Tokens, Usage: r.Usage, Graph: r.Graph,
	}
}
