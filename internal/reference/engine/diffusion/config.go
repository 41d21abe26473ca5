package diffusion

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/reference/engine/hf"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
)

// Config is the configuration of a whole pipeline.
type Config struct {
	Text        *model.Config // the text encoder; the last layer and the final norm are not used
	Transformer Transformer
	VAE         VAE
	Scheduler   Scheduler
	Pipeline    string   // class in model_index.json
	Default     Defaults // used for parameters that a request leaves out
	Notes       []string // configuration members that are not used
}

// Defaults are the defaults of SGLang's sampling parameter classes for a model.
type Defaults struct {
	Width, Height, Steps int
	Guidance             float64
}

// turbo are the defaults of Z-Image-Turbo.
var turbo = Defaults{Width: 1024, Height: 1024, Steps: 9}

// Transformer is the denoising network. Sizes are in elements.
type Transformer struct {
	Patch     int // side length of a patch, in latents
	Channels  int // channels of a latent
	Dim       int
	Layers    int
	Refiners  int // layers for the picture alone; the caption has the same number
	Heads     int
	CapDim    int // width of the text encoder's states
	AxesDims  []int
	AxesLens  []int
	NormEps   float64
	QKNorm    bool
	RopeTheta float64
	TScale    float64
}

// headDim is the width of a head.
func (t *Transformer) headDim() int { return t.Dim / t.Heads }

// ffn is the width of the feed-forward.
func (t *Transformer) ffn() int { return int(float64(t.Dim) / 3 * 8) }

// condDim is the width of the vector that modulates blocks.
func (t *Transformer) condDim() int { return min(t.Dim, 256) }

// patchDim is the number of values in a patch.
func (t *Transformer) patchDim() int { return t.Patch * t.Patch * t.Channels }

// VAE is the decoder of an autoencoder.
type VAE struct {
	Channels     []int // channels of each block, shallowest block first
	Layers       int   // resnets per block of the encoder; a decoder block has one more
	Groups       int
	Latent, Out  int
	Scale, Shift float64
	PostQuant    bool
	MidAttention bool
}

// factor is the number of pixels per latent along each side.
func (v *VAE) factor() int { return 1 << (len(v.Channels) - 1) }

// Scheduler configures FlowMatchEulerDiscreteScheduler.
type Scheduler struct {
	Train   int // number of timesteps in training
	Shift   float64
	Dynamic bool // the shift depends on the number of tokens
	// The values of the dynamic shift at BaseTokens and at MaxTokens.
	BaseShift, MaxShift   float64
	BaseTokens, MaxTokens int
}

// multiple returns the number of pixels of which width and height must be multiples.
func (c *Config) multiple() int { return c.VAE.factor() * c.Transformer.Patch }

// largest returns the maximum width and height, in pixels, for which the transformer has positions.
func (c *Config) largest() (width, height int) {
	return c.multiple() * c.Transformer.AxesLens[2], c.multiple() * c.Transformer.AxesLens[1]
}

// parts lists the parts that model_index.json must name, with the supported classes and the configuration file of each.
var parts = []struct {
	name    string
	classes []string
	config  string
}{
	{"transformer", []string{"ZImageTransformer2DModel"}, "config.json"},
	{"text_encoder", []string{"Qwen3Model", "Qwen3ForCausalLM"}, "config.json"},
	{"vae", []string{"AutoencoderKL"}, "config.json"},
	{"tokenizer", []string{"Qwen2Tokenizer", "Qwen2TokenizerFast"}, ""},
	{"scheduler", []string{"FlowMatchEulerDiscreteScheduler"}, "scheduler_config.json"},
}

// pipelines are the classes of model_index.json that this package runs.
var pipelines = []string{"ZImagePipeline"}

// loadConfig reads a directory in Diffusers' layout.
func loadConfig(dir string) (*Config, error) {
	path := filepath.Join(dir, "model_index.json")
	index, err := hf.ReadSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no model_index.json: not a Diffusers pipeline directory", dir)
	}
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	c := &Config{Default: turbo}
	if c.Pipeline, err = checkIndex(index); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, p := range parts {
		if p.config == "" {
			continue
		}
		path := filepath.Join(dir, p.name, p.config)
		data, err := hf.ReadSmall(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is missing: model_index.json names a %s", path, p.name)
		}
		if err != nil {
			return nil, err
		}
		files[p.name] = data
	}
	if err := c.parse(files); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	w, h := c.largest()
	c.Default.Width, c.Default.Height = min(c.Default.Width, w), min(c.Default.Height, h)
	return c, nil
}

// checkIndex returns the pipeline's class, or an error that names an unsupported part.
func checkIndex(data []byte) (string, error) {
	k, err := hf.ParseKeys(data)
	if err != nil {
		return "", err
	}
	class := k.Str("_class_name", "")
	if k.Err == nil && !slices.Contains(pipelines, class) {
		return "", fmt.Errorf("pipeline %q is not supported; this engine runs %s", class, strings.Join(pipelines, ", "))
	}
	for _, p := range parts {
		var pair []*string
		if !k.Get(p.name, &pair, "a library and a class") || len(pair) != 2 || pair[1] == nil {
			if k.Err == nil {
				return "", fmt.Errorf("no %s", p.name)
			}
			break
		}
		if !slices.Contains(p.classes, *pair[1]) {
			return "", fmt.Errorf("%s of class %q is not supported; this engine runs %s", p.name, *pair[1], strings.Join(p.classes, ", "))
		}
	}
	return class, k.Err
}

// parse reads the configurations of the parts, keyed by part name.
func (c *Config) parse(files map[string][]byte) error {
	for _, p := range []struct {
		name string
		read func(*hf.Keys)
	}{{"transformer", c.Transformer.parse}, {"vae", c.VAE.parse}, {"scheduler", c.Scheduler.parse}} {
		k, err := hf.ParseKeys(files[p.name])
		if err == nil {
			p.read(k)
			err = k.Err
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, key := range k.Unread(harmless) {
			c.Notes = append(c.Notes, p.name+": "+key)
		}
	}
	// The text encoder is a decoder model without a head, regardless of the class from which its weights were saved.
	overrides, _ := json.Marshal(map[string]any{"architectures": nil, "tie_word_embeddings": true})
	text, err := model.ParseConfig(files["text_encoder"], overrides)
	if err != nil {
		return fmt.Errorf("text_encoder: %w", err)
	}
	c.Text = text
	return c.check()
}

func (t *Transformer) parse(k *hf.Keys) {
	patches, frames := k.IDs("all_patch_size"), k.IDs("all_f_patch_size")
	t.Patch = 2
	if len(patches) > 0 {
		t.Patch = int(patches[0])
	}
	if len(patches) > 1 || len(frames) > 1 || len(frames) == 1 && frames[0] != 1 {
		k.Fail("all_patch_size %v and all_f_patch_size %v: this engine supports one size, of one frame", patches, frames)
	}
	t.Channels = k.Int("in_channels", 16)
	t.Dim, t.Layers, t.Refiners = k.Int("dim", 3840), k.Int("n_layers", 30), k.Int("n_refiner_layers", 2)
	t.Heads = k.Int("n_heads", 30)
	if kv := k.Int("n_kv_heads", t.Heads); kv != t.Heads {
		k.Fail("n_kv_heads is %d, but n_heads is %d; they must be equal", kv, t.Heads)
	}
	t.CapDim = k.Int("cap_feat_dim", 2560)
	t.NormEps, t.QKNorm = k.Float("norm_eps", 1e-5), k.Bool("qk_norm", true)
	t.RopeTheta, t.TScale = k.Float("rope_theta", 256), k.Float("t_scale", 1000)
	t.AxesDims, t.AxesLens = []int{32, 48, 48}, []int{1024, 512, 512}
	k.Get("axes_dims", &t.AxesDims, "a list of integers")
	k.Get("axes_lens", &t.AxesLens, "a list of integers")
	if k.Int("siglip_feat_dim", 0) != 0 {
		k.Fail("siglip_feat_dim: image input is not supported")
	}
}

func (v *VAE) parse(k *hf.Keys) {
	k.Get("block_out_channels", &v.Channels, "a list of integers")
	v.Layers, v.Groups = k.Int("layers_per_block", 1), k.Int("norm_num_groups", 32)
	v.Latent, v.Out = k.Int("latent_channels", 4), k.Int("out_channels", 3)
	v.Scale, v.Shift = k.Float("scaling_factor", 0.18215), k.Float("shift_factor", 0)
	v.PostQuant, v.MidAttention = k.Bool("use_post_quant_conv", true), k.Bool("mid_block_add_attention", true)
	if act := k.Str("act_fn", "silu"); act != "silu" {
		k.Fail("act_fn %q is not supported; this engine supports silu", act)
	}
	for i, kind := range k.Strings("up_block_types") {
		if kind != "UpDecoderBlock2D" {
			k.Fail("up_block_types: block %d is %q; this engine supports UpDecoderBlock2D", i, kind)
		}
	}
}

func (s *Scheduler) parse(k *hf.Keys) {
	s.Train, s.Shift, s.Dynamic = k.Int("num_train_timesteps", 1000), k.Float("shift", 1), k.Bool("use_dynamic_shifting", false)
	s.BaseShift, s.MaxShift = k.Float("base_shift", 0.5), k.Float("max_shift", 1.15)
	s.BaseTokens, s.MaxTokens = k.Int("base_image_seq_len", 256), k.Int("max_image_seq_len", 4096)
	for _, key := range []string{"invert_sigmas", "use_karras_sigmas", "use_exponential_sigmas", "use_beta_sigmas", "stochastic_sampling"} {
		if k.Bool(key, false) {
			k.Fail("%s is not supported", key)
		}
	}
	if k.Float("shift_terminal", 0) != 0 {
		k.Fail("shift_terminal is not supported")
	}
	if kind := k.Str("time_shift_type", "exponential"); kind != "exponential" {
		k.Fail("time_shift_type %q is not supported; this engine supports exponential", kind)
	}
}

// check returns an error if the configuration of a part is impossible or if two parts are incompatible.
func (c *Config) check() error {
	t, v := &c.Transformer, &c.VAE
	const most = 1 << 16
	for _, f := range []struct {
		name   string
		v      int
		lo, hi int
	}{
		{"transformer: dim", t.Dim, 2, most}, {"transformer: n_layers", t.Layers, 1, 1 << 10},
		{"transformer: n_refiner_layers", t.Refiners, 0, 1 << 10}, {"transformer: n_heads", t.Heads, 1, t.Dim},
		{"transformer: in_channels", t.Channels, 1, 1 << 10}, {"transformer: all_patch_size", t.Patch, 1, 64},
		{"transformer: cap_feat_dim", t.CapDim, 1, most}, {"vae: layers_per_block", v.Layers, 1, 64},
		{"vae: latent_channels", v.Latent, 1, 1 << 10}, {"vae: block_out_channels", len(v.Channels), 1, 8},
		{"vae: norm_num_groups", v.Groups, 1, most}, {"scheduler: num_train_timesteps", c.Scheduler.Train, 1, 1 << 20},
	} {
		if f.v < f.lo || f.v > f.hi {
			return fmt.Errorf("%s is %d; want %d to %d", f.name, f.v, f.lo, f.hi)
		}
	}
	if len(t.AxesDims) != 3 || len(t.AxesLens) != 3 {
		return fmt.Errorf("transformer: axes_dims %v and axes_lens %v; want three of each", t.AxesDims, t.AxesLens)
	}
	sum := 0
	for i, d := range t.AxesDims {
		if d < 2 || d%2 != 0 || t.AxesLens[i] < 1 || t.AxesLens[i] > 1<<20 {
			return fmt.Errorf("transformer: axis %d has %d elements and %d positions; want an even number and at least one", i, d, t.AxesLens[i])
		}
		sum += d
	}
	switch {
	case t.Dim%t.Heads != 0 || sum != t.headDim():
		return fmt.Errorf("transformer: axes_dims %v add up to %d; want dim / n_heads = %d / %d", t.AxesDims, sum, t.Dim, t.Heads)
	case t.CapDim != c.Text.Hidden:
		return fmt.Errorf("transformer: cap_feat_dim is %d, but hidden_size of text_encoder is %d; they must be equal", t.CapDim, c.Text.Hidden)
	case t.Channels != v.Latent:
		return fmt.Errorf("transformer: in_channels is %d, but latent_channels of vae is %d; they must be equal", t.Channels, v.Latent)
	case v.Out != 3:
		return fmt.Errorf("vae: out_channels is %d; want 3, for red, green and blue", v.Out)
	case c.Text.Layers < 2 || c.Text.Experts > 0:
		return fmt.Errorf("text_encoder: want at least two layers and no experts")
	case !(v.Scale != 0) || !(c.Scheduler.Shift > 0):
		return fmt.Errorf("scaling_factor of vae is %g and shift of scheduler %g; they must be nonzero and positive, respectively", v.Scale, c.Scheduler.Shift)
	}
	if s := &c.Scheduler; s.Dynamic && s.BaseTokens == s.MaxTokens {
		return fmt.Errorf("scheduler: base_image_seq_len and max_image_seq_len are both %d; with use_dynamic_shifting they must differ", s.MaxTokens)
	}
	for _, n := range v.Channels {
		if n < 1 || n > most || n%v.Groups != 0 {
			return fmt.Errorf("vae: a block of %d channels cannot be split into %d groups", n, v.Groups)
		}
	}
	return nil
}

// CheckShard returns an error if the transformer or the encoder cannot be split over tp ranks.
func (c *Config) CheckShard(tp int) error {
	if tp < 1 || c.Transformer.Heads%tp != 0 {
		return fmt.Errorf("n_heads %d of the transformer is not divisible by tp-size %d", c.Transformer.Heads, tp)
	}
	if err := c.Text.CheckShard(model.Shard{TPSize: tp}); err != nil {
		return fmt.Errorf("text_encoder: %w", err)
	}
	return nil
}

// harmless lists the ignored members of Diffusers' configurations that concern only training, the encoder half of the
// autoencoder, or the file itself.
var harmless = map[string]bool{
	"_class_name": true, "_diffusers_version": true, "_name_or_path": true, "down_block_types": true, "in_channels": true,
	"sample_size": true, "force_upcast": true, "use_quant_conv": true, "latents_mean": true, "latents_std": true,
}
