package diffusion

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/internal/base/tokenizer"
	"github.com/stepscope/stepscope/internal/reference/engine/hf"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
)

// Sources yield the weights of a pipeline's parts. Close them when all ranks are loaded.
type Sources struct {
	Text, Transformer, VAE hf.Source
	open                   []*hf.Checkpoint
}

// Close closes the files.
func (s *Sources) Close() error {
	var errs []error
	for _, c := range s.open {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// dummySeed is the seed of the random weights, which are therefore the same in every run.
const dummySeed = 1

// dummy returns random weights for c.
func (c *Config) dummy() *Sources {
	return &Sources{
		Text:        model.NewDummy(c.Text, dummySeed),
		Transformer: hf.NewDummy(c.Transformer.tensors(), dummySeed),
		VAE:         hf.NewDummy(c.VAE.tensors(), dummySeed),
	}
}

// Is reports whether a model path names an image pipeline: a built-in one, or a directory with a model_index.json.
func Is(path string) bool {
	if strings.HasPrefix(path, model.BuiltinPrefix) {
		return isBuiltin(path)
	}
	_, err := os.Stat(filepath.Join(path, "model_index.json"))
	return err == nil
}

// Open returns the configuration, the weights and the tokenizer of a model path: "builtin:" and a name, or a directory
// in Diffusers' layout. If dummy is set, Open uses random weights and does not read the weights in the directory. Open
// checks that the weights match the configuration.
func Open(path string, dummy bool) (*Config, *Sources, *tokenizer.Tokenizer, error) {
	fail := func(err error) (*Config, *Sources, *tokenizer.Tokenizer, error) { return nil, nil, nil, err }
	if strings.HasPrefix(path, model.BuiltinPrefix) {
		c, err := builtin(path)
		if err != nil {
			return fail(err)
		}
		t, err := tokenizer.ByteLevel(c.Text.Vocab)
		return c, c.dummy(), t, err
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return fail(fmt.Errorf("model path %q is not a directory; give a local Diffusers directory of class %s, or %s with one of %s",
			path, strings.Join(pipelines, ", "), model.BuiltinPrefix, strings.Join(Builtins(), ", ")))
	}
	c, err := loadConfig(path)
	if err != nil {
		return fail(err)
	}
	t, err := tokenizer.Load(filepath.Join(path, "tokenizer"))
	if err != nil {
		return fail(fmt.Errorf("tokenizer: %w", err))
	}
	if dummy {
		return c, c.dummy(), t, nil
	}
	s := &Sources{}
	for _, p := range []struct {
		dir, base string
		src       *hf.Source
		check     func(hf.Source) error
	}{
		{"transformer", hf.DiffusionWeights, &s.Transformer, func(src hf.Source) error {
			return c.Transformer.tensors().check(src, func(string) bool { return false })
		}},
		{"vae", hf.DiffusionWeights, &s.VAE, func(src hf.Source) error { return c.VAE.tensors().check(src, encoderHalf) }},
		{"text_encoder", hf.ModelWeights, &s.Text, func(src hf.Source) error { return c.Text.CheckSource(src) }},
	} {
		dir := filepath.Join(path, p.dir)
		ck, err := hf.OpenCheckpoint(dir, p.base)
		if err == nil {
			s.open = append(s.open, ck)
			*p.src = ck
			if p.src == &s.Text {
				*p.src = whole(ck)
			}
			if err = p.check(*p.src); err != nil {
				err = fmt.Errorf("%s: %w", dir, err)
			}
		}
		if err != nil {
			s.Close()
			return fail(err)
		}
	}
	return c, s, t, nil
}

// inner is a decoder that was saved without the enclosing model, so its tensor names lack the prefix.
type inner struct{ hf.Source }

const prefix = "model."

// whole renames the tensors of a decoder to their names in a language model.
func whole(src hf.Source) hf.Source {
	if _, ok := src.Shape(prefix + "norm.weight"); ok {
		return src
	}
	return inner{src}
}

func (s inner) Names() []string {
	names := s.Source.Names()
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}

func (s inner) Shape(name string) ([]int, bool) {
	return s.Source.Shape(strings.TrimPrefix(name, prefix))
}

func (s inner) Read(name string, off int, dst []float32) error {
	return s.Source.Read(strings.TrimPrefix(name, prefix), off, dst)
}
