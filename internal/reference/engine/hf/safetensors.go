package hf

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"sync"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// Source yields the tensors of a checkpoint by their Hugging Face names. A Source is safe for concurrent use, because
// every rank reads its own part of the tensors.
type Source interface {
	// Shape returns the sizes of a tensor, outermost first.
	Shape(name string) (shape []int, ok bool)
	// Names lists all tensors, sorted.
	Names() []string
	// Read fills dst with the tensor's elements beginning at offset off, in row-major order, as float32.
	Read(name string, off int, dst []float32) error
}

// maxHeader is the limit for the JSON header, in bytes. The safetensors library has the same limit.
const maxHeader = 100_000_000

// view locates one tensor.
type view struct {
	dtype string
	shape []int
	begin int64 // offset in the file, bytes
	count int   // number of elements
	size  int   // bytes of an element
}

// File is an open safetensors file (https://github.com/huggingface/safetensors, "Format"). Such a file begins with the
// length of the header as 8 little-endian bytes. The header follows. It is a JSON object with the type, shape and
// offsets of each tensor. The tensors' bytes come last, without gaps.
type File struct {
	path    string
	r       io.ReaderAt
	close   func() error
	tensors map[string]view
}

// OpenFile opens a safetensors file and checks its header. The caller must close it.
func OpenFile(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		var file *File
		if file, err = ParseFile(f, info.Size()); err == nil {
			file.path, file.close = path, f.Close
			return file, nil
		}
	}
	f.Close()
	return nil, fmt.Errorf("%s: %w", path, err)
}

// Close closes the file. After Close, no tensor can be read.
func (f *File) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}

// elemSize is the size in bytes of an element, for the types that can be read as float32.
var elemSize = map[string]int{"F32": 4, "BF16": 2, "F16": 2}

// ParseFile reads the header of a safetensors file of size bytes. ParseFile checks that every tensor lies within the
// file and that the tensors together fill the file. Therefore truncated downloads are detected, and Read can rely on
// all offsets.
func ParseFile(r io.ReaderAt, size int64) (*File, error) {
	var length [8]byte
	if size < 8 {
		return nil, fmt.Errorf("%d bytes are too few for a safetensors file", size)
	}
	if _, err := r.ReadAt(length[:], 0); err != nil {
		return nil, fmt.Errorf("read header length: %w", err)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader || int64(n) > size-8 {
		return nil, fmt.Errorf("header of %d bytes in a file of %d; is it a complete safetensors file?", n, size)
	}
	header := make([]byte, n)
	if _, err := r.ReadAt(header, 8); err != nil && !(errors.Is(err, io.EOF) && int64(n) == size-8) {
		return nil, fmt.Errorf("read header: %w", err)
	}
	var raw map[string]json.RawMessage
	if err := decodeStrict(header, &raw); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	f := &File{r: r, tensors: make(map[string]view, len(raw))}
	for name, text := range raw {
		if name == "__metadata__" {
			continue
		}
		v, err := parseView(text, size-8-int64(n))
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		v.begin += 8 + int64(n)
		f.tensors[name] = v
	}
	return f, f.checkGaps(size)
}

// parseView reads the description of one tensor. data is the number of bytes after the header.
func parseView(text []byte, data int64) (view, error) {
	var t struct {
		DType   string  `json:"dtype"`
		Shape   []int64 `json:"shape"`
		Offsets []int64 `json:"data_offsets"`
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return view{}, err
	}
	size, ok := elemSize[t.DType]
	if !ok {
		return view{}, fmt.Errorf("type %q is not supported; this engine reads F32, BF16 and F16", t.DType)
	}
	if len(t.Offsets) != 2 || t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0] || t.Offsets[1] > data {
		return view{}, fmt.Errorf("data_offsets %v are outside the %d bytes of data", t.Offsets, data)
	}
	v := view{dtype: t.DType, begin: t.Offsets[0], count: 1, size: size}
	for _, d := range t.Shape {
		if d < 0 || d > math.MaxInt32 || d > 0 && int64(v.count) > math.MaxInt64/8/d {
			return view{}, fmt.Errorf("shape %v is invalid", t.Shape)
		}
		v.shape = append(v.shape, int(d))
		v.count *= int(d)
	}
	if got := t.Offsets[1] - t.Offsets[0]; got != int64(v.count)*int64(size) {
		return view{}, fmt.Errorf("shape %v of %s takes %d bytes, data_offsets hold %d", t.Shape, t.DType, int64(v.count)*int64(size), got)
	}
	return v, nil
}

// checkGaps verifies that the tensors fill the file from the header to the end without gaps, as the format requires.
func (f *File) checkGaps(size int64) error {
	if len(f.tensors) == 0 {
		return errors.New("no tensors")
	}
	names := f.Names()
	sorts.Stable(names, func(a, b string) int {
		va, vb := f.tensors[a], f.tensors[b]
		return cmp.Or(cmp.Compare(va.begin, vb.begin), cmp.Compare(va.count, vb.count)) // empty tensors first
	})
	at := f.tensors[names[0]].begin
	for _, name := range names {
		v := f.tensors[name]
		if v.begin != at {
			return fmt.Errorf("tensor %q begins at byte %d; the one before ends at %d", name, v.begin, at)
		}
		at += int64(v.count) * int64(v.size)
	}
	if at != size {
		return fmt.Errorf("tensors end at byte %d of %d", at, size)
	}
	return nil
}

// Names lists the tensors, sorted.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.tensors)) }

// Shape returns the sizes of a tensor, outermost first.
func (f *File) Shape(name string) ([]int, bool) {
	v, ok := f.tensors[name]
	return v.shape, ok
}

// readChunk is the number of bytes read at once.
const readChunk = 1 << 16

var readBuffers = sync.Pool{New: func() any { return new([readChunk]byte) }}

// Read fills dst with the tensor's elements beginning at offset off, widened to float32.
func (f *File) Read(name string, off int, dst []float32) error {
	v, ok := f.tensors[name]
	if !ok {
		return fmt.Errorf("%s: no tensor %q", f.path, name)
	}
	if off < 0 || off > v.count || len(dst) > v.count-off {
		return fmt.Errorf("%s: elements %d to %d of %q, which has %d", f.path, off, off+len(dst), name, v.count)
	}
	buf := readBuffers.Get().(*[readChunk]byte)
	defer readBuffers.Put(buf)
	at := v.begin + int64(off)*int64(v.size)
	for len(dst) > 0 {
		n := min(len(dst), readChunk/v.size)
		b := buf[:n*v.size]
		if got, err := f.r.ReadAt(b, at); got < len(b) {
			return fmt.Errorf("%s: read %q: %w", f.path, name, err)
		}
		widen(v.dtype, dst[:n], b)
		dst, at = dst[n:], at+int64(len(b))
	}
	return nil
}

// widen converts little-endian elements to float32, exactly.
func widen(dtype string, dst []float32, b []byte) {
	switch dtype {
	case "F32":
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case "BF16":
		for i := range dst {
			dst[i] = tensor.FromBF16(binary.LittleEndian.Uint16(b[2*i:]))
		}
	case "F16":
		for i := range dst {
			dst[i] = fromF16(binary.LittleEndian.Uint16(b[2*i:]))
		}
	}
}

// fromF16 returns the value of an IEEE 754 half: 1 sign, 5 exponent and 10 fraction bits.
func fromF16(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exp, frac := uint32(h>>10)&31, uint32(h)&1023
	switch exp {
	case 0: // zero and subnormals: frac · 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(frac)*(1.0/(1<<24))))
	case 31:
		return math.Float32frombits(sign | 255<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
