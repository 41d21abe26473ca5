package light

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// Published configurations, reduced to the keys that determine sizes.
var configs = map[string]string{
	"Llama-3.1-8B":     `{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256,"torch_dtype":"bfloat16","attention_bias":false}`,
	"Qwen2.5-7B":       `{"model_type":"qwen2","hidden_size":3584,"intermediate_size":18944,"num_hidden_layers":28,"num_attention_heads":28,"num_key_value_heads":4,"vocab_size":152064,"torch_dtype":"bfloat16","use_sliding_window":false,"sliding_window":131072}`,
	"Qwen3-8B":         `{"model_type":"qwen3","hidden_size":4096,"intermediate_size":12288,"num_hidden_layers":36,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"vocab_size":151936,"torch_dtype":"bfloat16","sliding_window":null}`,
	"Qwen3-30B-A3B":    `{"model_type":"qwen3_moe","hidden_size":2048,"intermediate_size":6144,"moe_intermediate_size":768,"num_hidden_layers":48,"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"num_experts":128,"num_experts_per_tok":8,"decoder_sparse_step":1,"mlp_only_layers":[],"vocab_size":151936,"torch_dtype":"bfloat16"}`,
	"Mixtral-8x7B":     `{"model_type":"mixtral","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"num_local_experts":8,"num_experts_per_tok":2,"vocab_size":32000,"torch_dtype":"bfloat16"}`,
	"gpt-oss-120b":     `{"model_type":"gpt_oss","hidden_size":2880,"intermediate_size":2880,"num_hidden_layers":36,"num_attention_heads":64,"num_key_value_heads":8,"head_dim":64,"num_local_experts":128,"num_experts_per_tok":4,"vocab_size":201088,"attention_bias":true,"sliding_window":128,"quantization_config":{"quant_method":"mxfp4"}}`,
	"DeepSeek-V3":      `{"model_type":"deepseek_v3","hidden_size":7168,"intermediate_size":18432,"moe_intermediate_size":2048,"num_hidden_layers":61,"num_attention_heads":128,"num_key_value_heads":128,"q_lora_rank":1536,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"n_routed_experts":256,"n_shared_experts":1,"num_experts_per_tok":8,"first_k_dense_replace":3,"moe_layer_freq":1,"topk_method":"noaux_tc","vocab_size":129280,"num_nextn_predict_layers":1,"torch_dtype":"bfloat16","quantization_config":{"quant_method":"fp8","fmt":"e4m3","weight_block_size":[128,128]}}`,
	"DeepSeek-V2-Lite": `{"model_type":"deepseek_v2","hidden_size":2048,"intermediate_size":10944,"moe_intermediate_size":1408,"num_hidden_layers":27,"num_attention_heads":16,"num_key_value_heads":16,"q_lora_rank":null,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"n_routed_experts":64,"n_shared_experts":2,"num_experts_per_tok":6,"first_k_dense_replace":1,"moe_layer_freq":1,"topk_method":"greedy","vocab_size":102400,"torch_dtype":"bfloat16"}`,
	"moe":              `{"model_type":"qwen3_moe","hidden_size":2048,"intermediate_size":6144,"moe_intermediate_size":768,"num_hidden_layers":16,"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"num_experts":64,"num_experts_per_tok":8,"vocab_size":4224,"torch_dtype":"bfloat16"}`,
	"dense":            `{"model_type":"qwen3","hidden_size":4096,"intermediate_size":12288,"num_hidden_layers":24,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"vocab_size":4224,"torch_dtype":"bfloat16","sliding_window":null,"use_sliding_window":false}`,
}

func model(t *testing.T, name string) *Model {
	t.Helper()
	m, err := ReadModel([]byte(configs[name]))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return m
}

// TestParameters checks the sizes of the models against the published numbers of parameters.
func TestParameters(t *testing.T) {
	for name, want := range map[string]int64{
		"Llama-3.1-8B": 8_030_261_248, "Qwen2.5-7B": 7_615_616_512, "Qwen3-8B": 8_190_735_360, "Qwen3-30B-A3B": 30_532_122_624,
		"Mixtral-8x7B": 46_702_792_704, "gpt-oss-120b": 116_829_156_672,
		"DeepSeek-V3": 671_026_419_200, "DeepSeek-V2-Lite": 15_706_484_224, // without multi-token prediction
	} {
		if got := model(t, name).Parameters(); got != want {
			t.Errorf("%s: %d parameters, want %d", name, got, want)
		}
	}
}

// step sums the work of a step, and its floor on a device in µs.
func step(m *Model, l Layout, b Batch, d Device) (weights, all, flops, floor float64) {
	add := func(list []Work) {
		for _, w := range list {
			weights, all, flops, floor = weights+w.Weights, all+w.Bytes(), flops+w.FLOPs, floor+d.Floor(&w)/1e3
		}
	}
	for i := range m.Layers {
		add(m.Layer(i, l, b))
	}
	add(m.End(l, b)[1:])
	return
}

// TestSteps checks the work and the floor of whole steps against figures that were computed by hand: bytes of weights, all
// bytes, FLOPs and µs. Embedding and final norm are left out there.
func TestSteps(t *testing.T) {
	h200, _ := FindDevice("NVIDIA H200")
	h100, _ := FindDevice("NVIDIA H100 80GB HBM3")
	one, two := Layout{1, 1, 1, 1, 1}, Layout{2, 2, 1, 2, 1}
	decode := func(n int, keys int64) Batch {
		return Batch{Tokens: n, Requests: n, Keys: keys, Pairs: keys, KVBytes: 2}
	}
	prefill := Batch{Tokens: 2048, Requests: 1, Keys: 2048, Pairs: 2048 * 2049 / 2, KVBytes: 2}
	for _, c := range []struct {
		model  string
		layout Layout
		batch  Batch
		device Device
		want   [4]float64
	}{
		{"dense", two, decode(16, 2886), h200, [4]float64{4.6482e9, 4.8728e9, 74.96e9, 1015}},
		{"Llama-3.1-8B", two, decode(16, 16*1024), h200, [4]float64{7.5052e9, 8.6923e9, 124.41e9, 1811}},
		{"Llama-3.1-8B", one, decode(16, 16*1024), h100, [4]float64{15.010e9, 17.334e9, 0, 5174}},
		{"Llama-3.1-8B", one, prefill, h100, [4]float64{0, 0, 29_696e9, 33_860}},
		{"moe", two, decode(16, 2886), h200, [4]float64{4.576e9, 0, 0, 0}},
		{"moe", Layout{2, 1, 2, 1, 1}, Batch{Tokens: 8, Requests: 8, Routed: 16, Keys: 1443, Pairs: 1443, KVBytes: 2}, h200, [4]float64{4.878e9, 0, 0, 0}},
		{"moe", Layout{2, 1, 2, 1, 1}, Batch{Tokens: 12, Requests: 12, Routed: 24, Keys: 2164, Pairs: 2164, KVBytes: 2}, h200, [4]float64{5.253e9, 0, 0, 0}},
	} {
		w, all, f, us := step(model(t, c.model), c.layout, c.batch, c.device)
		for i, got := range []float64{w, all, f, us} {
			if c.want[i] > 0 && !close(got, c.want[i], 0.001) {
				t.Errorf("%s %v %+v: figure %d is %.5g, want %.5g", c.model, c.layout, c.batch, i, got, c.want[i])
			}
		}
	}
}

// TestTable checks the work of each module of a decode step of 16 requests on one of two ranks, on H200, against figures that
// were computed by hand. The floors are for 4.8 TB/s.
func TestTable(t *testing.T) {
	type figures struct{ mb, gigaFLOP, us float64 } // of weights, or the KV cache
	h200, _ := FindDevice("NVIDIA H200")
	two := Layout{2, 2, 1, 2, 1}
	for _, c := range []struct {
		model        string
		keys         int64
		want         map[Role]figures
		mb, us, head float64 // weights and floor of the layer, with its light modules; weights of the head
	}{
		{"dense", 2886, map[Role]figures{QKV: {25.166, 0.4027, 5.29}, O: {16.777, 0.2684, 3.54}, GateUp: {100.663, 1.6106, 21.08}, Down: {50.332, 0.8053, 10.55}, Attention: {5.911, 0, 1.26}},
			192.955, 42.15, 17.302},
		{"Llama-3.1-8B", 16 * 1024, map[Role]figures{QKV: {25.166, 0.4027, 5.29}, O: {16.777, 0.2684, 3.54}, GateUp: {117.441, 1.8790, 24.59}, Down: {58.720, 0.9395, 12.31}, Attention: {33.554, 0, 7.02}},
			218.120, 53.16, 525.337},
	} {
		m := model(t, c.model)
		b := Batch{Tokens: 16, Requests: 16, Keys: c.keys, Pairs: c.keys, KVBytes: 2}
		weights, floor := 0.0, 0.0
		for _, w := range m.Layer(0, two, b) {
			us := h200.Floor(&w) / 1e3
			weights, floor = weights+w.Weights, floor+us
			want, ok := c.want[w.Role]
			if mb := max(w.Weights, w.KV) / 1e6; ok && (math.Abs(mb-want.mb) > 0.0006 || want.gigaFLOP > 0 && math.Abs(w.FLOPs/1e9-want.gigaFLOP) > 6e-5 || math.Abs(us-want.us) > 0.006) {
				t.Errorf("%s %s: %.3f MB, %.4f GFLOP, %.2f µs, want %v", c.model, w.Role, mb, w.FLOPs/1e9, us, want)
			}
		}
		head := m.End(two, b)[1].Weights
		if math.Abs(weights/1e6-c.mb) > 0.006 || math.Abs(floor-c.us) > 0.02 || math.Abs(head/1e6-c.head) > 0.0006 {
			t.Errorf("%s: layer %.3f MB, %.2f µs, head %.3f MB, want %v", c.model, weights/1e6, floor, head/1e6, c)
		}
		if n := m.bus(Place{AllReduce, 0}, two, b); n != 131_072 { // of two ranks, each sends half of the tensor twice
			t.Errorf("%s: an all-reduce of %.0f bytes", c.model, n)
		}
	}
}

// TestLatent checks the work of multi-head latent attention with 16 of 128 heads: sizes of the products, bytes of the cache (1,152
// a token in bf16, on every rank) and FLOPs for each key and head.
func TestLatent(t *testing.T) {
	m, eight := model(t, "DeepSeek-V3"), Layout{8, 8, 1, 8, 1}
	type figures struct{ n, k, weights, kv, flops float64 }
	const w = 1 + 4.0/16384 // bytes of a weight
	decode := Batch{Tokens: 4, Requests: 4, Keys: 1000, Pairs: 1000, KVBytes: 2}
	prefill := Batch{Tokens: 100, Requests: 1, Keys: 100, Pairs: 5050, KVBytes: 2, Prefill: true}
	for _, c := range []struct {
		batch Batch
		want  map[Role]figures
	}{
		{decode, map[Role]figures{QKVDown: {2112, 7168, 2112 * 7168 * w, 0, 8 * 2112 * 7168}, QUp: {16 * 192, 1536, 16 * 192 * 1536 * w, 0, 8 * 16 * 192 * 1536},
			QAbsorb: {512, 128, 16 * 128 * 512 * w, 0, 8 * 16 * 128 * 512}, Attention: {0, 0, 0, 1_152_000, 2 * 16 * 1000 * (576 + 512)}, VAbsorb: {128, 512, 16 * 128 * 512 * w, 0, 8 * 16 * 128 * 512},
			O: {7168, 16 * 128, 7168 * 16 * 128 * w, 0, 8 * 7168 * 16 * 128}, KVWrite: {0, 0, 0, 4 * 1152, 0},
			SharedIn: {512, 7168, 512 * 7168 * w, 0, 8 * 512 * 7168}, SharedOut: {7168, 256, 7168 * 256 * w, 0, 8 * 7168 * 256}}},
		{prefill, map[Role]figures{KVUp: {16 * 256, 512, 16 * 256 * 512 * w, 0, 200 * 16 * 256 * 512}, Attention: {0, 0, 0, 0, 2 * 16 * 5050 * (192 + 128)}}},
	} {
		found := 0
		for _, x := range m.Layer(3, eight, c.batch) {
			want, ok := c.want[x.Role]
			if !ok {
				continue
			}
			found++
			if got := (figures{float64(x.N), float64(x.K), x.Weights, x.KV, x.FLOPs}); !close(got.weights, want.weights, 1e-9) || got.n != want.n || got.k != want.k || got.kv != want.kv || got.flops != want.flops {
				t.Errorf("%s: %+v, want %+v", x.Role, got, want)
			}
		}
		if found != len(c.want) {
			t.Errorf("%d modules of %d", found, len(c.want))
		}
	}
	bounds := decode
	bounds.KeysMost = 1500
	if w := m.mla(16, bounds)[6]; w.Role != Attention || !w.Unknown || w.KV != 1_152_000 || w.KVMost != 1_728_000 || w.FLOPsMost != 2*16*1500*(576+512) {
		t.Errorf("bounds of the contexts: %+v", w)
	}
	lite := model(t, "DeepSeek-V2-Lite").Layer(0, Layout{1, 1, 1, 1, 1}, decode)
	if q, kv := lite[1], lite[2]; q.Role != QUp || q.N != 16*192 || q.K != 2048 || kv.Role != QKVDown || kv.N != 576 || kv.K != 2048 {
		t.Errorf("without a latent query: %+v, %+v", q, kv)
	}
	if got := m.untried(Layout{PP: 2}); len(got) != 4 {
		t.Errorf("not tried: %q", got)
	}
	if got := model(t, "dense").untried(eight); got != nil {
		t.Errorf("not tried: %q", got)
	}
}

// TestStages checks that the stages of a pipeline share the work of a step.
func TestStages(t *testing.T) {
	m, l := model(t, "gpt-oss-120b"), Layout{1, 1, 1, 1, 4}
	b := Batch{Tokens: 4, Requests: 4, Keys: 4000, Pairs: 4000, KVBytes: 2}
	sum := func(m *Model) (bytes float64) {
		for n := -1; n <= m.Layers; n++ {
			for _, w := range m.part(n, l, b) {
				bytes += w.Bytes()
			}
		}
		return bytes
	}
	parts := 0.0
	for pp := range 4 {
		s := m.stage(pp, 4)
		if parts += sum(s); s.Layers != 9 || s.Windows[0] != m.Windows[9*pp] || s.Later != (pp > 0) || s.Earlier != (pp < 3) {
			t.Errorf("stage %d: %+v", pp, s)
		}
	}
	if !close(parts, sum(m), 1e-9) {
		t.Errorf("the stages read %.0f of %.0f bytes", parts, sum(m))
	}
	if m.stage(0, 5) != nil {
		t.Error("36 layers on 5 stages")
	}
	if got := m.bus(Place{SendRecv, 0}, l, b); got != 4*2880*2 {
		t.Errorf("a stage sends %.0f bytes", got)
	}
}

// TestModules checks the work of single modules against the same figures, and against public references: TraceLens's
// figures for Qwen3-8B (sglang_decode, sglang_prefilldecode; its attention with all pairs of a query and a key that it
// sees) and for layers of gpt-oss-20b without a window (vllm_decode_full), at TP 1 on MI300X.
func TestModules(t *testing.T) {
	type figure struct {
		role         Role
		mb, gigaFLOP float64
	}
	for _, c := range []struct {
		model  string
		layout Layout
		batch  Batch
		want   []figure
	}{
		{"dense", Layout{2, 2, 1, 2, 1}, Batch{Tokens: 16, Requests: 16, Keys: 2886, Pairs: 2886}, []figure{
			{QKV, 25.395, 0.4027}, {O, 16.974, 0.2684}, {GateUp, 101.187, 1.6106}, {Down, 50.659, 0.8053}}},
		{"Qwen3-8B", Layout{1, 1, 1, 1, 1}, Batch{Tokens: 32, Requests: 32, Keys: 32785, Pairs: 32785, KVBytes: 2}, []figure{
			{GateUp, 203.16, 6.442451}, {Down, 101.71, 3.221225}, {QKV, 50.99, 1.610613}, {O, 34.08, 1.073742}, {Head, 1254.65, 39.829111}, {Attention, 134.81, 0.537149}}},
		{"Qwen3-8B", Layout{1, 1, 1, 1, 1}, Batch{Tokens: 15360, Requests: 15, Keys: 15360, Pairs: 15 * 1024 * 1025 / 2, KVBytes: 2}, []figure{
			{GateUp, 1082.1, 3092.376}, {Attention, 314.57, 128.975}}},
		{"gpt-oss-120b", Layout{1, 1, 1, 1, 1}, Batch{Tokens: 32, Requests: 32, Keys: 55086, Pairs: 55086, KVBytes: 2}, []figure{{Attention, 113.34, 0.902529}}}, // with the heads of gpt-oss-20b
	} {
		m := model(t, c.model)
		layer := slices.Index(m.Windows, 0)
		list := append(m.Layer(layer, c.layout, c.batch), m.End(c.layout, c.batch)...)
		for _, f := range c.want {
			for _, w := range list {
				if w.Role == f.role && (!close(w.Bytes(), f.mb*1e6, 0.001) || !close(w.FLOPs, f.gigaFLOP*1e9, 0.001)) {
					t.Errorf("%s %s: %.3f MB, %.6f GFLOP; want %.3f, %.6f", c.model, f.role, w.Bytes()/1e6, w.FLOPs/1e9, f.mb, f.gigaFLOP)
				}
			}
		}
	}
}

// TestExperts checks the expected number of experts that tokens choose, and the weights that are read.
func TestExperts(t *testing.T) {
	m := model(t, "moe")
	for _, c := range []struct {
		layout Layout
		batch  Batch
		us     float64
		want   map[Role]float64 // MB of weights
	}{
		{Layout{2, 2, 1, 2, 1}, Batch{Tokens: 16, Requests: 16, Keys: 2886, KVBytes: 2}, 963, map[Role]float64{QKV: 10.486, O: 8.389, Router: 0.262, ExpertsIn: 177.6, ExpertsOut: 88.8}},
		{Layout{2, 1, 2, 1, 1}, Batch{Tokens: 8, Requests: 8, Routed: 16, Keys: 1443, KVBytes: 2}, 1026, map[Role]float64{QKV: 20.972, O: 16.777, ExpertsIn: 28.2 * 2 * 3.1457, ExpertsOut: 28.2 * 3.1457}},
		{Layout{2, 1, 2, 1, 1}, Batch{Tokens: 12, Requests: 12, Routed: 24, Keys: 2164, KVBytes: 2}, 1109, map[Role]float64{ExpertsIn: 30.7 * 2 * 3.1457, ExpertsOut: 30.7 * 3.1457}},
	} {
		kept := 0.0 // time for weights and cache of a step, without activations, µs
		for _, w := range append(m.Layer(0, c.layout, c.batch), m.End(c.layout, c.batch)[1]) {
			if n := w.Weights + w.KV; w.Role == Head {
				kept += n / 4.8e6
			} else if !strings.HasSuffix(string(w.Role), "norm") && w.Role != KVWrite {
				kept += 16 * n / 4.8e6
			}
			if mb, ok := c.want[w.Role]; ok && !close(w.Weights, mb*1e6, 0.002) {
				t.Errorf("%v %s: %.3f MB, want %.3f", c.layout, w.Role, w.Weights/1e6, mb)
			}
			if w.High > 0 && (w.Low > w.Weights || w.High < w.Weights) {
				t.Errorf("%v %s: %.0f is not between %.0f and %.0f", c.layout, w.Role, w.Weights, w.Low, w.High)
			}
		}
		if math.Abs(kept-c.us) > 1 {
			t.Errorf("%v: %.1f µs, want %.0f", c.layout, kept, c.us)
		}
	}
}

// TestReadModelRefuses checks that a configuration is refused with its reason.
func TestReadModelRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`[`:                       "not a config.json: unexpected end of JSON input",
		`{"model_type":"gemma3"}`: `the work of model_type "gemma3" is not known; known are deepseek_v2, deepseek_v3, gpt_oss, kimi_k2, llama, mistral, mixtral, qwen2, qwen2_moe, qwen3, qwen3_moe`,
		`{"model_type":"llama","hidden_size":4096}`: "config.json: num_hidden_layers: want a positive number, got 0",
		`{"model_type":"mixtral","hidden_size":8,"num_hidden_layers":2,"num_attention_heads":2,"vocab_size":8,"intermediate_size":8,"num_local_experts":2,"num_experts_per_tok":3}`:                                                "config.json: 2 experts, 3 per token, of size 8: want positive numbers, and no more per token than there are",
		`{"model_type":"llama","hidden_size":8,"num_hidden_layers":2,"num_attention_heads":2,"vocab_size":8,"intermediate_size":8,"quantization_config":{"quant_method":"quip"}}`:                                                  `config.json: quantization_config: the format of quant_method "quip" is not known; known are fp8, mxfp4, mxfp8, nvfp4 (quant_algo), and gptq and awq with 4 bits`,
		`{"model_type":"llama","hidden_size":8,"num_hidden_layers":2,"num_attention_heads":2,"head_dim":-1,"vocab_size":8,"intermediate_size":8,"torch_dtype":"bfloat16"}`:                                                         "config.json: head_dim: want a positive number, got -1",
		`{"model_type":"llama","hidden_size":8,"num_hidden_layers":2,"num_attention_heads":16,"vocab_size":8,"intermediate_size":8,"torch_dtype":"bfloat16"}`:                                                                      "config.json: head_dim: want a positive number, got 0",
		`{"model_type":"llama","hidden_size":8,"num_hidden_layers":2,"num_attention_heads":2,"vocab_size":8,"intermediate_size":8,"quantization_config":{"quant_method":"fp8","ignored_layers":["model.layers.0.mlp.down_proj"]}}`: `config.json: quantization_config: the excluded module "model.layers.0.mlp.down_proj" is not known; known are attention, lm_head, embedding, router and norms`,
	} {
		if _, err := ReadModel([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// FuzzReadModel checks that a configuration never crashes the reader, and that the work of a layer is never negative.
func FuzzReadModel(f *testing.F) {
	for _, text := range configs {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ReadModel(text)
		if err != nil {
			return
		}
		b := Batch{Tokens: 3, Requests: 2, Keys: 40, Pairs: 50}
		for _, w := range append(m.Layer(m.Layers-1, Layout{2, 2, 1, 2, 1}, b), m.End(Layout{2, 2, 1, 2, 1}, b)...) {
			if w.Bytes() < 0 || w.FLOPs < 0 || math.IsNaN(w.Bytes()+w.FLOPs) {
				t.Errorf("%+v", w)
			}
		}
	})
}

// TestFormats checks the bytes of weights, and of attention if it is not quantised.
func TestFormats(t *testing.T) {
	const sizes = `{"model_type":"%s","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":2,"head_dim":32,"vocab_size":64,"intermediate_size":64,"num_local_experts":4,"num_experts_per_tok":2,"quantization_config":{%s}}`
	for _, c := range []struct {
		family, quantization string
		mlp, attention       float64
	}{
		{"llama", `"quant_method":"fp8"`, 1, 1},
		{"llama", `"quant_method":"fp8","weight_block_size":[128,128]`, 1 + 4.0/16384, 1 + 4.0/16384},
		{"llama", `"quant_method":"fp8","ignored_layers":["lm_head","model.layers.0.self_attn.q_proj"]`, 1, 2},
		{"llama", `"quant_method":"awq","bits":4,"group_size":128`, 0.51953125, 0.51953125},
		{"llama", `"quant_method":"gptq","bits":4,"group_size":128`, 0.515625, 0.515625},
		{"llama", `"quant_method":"mxfp8"`, 1.03125, 1.03125},
		{"llama", `"quant_method":"modelopt","quant_algo":"NVFP4","ignore":["lm_head","model.layers.0.self_attn*"]`, 0.5625, 2},
		{"gpt_oss", `"quant_method":"mxfp4"`, 0.53125, 2},
		{"gpt_oss", `"quant_method":"mxfp4","modules_to_not_convert":["model.layers.*.self_attn","model.layers.*.mlp.router","model.embed_tokens","lm_head"]`, 0.53125, 2},
	} {
		m, err := ReadModel(fmt.Appendf(nil, sizes, c.family, c.quantization))
		if err != nil {
			t.Errorf("%+v: %v", c, err)
		} else if m.Weight.Bytes != c.mlp || m.Attention.Bytes != c.attention {
			t.Errorf("%+v: %v, attention %v", c, m.Weight, m.Attention)
		}
	}
}

// TestFindDevice checks that parts of devices and devices with a similar name have no peaks.
func TestFindDevice(t *testing.T) {
	for name, want := range map[string]string{
		"NVIDIA H100 80GB HBM3": "H100 SXM", "NVIDIA L4": "L4", "AMD Instinct MI300X VF": "MI300X",
		"NVIDIA L40": "", "NVIDIA H100 80GB HBM3 MIG 1g.10gb": "", "NVIDIA GeForce RTX 4090 D": "", "NVIDIA GeForce RTX 4090 Laptop GPU": "", "H100": "", "": "",
	} {
		if d, _ := FindDevice(name); d.Name != want {
			t.Errorf("%q: got %q, want %q", name, d.Name, want)
		}
	}
}

// TestLayoutOf checks the layouts of complete and incomplete windows.
func TestLayoutOf(t *testing.T) {
	staged := func(tp, pp, world int) *match.Rank {
		return &match.Rank{Rank: &prep.Rank{Source: trace.Source{Rank: trace.Rank{TP: tp, DP: -1, PP: pp, EP: -1}, World: trace.World{Known: true, Size: world}}}}
	}
	rank := func(tp, dp, ep, world int) *match.Rank {
		return &match.Rank{Rank: &prep.Rank{Source: trace.Source{Rank: trace.Rank{TP: tp, DP: dp, PP: -1, EP: ep}, World: trace.World{Known: true, Size: world}}}}
	}
	for name, c := range map[string]struct {
		ranks []*match.Rank
		want  Layout // zero: refused
	}{
		"one rank":                   {[]*match.Rank{rank(-1, -1, -1, 0)}, Layout{1, 1, 1, 1, 1}},
		"two ranks":                  {[]*match.Rank{rank(0, -1, -1, 2), rank(1, -1, -1, 2)}, Layout{2, 2, 1, 2, 1}},
		"one of two":                 {[]*match.Rank{rank(1, -1, -1, 2)}, Layout{2, 2, 1, 2, 1}},
		"one of eight with DP":       {[]*match.Rank{rank(0, 0, 0, 8)}, Layout{}},
		"rank 3 alone, no world":     {[]*match.Rank{rank(3, -1, -1, 0)}, Layout{}},
		"two of four":                {[]*match.Rank{rank(0, -1, -1, 4), rank(1, -1, -1, 4)}, Layout{}},
		"replicas":                   {[]*match.Rank{rank(0, 0, -1, 2), rank(1, 0, -1, 2), rank(0, 1, -1, 2), rank(1, 1, -1, 2)}, Layout{2, 2, 1, 2, 1}},
		"DP attention and experts":   {[]*match.Rank{rank(0, 0, 0, 2), rank(1, 1, 1, 2)}, Layout{2, 1, 2, 1, 1}},
		"DP attention, half of it":   {[]*match.Rank{rank(0, 0, -1, 8), rank(1, 0, -1, 8), rank(2, 1, -1, 8), rank(3, 1, -1, 8)}, Layout{}},
		"two stages of two ranks":    {[]*match.Rank{staged(0, 0, 4), staged(1, 0, 4), staged(0, 1, 4), staged(1, 1, 4)}, Layout{2, 2, 1, 2, 2}},
		"a stage lacks a rank":       {[]*match.Rank{staged(0, 0, 4), staged(1, 0, 4), staged(0, 1, 4)}, Layout{}},
		"one stage of two":           {[]*match.Rank{staged(0, 0, 4), staged(1, 0, 4)}, Layout{}},
		"the first stage is gone":    {[]*match.Rank{staged(0, 1, 0), staged(1, 1, 0)}, Layout{}},
		"one rank of a pipeline":     {[]*match.Rank{staged(0, 0, 2)}, Layout{}},
		"a replica lacks a rank":     {[]*match.Rank{rank(0, 0, -1, 2), rank(1, 0, -1, 2), rank(0, 1, -1, 2)}, Layout{}},
		"experts of a rank are gone": {[]*match.Rank{rank(0, 0, 0, 2), rank(1, 1, 2, 2)}, Layout{}},
	} {
		got, why := LayoutOf(c.ranks)
		if got != c.want || (why.Key == "") != (c.want != Layout{}) {
			t.Errorf("%s: got %v (%s), want %v", name, got, why, c.want)
		}
	}
}

// TestOpenDevice checks that peaks are read from a file, and that wrong files are refused with the reason.
func TestOpenDevice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "device.json")
	for text, want := range map[string]string{
		`{"name":"H20","bf16_tflops":148,"memory_gb_per_s":4000,"link_gb_per_s":450,"sms":78}`: "",
		`{"name":"H20","bf16_tflops":148}`:                                   "memory_gb_per_s: want a positive number of at most 1e+09, got 0",
		`{"name":"H20","bf16_tflops":-1,"memory_gb_per_s":4000}`:             "bf16_tflops: want a positive number of at most 1e+09, got -1",
		`{"bf16_tflops":148,"memory_gb_per_s":4000}`:                         "name: want the name of the device",
		`{"name":"H20","bf16_tflops":148,"memory_gb_per_s":4000,"tflops":1}`: `json: unknown field "tflops"`,
		`{"name":"H20","bf16_tflops":148,"memory_gb_per_s":4000} {}`:         "want one JSON object",
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := OpenDevice(path)
		switch {
		case want == "" && (err != nil || d.Memory != 4e12 || d.BF16 != 148e12 || d.Link != 450e9 || d.SMs != 78):
			t.Errorf("%s: %+v, %v", text, d, err)
		case want != "" && (err == nil || err.Error() != path+": "+want):
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
