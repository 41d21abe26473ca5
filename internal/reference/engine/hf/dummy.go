package hf

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strings"
)

// Dummy provides random weights of given shapes. An element depends only on the seed, the tensor's name and the
// position in the tensor, so the weights do not depend on how the model is split over ranks. The elements of matrices
// and convolutions are uniformly distributed with variance 1/inputs, which keeps activations in a normal range through
// any number of layers. Vectors are the weights of norms, which are 1, and biases, which are 0.
type Dummy struct {
	seed   uint64
	shapes map[string][]int
}

// NewDummy returns random weights of the given shapes. Each shape lists its outermost dimension first.
func NewDummy(shapes map[string][]int, seed uint64) *Dummy { return &Dummy{seed, shapes} }

// Names lists the tensors, sorted.
func (d *Dummy) Names() []string { return slices.Sorted(maps.Keys(d.shapes)) }

// Shape returns the sizes of a tensor, outermost first.
func (d *Dummy) Shape(name string) ([]int, bool) {
	shape, ok := d.shapes[name]
	return shape, ok
}

// Read fills dst with the tensor's elements beginning at offset off.
func (d *Dummy) Read(name string, off int, dst []float32) error {
	shape, ok := d.shapes[name]
	if !ok {
		return fmt.Errorf("dummy weights: no tensor %q", name)
	}
	if len(shape) == 1 {
		v := float32(0)
		if strings.HasSuffix(name, ".weight") {
			v = 1
		}
		for i := range dst {
			dst[i] = v
		}
		return nil
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	base := Mix(d.seed ^ h.Sum64())
	// The numbers are uniform in [−a, a]. Their variance is a²/3.
	inputs := 1
	for _, n := range shape[1:] {
		inputs *= n
	}
	scale := float32(math.Sqrt(3/float64(inputs))) / (1 << 23)
	for i := range dst {
		bits := Mix(base + uint64(off+i)) // 24 bits: exact as float32
		dst[i] = float32(int32(bits>>40)-1<<23) * scale
	}
	return nil
}

// Mix advances the counter x of SplitMix64 by one step and returns the finalized value (Steele, Lea and Flood, OOPSLA
// 2014).
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
