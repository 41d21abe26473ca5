package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/tokenizer"
	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/diffusion"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
)

// PipelineArgs select the diffusion pipeline and the number of ranks. The names of the arguments are those of SGLang's
// diffusion ServerArgs.
type PipelineArgs struct {
	ModelPath  string   `name:"model-path" placeholder:"PATH" help:"Directory of a Diffusers pipeline (ZImagePipeline), or builtin:z-image-tiny, builtin:z-image-small."`
	LoadFormat string   `name:"load-format" enum:"auto,safetensors,dummy" default:"auto" help:"dummy: random weights, only configurations are read."`
	DType      string   `name:"dtype" enum:"auto,bfloat16,float32" default:"auto" help:"Weights and products of encoder and transformer; auto: the checkpoint's. The autoencoder always uses float32."`
	TP         int      `name:"tp-size" aliases:"num-gpus" limits:"1..64" default:"1" help:"Tensor-parallel ranks of encoder and transformer."`
	Sigmas     string   `name:"sigmas" enum:"sglang,sglang-0.5.11,diffusers-0.37" default:"sglang" help:"Noise schedule: sglang (0.5.23), sglang-0.5.11, diffusers-0.37."`
	Markers    bool     `name:"enable-layerwise-nvtx-marker" help:"NVTX ranges around stages, steps and module calls, for Nsight Systems; in traces too."`
	Cores      int      `name:"device-cores" limits:"0..1024" placeholder:"N" help:"Cores of each rank's software GPU; default: all cores divided by the number of ranks."`
	Faults     []string `name:"device-fault" hidden:"" sep:"none" help:"Make a rank slow in a known way: rank=1,from=20,kernel_factor=2, or rank=0,stage=decoding_stage,kernel_factor=2."`
}

// Pipeline is a diffusion pipeline with its tokenizer. The ranks do not exist before Load.
type Pipeline struct {
	*diffusion.Pipeline
	Config   *diffusion.Config
	Schedule diffusion.Schedule
	DType    string // data type of the weights of encoder and transformer

	args   PipelineArgs
	memory int64 // bytes per rank
	faults map[int]*device.Faults
	src    *diffusion.Sources
	tok    *tokenizer.Tokenizer
	log    func(line string)
}

// IsPipeline reports whether a model path names a diffusion pipeline.
func IsPipeline(path string) bool { return diffusion.Is(path) }

// CheckServed returns an error for a model path that names neither a language model nor a pipeline.
func CheckServed(path string) error {
	names := append(model.Builtins(), diffusion.Builtins()...)
	if name, ok := strings.CutPrefix(path, model.BuiltinPrefix); ok {
		if !slices.Contains(names, name) {
			return fmt.Errorf("no built-in model %q; choose from %s", path, strings.Join(names, ", "))
		}
		return nil
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return fmt.Errorf("model path %q is not a directory; give a local directory of a Hugging Face model or a Diffusers pipeline, or %s with one of %s",
			path, model.BuiltinPrefix, strings.Join(names, ", "))
	}
	return nil
}

// Request returns a request for an image with the model's default size, steps and guidance.
func (p *Pipeline) Request(prompt, negative string) (*diffusion.Request, error) {
	def := p.Config.Default
	q := &diffusion.Request{Width: def.Width, Height: def.Height, Steps: def.Steps, Guidance: def.Guidance, Schedule: p.Schedule}
	for _, f := range []struct {
		name, text string
		to         *[]int32
	}{{"prompt", prompt, &q.Prompt}, {"negative prompt", negative, &q.Negative}} {
		var cut int
		var err error
		if *f.to, cut, err = diffusion.Prompt(p.tok, f.text); err != nil {
			return nil, err
		}
		if cut > 0 {
			p.log(fmt.Sprintf("The %s is too long: the last %d of its %d tokens are cut off", f.name, cut, cut+len(*f.to)))
		}
	}
	return q, nil
}

// Check returns an error if this pipeline cannot serve the request. It may be called before Load.
func (p *Pipeline) Check(q *diffusion.Request) error { return p.Config.Check(q, p.memory) }

// OpenPipeline reads the model that the arguments name, without its weights. The caller must close it. log receives
// lines about the model.
func OpenPipeline(a PipelineArgs, log func(line string)) (*Pipeline, error) {
	p := &Pipeline{args: a, log: log, memory: freeMemory() / int64(a.TP)}
	var err error
	if p.faults, err = parseFaults(a.Faults, a.TP, diffusion.Stages()); err != nil {
		return nil, err
	}
	if p.Schedule, err = diffusion.ParseSchedule(a.Sigmas); err != nil {
		return nil, err
	}
	if p.Config, p.src, p.tok, err = diffusion.Open(a.ModelPath, a.LoadFormat == "dummy"); err != nil {
		return nil, err
	}
	if p.DType = a.DType; p.DType == "auto" {
		p.DType = p.Config.Text.DType
	}
	if err := p.Config.CheckShard(a.TP); err != nil {
		p.src.Close()
		return nil, err
	}
	for _, note := range p.Config.Notes {
		log("not read: " + note)
	}
	return p, nil
}

// Load creates the ranks.
func (p *Pipeline) Load() error {
	a := &p.args
	logMarks(a.Markers, false, p.log)
	cores := a.Cores
	if cores == 0 {
		cores = max(1, runtime.GOMAXPROCS(0)/a.TP)
	}
	team := engine.TeamOptions{
		Sizes: engine.Sizes{TP: a.TP}, Host: hostname(),
		Device: func(rank int) device.Options {
			return device.Options{Name: accelerator(), Memory: p.memory, Workers: cores, Faults: p.faults[rank], Marks: marks(a.Markers)}
		},
	}
	var err error
	p.Pipeline, err = diffusion.NewPipeline(p.Config, p.src, team, diffusion.Options{Format: formatOf(p.DType), Markers: a.Markers}, p.log)
	if err == nil {
		p.log(fmt.Sprintf("Loaded %s: %.1f million parameters, %s, ranks: %d, cores per rank: %d", p.Config.Pipeline, float64(p.Config.Params())/1e6, accelerator(), a.TP, cores))
	}
	return err
}

// Warmup generates an image and discards it.
func (p *Pipeline) Warmup(ctx context.Context, q *diffusion.Request) error {
	begun := time.Now()
	if _, err := p.Generate(ctx, &diffusion.Job{Request: *q, Quiet: true}); err != nil {
		return fmt.Errorf("the warm-up: %w", err)
	}
	p.log(fmt.Sprintf("Warmed up with %d denoising step(s) of %d×%d in %.2f seconds", q.Steps, q.Width, q.Height, time.Since(begun).Seconds()))
	return nil
}

// Close stops the ranks and closes the files.
func (p *Pipeline) Close() error {
	err := p.src.Close()
	if p.Pipeline != nil {
		err = errors.Join(err, p.Pipeline.Close())
	}
	return err
}
