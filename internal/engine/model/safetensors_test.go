package model

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

// pack makes a safetensors file of a header and n bytes of data that count up.
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
		t.Error("a tensor that is not there was read")
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
		{"truncated", `{` + tensor("F32", "[4]", "[0,16]") + `}`, 15, "do not lie in the 15 bytes"},
		{"trailing", `{` + tensor("F32", "[4]", "[0,16]") + `}`, 17, "tensors end at byte"},
		{"shape of another size", `{` + tensor("F32", "[5]", "[0,16]") + `}`, 16, "takes 20 bytes, data_offsets hold 16"},
		{"product overflows", `{` + tensor("F32", "[2147483647,2147483647,2147483647,4]", "[0,16]") + `}`, 16, "impossible"},
		{"negative size", `{` + tensor("F32", "[-2,-2]", "[0,16]") + `}`, 16, "impossible"},
		{"offsets fall", `{` + tensor("F32", "[0]", "[16,0]") + `}`, 16, "do not lie"},
		{"one offset", `{` + tensor("F32", "[4]", "[0]") + `}`, 16, "do not lie"},
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
		{"outside", map[string][]byte{"model.safetensors.index.json": []byte(`{"weight_map":{"a":"../1.safetensors"}}`)}, "no plain name"},
		{"no map", map[string][]byte{"model.safetensors.index.json": []byte(`{}`)}, "weight_map names no tensor"},
	}
	for _, c := range cases {
		dir := t.TempDir()
		for name, data := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		ck, err := OpenCheckpoint(dir)
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

// TestCheckSource: a checkpoint that does not fit its config.json is not run.
func TestCheckSource(t *testing.T) {
	base := `"hidden_size": 32, "num_hidden_layers": 1, "vocab_size": 64, "bos_token_id": null, "eos_token_id": 0`
	src := func(overrides string) Source { return NewDummy(mustConfig(t, "llama-tiny", overrides), 1) }
	cases := []struct{ config, weights, want string }{
		{`{` + base + `}`, `{` + base + `}`, ""},
		{`{` + base + `, "tie_word_embeddings": true}`, `{` + base + `}`, ""}, // a head beside the embedding
		{`{` + base + `}`, `{` + base + `, "attention_bias": true}`, `bias" has no place in LlamaForCausalLM`},
		{`{` + base + `, "attention_bias": true}`, `{` + base + `}`, `"model.layers.0.self_attn.k_proj.bias" is missing (and 3 more)`},
		{`{` + base + `}`, `{` + base + `, "intermediate_size": 48}`, "config.json says"},
		{`{` + base + `}`, `{` + base + `, "tie_word_embeddings": true}`, `"lm_head.weight" is missing`},
	}
	for _, c := range cases {
		err := mustConfig(t, "llama-tiny", c.config).CheckSource(src(c.weights))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s for %s: %v; want %q", c.weights, c.config, err, c.want)
		}
	}
}

// TestDummy: elements depend on name, seed and place alone, and have the variance that was promised.
func TestDummy(t *testing.T) {
	c := mustConfig(t, "llama-tiny", "")
	const name, n = "model.layers.1.mlp.down_proj.weight", 256 * 768
	read := func(seed uint64, name string, off, n int) []float32 {
		v := make([]float32, n)
		if err := NewDummy(c, seed).Read(name, off, v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	all := read(1, name, 0, n)
	if !slices.Equal(read(1, name, 1000, 500), all[1000:1500]) {
		t.Error("a part read alone differs")
	}
	if slices.Equal(read(2, name, 0, 100), all[:100]) || slices.Equal(read(1, "lm_head.weight", 0, 100), all[:100]) {
		t.Error("seed or name make no difference")
	}
	sum, squares := 0.0, 0.0
	for _, v := range all {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	if mean, variance := sum/n, squares/n*768; math.Abs(mean) > 5e-4 || math.Abs(variance-1) > 0.01 {
		t.Errorf("mean %g, variance %g/columns", mean, variance)
	}
	if v := read(1, "model.norm.weight", 0, 1); v[0] != 1 {
		t.Errorf("a norm is %g", v[0])
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
