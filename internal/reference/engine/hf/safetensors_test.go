package hf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pack makes a safetensors file from a header and n bytes of ascending data.
func pack(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	for i := range n {
		b = append(b, byte(i))
	}
	return b
}

func parse(b []byte) (*File, error) { return ParseFile(bytes.NewReader(b), int64(len(b))) }

func TestSafetensorsTypes(t *testing.T) {
	data := []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0} // 1, -2
	data = append(data, 0x80, 0x3f, 0x49, 0x40)     // bf16 1, 3.140625
	for _, h := range []uint16{0x3c00, 0xc000, 0x3555, 0x0001, 0x8000, 0x7bff, 0x7c00, 0x03ff} {
		data = binary.LittleEndian.AppendUint16(data, h)
	}
	header := `{"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},` +
		`"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"h":{"dtype":"F16","shape":[2,4],"data_offsets":[12,28]}}   `
	f, err := parse(append(pack(header, 0), data...))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]float32{
		"a": {1, -2},
		"b": {1, 3.140625},
		"h": {1, -2, 0.333251953125, 5.960464477539063e-08, float32(math.Copysign(0, -1)), 65504, float32(math.Inf(1)), 6.097555160522461e-05},
	} {
		got := make([]float32, len(want))
		if err := f.Read(name, 0, got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
	if shape, ok := f.Shape("h"); !ok || !slices.Equal(shape, []int{2, 4}) {
		t.Errorf("shape of h is %v", shape)
	}
	part := make([]float32, 2)
	if err := f.Read("h", 5, part); err != nil || part[0] != 65504 {
		t.Errorf("elements 5 and 6 of h: %v, %v", part, err)
	}
	for _, off := range []int{-1, 7, math.MaxInt} {
		if err := f.Read("h", off, part); err == nil {
			t.Errorf("two elements from %d of 8 were read", off)
		}
	}
	if err := f.Read("x", 0, part); err == nil {
		t.Error("a tensor that does not exist was read")
	}
}

func TestSafetensorsBroken(t *testing.T) {
	tensor := func(dtype, shape, offsets string) string {
		return fmt.Sprintf(`"t":{"dtype":%q,"shape":%s,"data_offsets":%s}`, dtype, shape, offsets)
	}
	cases := []struct {
		name, header string
		data         int
		want         string
	}{
		{"truncated", `{` + tensor("F32", "[4]", "[0,16]") + `}`, 15, "outside the 15 bytes"},
		{"trailing", `{` + tensor("F32", "[4]", "[0,16]") + `}`, 17, "tensors end at byte"},
		{"shape of another size", `{` + tensor("F32", "[5]", "[0,16]") + `}`, 16, "takes 20 bytes, data_offsets hold 16"},
		{"product overflows", `{` + tensor("F32", "[2147483647,2147483647,2147483647,4]", "[0,16]") + `}`, 16, "is invalid"},
		{"negative size", `{` + tensor("F32", "[-2,-2]", "[0,16]") + `}`, 16, "is invalid"},
		{"offsets fall", `{` + tensor("F32", "[0]", "[16,0]") + `}`, 16, "outside the 16 bytes"},
		{"one offset", `{` + tensor("F32", "[4]", "[0]") + `}`, 16, "outside the 16 bytes"},
		{"unknown type", `{` + tensor("I8", "[16]", "[0,16]") + `}`, 16, `type "I8" is not supported`},
		{"overlap", `{` + tensor("F32", "[4]", "[0,16]") + `,"u":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}}`, 16, "begins at byte"},
		{"gap", `{` + tensor("F32", "[2]", "[0,8]") + `,"u":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}}`, 16, "begins at byte"},
		{"empty", `{}`, 0, "no tensors"},
		{"no object", `[]`, 0, "header"},
		{"two values", `{}{}`, 0, "text after"},
	}
	for _, c := range cases {
		if _, err := parse(pack(c.header, c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.name, err, c.want)
		}
	}
	for _, b := range [][]byte{nil, make([]byte, 7), binary.LittleEndian.AppendUint64(nil, 1<<63), binary.LittleEndian.AppendUint64(nil, 1)} {
		if _, err := parse(b); err == nil {
			t.Errorf("%d bytes were accepted", len(b))
		}
	}
}

func TestCheckpointIndex(t *testing.T) {
	one := pack(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4)
	two := pack(`{"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4)
	cases := []struct {
		name  string
		files map[string][]byte
		want  string // of the error
	}{
		{"two files", map[string][]byte{"1.safetensors": one, "2.safetensors": two,
			"model.safetensors.index.json": []byte(`{"metadata":{},"weight_map":{"a":"1.safetensors","b":"2.safetensors"}}`)}, ""},
		{"nothing", nil, "no model.safetensors"},
		{"a file is missing", map[string][]byte{"model.safetensors.index.json": []byte(`{"weight_map":{"a":"1.safetensors"}}`)}, "1.safetensors"},
		{"the index is wrong", map[string][]byte{"1.safetensors": one,
			"model.safetensors.index.json": []byte(`{"weight_map":{"b":"1.safetensors"}}`)}, `has no tensor "b"`},
		{"twice", map[string][]byte{"1.safetensors": one, "2.safetensors": one,
			"model.safetensors.index.json": []byte(`{"weight_map":{"a":"1.safetensors","c":"2.safetensors"}}`)}, `tensor "a" is in`},
		{"outside", map[string][]byte{"model.safetensors.index.json": []byte(`{"weight_map":{"a":"../1.safetensors"}}`)}, "not a plain safetensors file name"},
		{"no map", map[string][]byte{"model.safetensors.index.json": []byte(`{}`)}, "weight_map names no tensor"},
	}
	for _, c := range cases {
		dir := t.TempDir()
		for name, data := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		ck, err := OpenCheckpoint(dir, ModelWeights)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v; want %s", c.name, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := ck.Names(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("names %q", got)
		}
		ck.Close()
	}
}

func FuzzSafetensors(f *testing.F) {
	f.Add(pack(`{"a":{"dtype":"F16","shape":[2,1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[],"data_offsets":[4,8]}}`, 8))
	f.Add(pack(`{"a":{"dtype":"BF16","shape":[0,3],"data_offsets":[0,0]},"b":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}`, 2))
	f.Add(pack(`{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}`, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := parse(b)
		if err != nil {
			return
		}
		total := 0
		for _, name := range file.Names() {
			shape, _ := file.Shape(name)
			n := 1
			for _, d := range shape {
				n *= d
			}
			if n > len(b) {
				t.Fatalf("tensor of %d elements in %d bytes", n, len(b))
			}
			if err := file.Read(name, 0, make([]float32, n)); err != nil {
				t.Fatalf("read of a checked tensor: %v", err)
			}
			total += n * file.tensors[name].size
		}
		if total > len(b) {
			t.Fatalf("%d bytes of tensors in %d", total, len(b))
		}
	})
}
