package hf

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Checkpoint holds the weights of a directory: BASE.safetensors, or the files named in BASE.safetensors.index.json.
type Checkpoint struct {
	dir   string
	files []*File
	where map[string]*File
}

// Base names of weights in transformers and diffusers.
const (
	ModelWeights     = "model"
	DiffusionWeights = "diffusion_pytorch_model"
)

// OpenCheckpoint opens the weights in dir whose base name is base. The caller must close the Checkpoint.
func OpenCheckpoint(dir, base string) (*Checkpoint, error) {
	c := &Checkpoint{dir: dir, where: map[string]*File{}}
	names, index, err := checkpointFiles(dir, base)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		f, err := OpenFile(filepath.Join(dir, name))
		if err != nil {
			c.Close()
			return nil, err
		}
		c.files = append(c.files, f)
		for t := range f.tensors {
			if c.where[t] != nil {
				c.Close()
				return nil, fmt.Errorf("tensor %q is in both %s and %s", t, c.where[t].path, f.path)
			}
			c.where[t] = f
		}
	}
	for t, name := range index {
		if f := c.where[t]; f == nil || filepath.Base(f.path) != name {
			c.Close()
			return nil, fmt.Errorf("%s: %s has no tensor %q, although the index lists it", dir, name, t)
		}
	}
	return c, nil
}

// checkpointFiles returns the files of a directory and, if there is an index, the file of each tensor.
func checkpointFiles(dir, base string) (names []string, index map[string]string, err error) {
	path := filepath.Join(dir, base+".safetensors.index.json")
	data, err := ReadSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, base+".safetensors")); err != nil {
			return nil, nil, fmt.Errorf("%s: no %s.safetensors and no %s.safetensors.index.json; want one, or dummy weights", dir, base, base)
		}
		return []string{base + ".safetensors"}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	r, err := ParseKeys(data)
	if err == nil {
		r.Get("weight_map", &index, "an object of file names")
		err = r.Err
	}
	if err == nil && len(index) == 0 {
		err = errors.New("weight_map names no tensor")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range index {
		// Reject names that contain a path. Otherwise a downloaded index could make this process open any file on the
		// machine.
		if name != filepath.Base(name) || !strings.HasSuffix(name, ".safetensors") {
			return nil, nil, fmt.Errorf("%s: %q is not a plain safetensors file name", path, name)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), index, nil
}

// Close closes all files.
func (c *Checkpoint) Close() error {
	var errs []error
	for _, f := range c.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Names lists the tensors of all files, sorted.
func (c *Checkpoint) Names() []string { return slices.Sorted(maps.Keys(c.where)) }

// Shape returns the sizes of a tensor, outermost first.
func (c *Checkpoint) Shape(name string) ([]int, bool) {
	f := c.where[name]
	if f == nil {
		return nil, false
	}
	return f.Shape(name)
}

// Read fills dst with the tensor's elements beginning at offset off, widened to float32.
func (c *Checkpoint) Read(name string, off int, dst []float32) error {
	f := c.where[name]
	if f == nil {
		return fmt.Errorf("%s: no tensor %q", c.dir, name)
	}
	return f.Read(name, off, dst)
}
