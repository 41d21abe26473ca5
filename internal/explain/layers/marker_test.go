package layers

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Marker
	}{
		{"a layer's projection", `{'Module': 'model.model.layers.0.mlp.down_proj', 'TrainableParams': {'weight': [4096, 14336]}, 'Inputs': [[7, 14336]]}`,
			Marker{Module: "model.model.layers.0.mlp.down_proj", Params: []Param{{"weight", []int64{4096, 14336}}}, Inputs: [][]int64{{7, 14336}}}},
		{"no parameters, no inputs", `{'Module': 'model'}`, Marker{Module: "model"}},
		{"the path of a model as prefix", `{'Module': 'meta-llama/Llama-3.1-8B.model.layers.0', 'Inputs': [[7], [7, 4096]]}`,
			Marker{Module: "meta-llama/Llama-3.1-8B.model.layers.0", Inputs: [][]int64{{7}, {7, 4096}}}},
		{"settings of a plain class", `{'Module': 'model.conv', 'StaticParams': {'in_chan': 3, 'filter_dim': (2, 2), 'bias': None, 'epsilon': 1e-05, 'transposed': False, 'padding_mode': 'zeros'}}`,
			Marker{Module: "model.conv", Static: []Static{{"in_chan", "3"}, {"filter_dim", "(2, 2)"}, {"bias", "None"}, {"epsilon", "1e-05"}, {"transposed", "False"}, {"padding_mode", "'zeros'"}}}},
		{"a quote in a path: Python doubles the quotes", `{'Module': "it's \"x\"\x41é\q", 'Inputs': []}`, Marker{Module: `it's "x"Aé\q`}},
		{"a scalar input", `{'Module': 'm', 'Inputs': [[], [7]]}`, Marker{Module: "m", Inputs: [][]int64{{}, {7}}}},
		{"one size list", `{'Module': 'm', 'Inputs': [7, 16]}`, Marker{Module: "m", Inputs: [][]int64{{7, 16}}}},
		{"sizes as torch prints them", `{'Module': 'm', 'TrainableParams': {'weight': torch.Size([4, 2])}}`, Marker{Module: "m", Params: []Param{{"weight", []int64{4, 2}}}}},
		{"truncated", `{'Module': 'm', 'TrainableParams': {'weight': [4, 2]}, 'Inputs': [[7, 14`, Marker{Module: "m", Params: []Param{{"weight", []int64{4, 2}}}}},
		{"invalid sizes", `{'Module': 'm', 'TrainableParams': {'weight': [4, -2], 'bias': [4.5]}, 'Inputs': [['x']]}`, Marker{Module: "m"}},

		{"diffusion", `transformer.layers.0.attention.to_q in=[[1, 4128, 3840]]`, Marker{Module: "transformer.layers.0.attention.to_q", Inputs: [][]int64{{1, 4128, 3840}}, Form: Short}},
		{"diffusion, a component", `transformer in=[[1, 16, 1, 128, 128], [1]]`, Marker{Module: "transformer", Inputs: [][]int64{{1, 16, 1, 128, 128}, {1}}, Form: Short}},
		{"diffusion, no inputs", `vae.decoder.mid_block`, Marker{Module: "vae.decoder.mid_block", Form: Bare}},
		{"a component alone", `text_encoder_2`, Marker{Module: "text_encoder_2", Form: Bare}},
		{"a stage", `stage_denoising_stage`, Marker{Module: "stage_denoising_stage", Form: Scope}},
		{"a step", `denoising_step_0_t1000`, Marker{Module: "denoising_step_0_t1000", Form: Scope}},
	} {
		got, ok := Parse(c.text)
		if !ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", c.name, got, ok, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", "step[DECODE bs=1]", "aten::mm", "ProfilerStep#3", "gpu_model_runner: forward", "Optimizer.step#Adam.step", "forward",
		"{}", "{'Module': 7}", "{'Inputs': [[7]]}", "{'Module': 'broken o", "{'a': {'Module': 'm'}}", `{"traceEvents": [`,
		"to_q in=[[1, 2]] and more", "to_q in=yes", "two words in=[[1]]", "x in=", strings.Repeat("[", 100), "{'Module': " + strings.Repeat("[", 1e5),
	} {
		if got, ok := Parse(text); ok {
			t.Errorf("Parse(%.40q) = %+v, want it refused", text, got)
		}
	}
}

func TestPlaceOf(t *testing.T) {
	for _, c := range []struct {
		module, root string
		want         Place
		name         string
	}{
		{"model.model.layers.0.mlp.down_proj", "model", Place{"model.layers", 0, "mlp.down_proj"}, "model.layers.*.mlp.down_proj"},
		{"model.model.layers.31", "model", Place{"model.layers", 31, ""}, "model.layers.*"},
		{"model.lm_head", "model", Place{"", -1, "lm_head"}, "lm_head"},
		{"model", "model", Place{"", -1, WholeModel}, WholeModel},
		{"meta-llama/Llama-3.1-8B.model.layers.2.mlp", "meta-llama/Llama-3.1-8B", Place{"model.layers", 2, "mlp"}, "model.layers.*.mlp"},
		{"models.model.layers.2", "model", Place{"models.model.layers", 2, ""}, "models.model.layers.*"},
		{"model.model.layers.3.mlp.experts.17.w1", "model", Place{"model.layers", 3, "mlp.experts.*.w1"}, "model.layers.*.mlp.experts.*.w1"},
		{"model.transformer.h.11.attn.c_attn", "model", Place{"transformer.h", 11, "attn.c_attn"}, "transformer.h.*.attn.c_attn"},
		{"transformer.single_transformer_blocks.4.norm", "", Place{"transformer.single_transformer_blocks", 4, "norm"}, "transformer.single_transformer_blocks.*.norm"},
		{"transformer.layers.7.attention.to_out.0", "", Place{"transformer.layers", 7, "attention.to_out.0"}, "transformer.layers.*.attention.to_out.0"},
		{"transformer.t_embedder.mlp.0", "", Place{"", -1, "transformer.t_embedder.mlp.0"}, "transformer.t_embedder.mlp.0"},
		{"vae.decoder.up_blocks.0.resnets.1.conv1", "", Place{"vae.decoder.up_blocks", 0, "resnets.1.conv1"}, "vae.decoder.up_blocks.*.resnets.1.conv1"},
		{"denoising_step_12_t431.5", "", Place{"", -1, "denoising_step"}, "denoising_step"},
		{"layers.99999999999999999999", "", Place{"", -1, "layers.99999999999999999999"}, "layers.99999999999999999999"},
	} {
		got := PlaceOf(c.module, c.root)
		if got != c.want || got.Name() != c.name {
			t.Errorf("%s: got %+v, %q, want %+v, %q", c.module, got, got.Name(), c.want, c.name)
		}
	}
}

func TestRoot(t *testing.T) {
	for _, c := range []struct {
		modules []string
		want    string
	}{
		{[]string{"model.model", "model", "model.lm_head"}, "model"},
		{[]string{"model.model", "model.logits_processor"}, "model"}, // the whole model is not called as a module
		{[]string{"model.model", "model.model.layers.0"}, "model"},
		{[]string{"org/name-1.5.lm_head", "org/name-1.5"}, "org/name-1.5"},
		{[]string{"org/name-1.5.model.layers.0", "org/name-1.5.model.layers.1.mlp"}, "org/name-1.5"},
		{[]string{"model.model.layers.0.mlp"}, "model"},
		{[]string{"lm_head"}, ""},
		{[]string{"model.layers.0", "lm_head"}, ""},
		{[]string{"model", "models"}, ""},
		{nil, ""},
	} {
		if got := Root(c.modules); got != c.want {
			t.Errorf("%q: got %q, want %q", c.modules, got, c.want)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		name, text string
		elements   int64
		flops      float64
		linear     bool
	}{
		{"linear", `{'Module': 'm', 'TrainableParams': {'weight': [16, 8]}, 'Inputs': [[3, 8]]}`, 128, 768, true},
		{"with bias", `{'Module': 'm', 'TrainableParams': {'weight': [16, 8], 'bias': [16]}, 'Inputs': [[2, 3, 8]]}`, 144, 2*6*16*8 + 6*16, true},
		{"packed weights, half the input's size", `{'Module': 'm', 'TrainableParams': {'weight': [8, 4]}, 'Inputs': [[3, 8]]}`, 32, 0, false},
		{"an embedding with as many tokens as dimensions", `{'Module': 'm', 'TrainableParams': {'weight': [99, 8]}, 'Inputs': [[8]]}`, 792, 0, false},
		{"experts", `{'Module': 'm', 'TrainableParams': {'w13_weight': [4, 16, 8]}, 'Inputs': [[3, 8]]}`, 512, 0, false},
		{"no inputs", `{'Module': 'm', 'TrainableParams': {'weight': [16, 8]}}`, 128, 0, false},
		{"no rows", `{'Module': 'm', 'TrainableParams': {'weight': [16, 8]}, 'Inputs': [[0, 8]]}`, 128, 0, false},
		{"overflow", `{'Module': 'm', 'TrainableParams': {'weight': [9223372036854775807, 8]}, 'Inputs': [[9223372036854775807, 9223372036854775807, 8]]}`, 0, 0, false},
	} {
		m, ok := Parse(c.text)
		flops, linear := m.LinearFLOPs()
		if !ok || m.Elements() != c.elements || flops != c.flops || linear != c.linear {
			t.Errorf("%s: got %d elements, %g FLOPs (%v), want %d, %g (%v)", c.name, m.Elements(), flops, linear, c.elements, c.flops, c.linear)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{'Module': 'model.model.layers.0.mlp.down_proj', 'TrainableParams': {'weight': [4096, 14336]}, 'Inputs': [[7, 14336]], 'StaticParams': {'a': (1, 2), 'b': 1e-05}}`,
		`{'Module': "it's \x41\u00e9\U0001F600\q", 'Inputs': [torch.Size([1]), ()]}`,
		`transformer.layers.0.attention.to_q in=[[1, 4128, 3840]]`, `transformer`, `stage_x`, `denoising_step_0_t1000`, `{'Module': 'm', 'Inputs': [[9`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, ok := Parse(text)
		if ok && m.Module == "" {
			t.Fatalf("Parse(%q): got a marker without a module", text)
		}
		if m.Elements() < 0 {
			t.Fatalf("Parse(%q): got %d elements", text, m.Elements())
		}
		if flops, ok := m.LinearFLOPs(); ok && !(flops > 0) {
			t.Fatalf("Parse(%q): got a linear layer of %g FLOPs", text, flops)
		}
		p := PlaceOf(m.Module, Root([]string{m.Module, m.Module + ".x"}))
		if (p.Layer < 0) != (p.Stack == "") {
			t.Fatalf("PlaceOf(%q) = %+v, want a layer and a stack or neither", m.Module, p)
		}
		for _, in := range m.Inputs {
			for _, n := range in {
				if n < 0 {
					t.Fatalf("Parse(%q): got an input size of %d", text, n)
				}
			}
		}
	})
}
