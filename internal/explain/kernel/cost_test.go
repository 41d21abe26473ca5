package kernel

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestOpCost(t *testing.T) {
	tests := []struct {
		name, op, dims, types string
		flops, bytes          int64 // flops < 0: no cost
	}{
		// 2·16·4096·32000 and 2·(16·4096 + 4096·32000 + 16·32000)
		{"mm", "aten::mm", `[[16, 4096], [4096, 32000]]`, `["c10::BFloat16", "c10::BFloat16"]`, 4194304000, 263299072},
		{"addmm adds M·N", "aten::addmm", `[[3], [2, 4], [4, 3], [], []]`, `["float", "float", "float", "Scalar", "Scalar"]`, 48 + 6, 4 * (8 + 12 + 6 + 3)},
		{"bmm", "aten::bmm", `[[5, 2, 4], [5, 4, 3]]`, `["c10::Half", "c10::Half"]`, 2 * 5 * 24, 2 * 5 * (8 + 12 + 6)},
		{"baddbmm", "aten::baddbmm", `[[5, 2, 3], [5, 2, 4], [5, 4, 3], [], []]`, `["float", "float", "float", "Scalar", "Scalar"]`, 240 + 30, 4 * (40 + 60 + 30 + 30)},
		{"matmul broadcasts the weight", "aten::matmul", `[[16, 512, 4096], [4096, 1536]]`, `["c10::BFloat16", "c10::BFloat16"]`,
			2 * 16 * 512 * 4096 * 1536, 2 * (16*512*4096 + 4096*1536 + 16*512*1536)},
		{"matmul of vectors", "aten::matmul", `[[7], [7]]`, `["float", "float"]`, 14, 4 * 15},
		{"matmul broadcasts ones", "aten::matmul", `[[4, 1, 2, 3], [5, 3, 6]]`, `["float", "float"]`, 2 * 20 * 36, 4 * (24 + 90 + 240)},
		{"linear", "aten::linear", `[[16, 1, 1024], [4096, 1024], []]`, `["c10::BFloat16", "c10::BFloat16", ""]`, 134217728, 2 * (16*1024 + 4096*1024 + 16*4096)},
		{"linear with bias", "aten::linear", `[[2, 4], [3, 4], [3]]`, `["float", "float", "float"]`, 54, 4 * (8 + 12 + 6 + 3)},
		{"fp8", "aten::_scaled_mm", `[[8, 64], [64, 32], [], [], [], [], [], []]`, `["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "", "", "Scalar", "Scalar"]`,
			2 * 8 * 64 * 32, 8*64 + 64*32 + 2*8*32},
		// 2·16·8·512·2048·256; 2 bytes · 16·256·8·(512 + 2048)
		{"sdpa", "aten::scaled_dot_product_attention", `[[16, 8, 512, 128], [16, 8, 2048, 128], [16, 8, 2048, 128], [], [], [], [], []]`,
			`["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", "Scalar", "Scalar", "", "Scalar"]`, 68719476736, 167772160},
		{"grouped query, tokens first", "aten::_flash_attention_forward", `[[1, 10, 8, 64], [1, 10, 2, 64], [1, 10, 2, 64]]`, `["c10::Half", "c10::Half", "c10::Half"]`,
			2 * 100 * 8 * 128, 2 * 128 * (80 + 20)},
		{"inner sizes differ", "aten::mm", `[[2, 3], [4, 5]]`, `["float", "float"]`, -1, 0},
		{"batches differ", "aten::matmul", `[[2, 2, 3], [3, 3, 5]]`, `["float", "float"]`, -1, 0},
		{"no shapes", "aten::mm", `[]`, `[]`, -1, 0},
		{"unknown type", "aten::mm", `[[2, 3], [3, 5]]`, `["", ""]`, -1, 0},
		{"unknown operator", "aten::add", `[[2, 3], [2, 3]]`, `["float", "float"]`, -1, 0},
		{"too large", "aten::mm", `[[9000000000, 9000000000], [9000000000, 9]]`, `["float", "float"]`, -1, 0},
		{"negative", "aten::mm", `[[-2, 3], [3, 5]]`, `["float", "float"]`, -1, 0},
		{"packed sequences", "aten::_flash_attention_forward", `[[10, 8, 64], [10, 2, 64], [10, 2, 64]]`, `["c10::Half", "c10::Half", "c10::Half"]`, -1, 0},
		{"backward", "aten::_scaled_dot_product_flash_attention_backward", `[[1, 8, 10, 64], [1, 8, 10, 64], [1, 8, 10, 64]]`, `["c10::Half"]`, -1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dims, err := ParseDims(tt.dims)
			if err != nil {
				t.Fatal(err)
			}
			types, err := ParseStrings(tt.types)
			if err != nil {
				t.Fatal(err)
			}
			flops, bytes, ok := OpCost(tt.op, dims, types)
			if ok != (tt.flops >= 0) || ok && (flops != tt.flops || bytes != tt.bytes) {
				t.Errorf("got %d FLOPs, %d bytes, %v; want %d, %d", flops, bytes, ok, tt.flops, tt.bytes)
			}
		})
	}
}

func TestParseDims(t *testing.T) {
	tests := []struct {
		raw  string
		want [][]int64 // nil: an error
	}{
		{`[]`, [][]int64{}},
		{`[[16, 512], [], []]`, [][]int64{{16, 512}, {}, {}}},
		{" [ [ -1 ,2] ]\n", [][]int64{{-1, 2}}},
		{`[[[16, 512, 4096]], [], [3]]`, [][]int64{nil, {}, {3}}},
		{`["", 3, null, [2]]`, [][]int64{nil, nil, nil, {2}}},
		{`[[9223372036854775807]]`, [][]int64{{1<<63 - 1}}},
		{`[[9223372036854775808, 1], [2]]`, [][]int64{nil, {2}}},
		{``, nil}, {`[`, nil}, {`[[1,]]`, nil}, {`[[1] [2]]`, nil}, {`[[1]]x`, nil}, {`{"a":1}`, nil}, {`["a]`, nil}, {`[[1`, nil},
	}
	for _, tt := range tests {
		got, err := ParseDims(tt.raw)
		if (err != nil) != (tt.want == nil) {
			t.Errorf("ParseDims(%q) = %v, error %v, want %v", tt.raw, got, err, tt.want)
			continue
		}
		if len(got) != len(tt.want) {
			t.Errorf("ParseDims(%q) = %v, want %v", tt.raw, got, tt.want)
			continue
		}
		for i := range got {
			if len(got[i]) != len(tt.want[i]) || len(got[i]) > 0 && !reflect.DeepEqual(got[i], tt.want[i]) {
				t.Errorf("ParseDims(%q) = %v, want %v", tt.raw, got, tt.want)
			}
		}
	}
	raw := []byte(`[[16, 512, 4096], [4096, 1536], [], []]`)
	if n := testing.AllocsPerRun(10, func() { ParseDims(raw) }); n > 2 {
		t.Errorf("ParseDims: got %v allocations, want at most 2", n)
	}
}

// FuzzDims: ParseDims and encoding/json agree on each list of shapes.
func FuzzDims(f *testing.F) {
	for _, s := range []string{`[[16, 512], [], []]`, `[[[1]],[2]]`, `["",[1]]`, `[[-1]]`, `[[1,2]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := ParseDims(raw)
		ParseStrings(raw)
		var want [][]int64
		if json.Unmarshal([]byte(raw), &want) != nil || want == nil || strings.ContainsAny(raw, "n") {
			return // encoding/json accepts null, which is not a shape
		}
		if err != nil || len(got) != len(want) {
			t.Fatalf("ParseDims(%q) = %v, %v, want %v", raw, got, err, want)
		}
		for i := range got {
			if len(got[i])+len(want[i]) > 0 && !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("ParseDims(%q) = %v, want %v", raw, got, want)
			}
		}
	})
}
