package model

import (
	"fmt"
	"os"
	"strings"

	"github.com/stepscope/stepscope/internal/reference/engine/hf"
)

// dummySeed makes the dummy weights the same in every run.
const dummySeed = 1

// Open returns the configuration and the weights of a model path: BuiltinPrefix and a name, or a Hugging Face
// directory. If dummy is set, Open uses random weights and does not read the weights in the directory (SGLang's
// --load-format dummy). overrides is passed to [LoadConfig]. Open checks that the weights match the configuration. The
// caller must close src after all ranks have been loaded.
func Open(path string, dummy bool, overrides []byte) (c *Config, src hf.Source, closeSource func() error, err error) {
	nothing := func() error { return nil }
	if strings.HasPrefix(path, BuiltinPrefix) {
		if c, err = BuiltinConfig(path, overrides); err != nil {
			return nil, nil, nil, err
		}
		return c, NewDummy(c, dummySeed), nothing, nil
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, nil, nil, fmt.Errorf("model path %q is not a directory; give a local Hugging Face directory, or %s with one of %s",
			path, BuiltinPrefix, strings.Join(Builtins(), ", "))
	}
	if c, err = LoadConfig(path, overrides); err != nil {
		return nil, nil, nil, err
	}
	if dummy {
		return c, NewDummy(c, dummySeed), nothing, nil
	}
	ck, err := hf.OpenCheckpoint(path, hf.ModelWeights)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := c.CheckSource(ck); err != nil {
		ck.Close()
		return nil, nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, ck, ck.Close, nil
}
