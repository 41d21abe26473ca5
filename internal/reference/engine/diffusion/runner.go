package diffusion

import (
	"fmt"
	"math"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/op"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// Stage is a stage of image generation.
type Stage struct {
	Name       string // SGLang's stage class, in logs and dumps
	Registered string // name in the pipeline, as shown in annotations
}

// The stages, in order.
var (
	validation   = Stage{"InputValidationStage", "InputValidationStage"}
	textEncoding = Stage{"TextEncodingStage", "TextEncodingStage"}
	latents      = Stage{"LatentPreparationStage", "LatentPreparationStage"}
	timesteps    = Stage{"TimestepPreparationStage", "TimestepPreparationStage"}
	denoising    = Stage{"DenoisingStage", "denoising_stage"}
	decoding     = Stage{"DecodingStage", "decoding_stage"}
)

// Stages lists the names that the stages have in annotations.
func Stages() (names []string) {
	for _, s := range []Stage{validation, textEncoding, latents, timesteps, denoising, decoding} {
		names = append(names, s.Registered)
	}
	return names
}

// Request describes an image to generate.
type Request struct {
	Prompt, Negative []int32 // tokens, after the chat template; Negative is used with guidance
	Width, Height    int     // pixels
	Steps            int
	Guidance         float64 // 0: none
	Seed             uint64
	Schedule         Schedule
	Noise            []float32 // [channels][height/f][width/f]; nil: drawn from the seed
}

// Picture holds red, green and blue of each pixel, row by row.
type Picture struct {
	Width, Height int
	RGB           []byte
}

// watcher observes a run. The rank's thread calls its functions. The end function of a stage or step is called after
// the device has finished all work of that stage or step. Any function may be nil.
type watcher struct {
	Stage func(s Stage) (end func())
	Step  func(i int) (end func())
	// Stop is called before each stage and each step. An error ends the run. Stop must return the same result on all
	// ranks.
	Stop func() error
}

// Options configure a runner.
type Options struct {
	Format  tensor.Format // format of the weights of encoder and transformer
	Markers bool          // annotate every module call
}

// runner is one rank: it has a share of the encoder, a share of the transformer and a complete decoder. Only one
// goroutine may use it.
type runner struct {
	cfg     *Config
	dev     *device.Device
	text    *model.Runner
	dit     *dit
	vae     *vae
	markers bool
}

// maxTokens is the length of the longest prompt, including the chat template.
const maxTokens = 512

// newRunner loads a rank's weights. group is the rank's end of the tensor-parallel group; nil: there is only one rank.
func newRunner(c *Config, src *Sources, dev *device.Device, group device.Comm, opt Options) (*runner, error) {
	shard := model.Shard{TPSize: 1}
	if group != nil {
		shard = model.Shard{TPRank: group.Rank(), TPSize: group.Size()}
	}
	r := &runner{cfg: c, dev: dev, markers: opt.Markers}
	launch := op.Launcher{Stream: dev.Stream(), Workers: max(dev.Info().SMs, 1)}
	var err error
	r.text, err = model.NewRunner(c.Text, src.Text, shard, dev, model.Groups{TP: group}, model.Options{
		Format: opt.Format, NumBlocks: maxTokens / model.BlockLen, MaxTokens: maxTokens, MaxSeqs: 1, NoGraphs: true, Encoder: true,
		Markers: opt.Markers, Component: textEncoding.Registered + ".text_encoder",
	})
	if err != nil {
		return nil, fmt.Errorf("text_encoder: %w", err)
	}
	if r.dit, err = newDiT(&c.Transformer, src.Transformer, opt.Format, launch, group); err != nil {
		return nil, err
	}
	if r.vae, err = newVAE(&c.VAE, src.VAE, launch); err != nil {
		return nil, err
	}
	r.vae.marker = marker{host: dev.Host(), stage: decoding.Registered, component: "vae", markers: opt.Markers}
	return r, nil
}

// prompts returns the prompts to encode. Every denoising step makes one pass for each prompt.
func (q *Request) prompts() [][]int32 {
	if q.Guidance > 0 {
		return [][]int32{q.Prompt, q.Negative}
	}
	return [][]int32{q.Prompt}
}

// Check returns an error if a request is impossible on ranks that have memory bytes of memory; 0: unknown.
func (c *Config) Check(q *Request, memory int64) error {
	m := c.multiple()
	w, h := c.largest()
	tokens := c.tokens(q)
	t := &c.Transformer
	switch {
	case q.Steps < 1 || q.Steps > c.Scheduler.Train:
		return fmt.Errorf("%d inference steps; want 1 to %d", q.Steps, c.Scheduler.Train)
	case q.Width < m || q.Height < m || q.Width%m != 0 || q.Height%m != 0:
		return fmt.Errorf("size %d×%d: width and height must be positive multiples of %d", q.Width, q.Height, m)
	case q.Width > w || q.Height > h:
		return fmt.Errorf("size %d×%d is too large: this model has positions for %d×%d", q.Width, q.Height, w, h)
	case q.Guidance < 0 || math.IsNaN(q.Guidance) || math.IsInf(q.Guidance, 0):
		return fmt.Errorf("guidance scale %g; want 0 or more", q.Guidance)
	case q.Guidance > 0 && len(q.Negative) == 0:
		return fmt.Errorf("guidance scale %g without a negative prompt", q.Guidance)
	case q.Noise != nil && len(q.Noise) != tokens*t.patchDim():
		return fmt.Errorf("noise of %d values; want %d", len(q.Noise), tokens*t.patchDim())
	}
	most := min(maxTokens, (t.AxesLens[0]-2)/multiple*multiple) // one position is unused, and the picture has one
	for i, p := range q.prompts() {
		if len(p) < 1 || len(p) > most {
			return fmt.Errorf("%s has %d tokens; want 1 to %d", []string{"prompt", "negative prompt"}[i], len(p), most)
		}
	}
	if need := c.memory(q); memory > 0 && need > memory {
		return fmt.Errorf("size %d×%d needs about %.1f GB of memory on each rank, which has %.1f: request a smaller image", q.Width, q.Height, float64(need)/1e9, float64(memory)/1e9)
	}
	return nil
}

// memory estimates the bytes of a rank's activations. Each pass keeps its activations until all steps are done.
func (c *Config) memory(q *Request) int64 {
	t, f := &c.Transformer, c.VAE.factor()
	row := int64(8*t.Dim + 3*t.ffn() + t.CapDim) // residual, queries, keys and values twice, feed-forward
	var rows int64
	for _, p := range q.prompts() {
		rows += int64(padded(c.tokens(q)) + padded(len(p)))
	}
	const buffers, float32Bytes = 3, 4
	return float32Bytes * (rows*row + buffers*int64(c.VAE.elements(q.Width/f, q.Height/f)))
}

// tokens is the number of patches of a picture.
func (c *Config) tokens(q *Request) int { return q.Width / c.multiple() * (q.Height / c.multiple()) }

// Generate generates an image. All ranks must get equal requests in the same order. After an error in a collective, the
// rank cannot be used any more.
func (r *runner) Generate(q *Request, watch watcher) (*Picture, error) {
	g := &generation{runner: r, q: q, watch: watch}
	for _, s := range []struct {
		Stage
		run func() error
	}{
		{validation, func() error { return r.cfg.Check(q, r.dev.Info().Memory) }},
		{textEncoding, g.encode},
		{latents, func() error { g.prepare(); return nil }},
		{timesteps, func() error {
			g.sigmas = r.cfg.Scheduler.sigmas(q.Schedule, q.Steps, r.cfg.tokens(q))
			return nil
		}},
		{denoising, g.denoise},
		{decoding, g.decode},
	} {
		if err := g.stage(s.Stage, s.run); err != nil {
			return nil, err
		}
	}
	return g.picture, nil
}

// generation is one image in progress.
type generation struct {
	*runner
	q       *Request
	watch   watcher
	feats   [2][]float32 // encoder states of the prompt and of the negative prompt
	sigmas  []float64
	latents op.Plane
	picture *Picture
}

// stage runs a stage inside an annotation with the stage's name.
func (g *generation) stage(s Stage, run func() error) error {
	if err := g.stop(); err != nil {
		return err
	}
	name := "STAGE " + s.Registered
	if g.markers {
		name = "stage_" + s.Registered
	}
	if g.watch.Stage != nil {
		defer g.watch.Stage(s)()
	}
	g.dev.Host().Annotate(name)
	defer g.dev.Host().End()
	return run()
}

// stop returns an error if the run must end at this point.
func (g *generation) stop() error {
	if g.watch.Stop == nil {
		return nil
	}
	return g.watch.Stop()
}

// encode computes the encoder's states for each prompt.
func (g *generation) encode() error {
	for i, tokens := range g.q.prompts() {
		states, err := g.text.Encode(tokens)
		if err != nil {
			return err
		}
		g.feats[i] = append([]float32(nil), states...)
	}
	return nil
}

// prepare fills the latents with the initial noise.
func (g *generation) prepare() {
	c := g.cfg
	f := c.VAE.factor()
	w, h, n := g.q.Width/f, g.q.Height/f, c.Transformer.Channels
	noise := g.q.Noise
	if noise == nil {
		noise = make([]float32, w*h*n)
		randn(noise, g.q.Seed)
	}
	g.latents = op.NewPlane(h, w, n)
	for ch := range n {
		for i := range w * h {
			g.latents.Data[i*n+ch] = noise[ch*w*h+i]
		}
	}
}

// denoise removes the noise, step by step.
func (g *generation) denoise() error {
	t := &g.cfg.Transformer
	m := marker{host: g.dev.Host(), stage: denoising.Registered, component: "transformer", markers: g.markers}
	var passes []*ditPass
	for _, feats := range g.feats {
		if feats != nil {
			passes = append(passes, g.dit.newPass(g.latents.W, g.latents.H, feats, len(feats)/t.CapDim, m))
		}
	}
	host := g.dev.Host()
	if g.markers {
		host.Annotate("denoising_loop")
		defer host.End()
	}
	for i := range g.q.Steps {
		if err := g.stop(); err != nil {
			return err
		}
		if err := g.step(i, passes); err != nil {
			return err
		}
	}
	return nil
}

// step runs one step of the loop. It returns when the step's work is done.
func (g *generation) step(i int, passes []*ditPass) error {
	host := g.dev.Host()
	now, next := g.sigmas[i], g.sigmas[i+1]
	timestep := float32(now) * float32(g.cfg.Scheduler.Train)
	if g.watch.Step != nil {
		defer g.watch.Step(i)()
	}
	host.Annotate(fmt.Sprintf("denoising_step_%d_t%.4g", i, timestep))
	defer host.End()
	if g.markers {
		host.Annotate("predict_noise")
	}
	for _, p := range passes {
		p.patchify(g.latents)
		p.forward(float64(float32(g.cfg.Scheduler.Train)-timestep) / float64(g.cfg.Scheduler.Train))
	}
	if g.markers {
		host.End()
		host.Annotate("scheduler_step")
	}
	g.euler(passes, float32(next-now))
	err := g.dit.Stream.Synchronize()
	if g.markers {
		host.End()
	}
	return err
}

// patchify launches the copy from latents to patches.
func (p *ditPass) patchify(x op.Plane) {
	p.d.Launch(device.Kernel{
		Name: "elementwise_kernel_patchify", Op: "aten::permute", Grid: op.Grid(p.patches.Len(), 1), Args: []device.Arg{op.Floats(x.C, x.H, x.W)},
	}, 1, func(int) {
		p.each(x, func(latent, patch []float32, _ int) { copy(patch, latent) }, p.in)
	})
}

// each calls f for every latent. It passes the values of the latent, the corresponding values in the patches, and the
// offset at at which those values begin.
func (p *ditPass) each(x op.Plane, f func(latent, patch []float32, at int), patches []float32) {
	size, width := p.d.cfg.Patch, p.d.cfg.patchDim()
	for i := range x.Rows() {
		row, col := i/x.W, i%x.W
		at := (row/size*p.across+col/size)*width + (row%size*size+col%size)*x.C
		f(x.Data[i*x.C:][:x.C], patches[at:][:x.C], at)
	}
}

// euler launches a step along the velocity, x += d·v. The velocity is the negative of the transformer's output. With
// guidance g, v = v₁ + g·(v₁ − v₂), where v₁ is the velocity for the prompt and v₂ the one for the negative prompt.
func (g *generation) euler(passes []*ditPass, d float32) {
	p := passes[0]
	x := g.latents
	g.dit.Launch(device.Kernel{
		Name: "elementwise_kernel_flow_match_euler", Op: "aten::add", Grid: op.Grid(p.patches.Len(), 1), Args: []device.Arg{op.Floats(x.C, x.H, x.W)},
	}, 1, func(int) {
		guidance := float32(g.q.Guidance)
		p.each(x, func(latent, v []float32, at int) {
			for c := range latent {
				out := v[c]
				if len(passes) > 1 {
					out += guidance * (out - passes[1].out[at+c])
				}
				latent[c] -= d * out
			}
		}, p.out)
	})
}

// decode computes the pixels.
func (g *generation) decode() error {
	v := &g.cfg.VAE
	z := g.latents
	scale, shift := float32(v.Scale), float32(v.Shift)
	g.dit.Launch(device.Kernel{
		Name: "vectorized_elementwise_kernel_scale", Op: "aten::div", Grid: op.Grid(z.Rows(), 1), Args: []device.Arg{op.Floats(z.C, z.H, z.W)},
	}, 1, func(int) {
		for i, x := range z.Data {
			z.Data[i] = x/scale + shift
		}
	})
	out := g.vae.decode(z)
	if err := g.dit.Stream.Synchronize(); err != nil {
		return err
	}
	g.picture = &Picture{Width: out.W, Height: out.H, RGB: make([]byte, len(out.Data))}
	for i, y := range out.Data {
		g.picture.RGB[i] = uint8(math.RoundToEven(float64(min(max(y/2+0.5, 0), 1) * 255)))
	}
	return nil
}
