// Package layers reads the ranges that servers put around the modules of a model when layer-wise NVTX markers are on
// (SGLang's --enable-layerwise-nvtx-marker, and stepscope's own).
//
// A language model's markers are Python dicts with keys in this order, where absent ones are omitted:
//
//	{'Module': 'model.model.layers.0.mlp.down_proj', 'TrainableParams': {'weight': [4096, 14336]}, 'Inputs': [[7, 14336]]}
//
// A diffusion pipeline's markers are short, and nested inside ranges of the pipeline:
//
//	stage_denoising_stage > denoising_loop > denoising_step_0_t1000 > predict_noise
//	    > denoising_stage.transformer in=[[1, 16, 1, 128, 128], [1], [1, 93, 2560]]
//	    > denoising_stage.transformer.layers.0.attention.to_qkv in=[[1, 4128, 3840]]
//
// Older ones begin with the component, transformer.
//
// Formats after SGLang's srt/utils/nvtx_pytorch_hooks.py and multimodal_gen/runtime/utils/nvtx_pytorch_hooks.py.
package layers

import (
	"math/bits"
	"regexp"
	"strings"
)

// Marker is the parsed text of one range.
type Marker struct {
	Module string
	Params []Param // of the module itself, without its children
	Inputs [][]int64
	Static []Static // for plain torch classes
	Form   Form
}

// Form is the notation of a marker.
type Form uint8

// Dict is a language model's marker, Short a diffusion pipeline's. Bare is a Short marker without inputs: a name that
// may come from any program unless its first part is known (see Known). Scope is a range of the pipeline, around
// modules. Frame is not a marker but a Python frame of a layer, as recorded with stacks: the class and number of the
// object.
const (
	Dict Form = iota
	Short
	Bare
	Scope
	Frame
)

// Param is a trainable parameter; types are not recorded.
type Param struct {
	Name string
	Size []int64
}

// Static is a setting of the module, as printed: in_features 4096.
type Static struct{ Name, Text string }

var (
	barePath = regexp.MustCompile(`^[A-Za-z_]\w*(?:\.\w+)+$`)
	scopes   = regexp.MustCompile(`^(?:stage_\w+|denoising_loop|denoising_step_\d+_t[\d.e+-]+|predict_noise|scheduler_step)$`)
	frames   = regexp.MustCompile(`^nn\.Module: (\w*(?:Layer|Block))_(\d+)$`)
	// Prefixes of a diffusion pipeline's components.
	components = regexp.MustCompile(`^(?:transformer|text_encoder|image_encoder|image_text_encoder|vae|vae_encoder|image_vae_encoder)(?:_\d+)?$`)
)

// Parse parses the text of a range; ok is false if it is not a marker. A dict truncated after the name of its module is
// a marker with its complete entries.
func Parse(text string) (m Marker, ok bool) {
	if text == "" || len(text) > 1<<20 {
		return m, false
	}
	if text[0] == '{' {
		return parseDict(text)
	}
	if !isLetter(text[0]) {
		return m, false
	}
	if strings.HasPrefix(text, "nn.Module: ") {
		of := frames.FindStringSubmatch(text)
		if of == nil {
			return m, false
		}
		return Marker{Module: of[1] + "." + of[2], Form: Frame}, true
	}
	if name, in, found := strings.Cut(text, " in="); found {
		p := literal{raw: in}
		v, ok := p.value(0)
		p.space()
		sizes, isList := sizeLists(v)
		if !ok || !isList || p.i != len(in) || strings.ContainsAny(name, " \t\n") {
			return m, false
		}
		return Marker{Module: name, Inputs: sizes, Form: Short}, true
	}
	switch {
	case scopes.MatchString(text):
		return Marker{Module: text, Form: Scope}, true
	case components.MatchString(text), barePath.MatchString(text):
		return Marker{Module: text, Form: Bare}, true
	}
	return m, false
}

// Known reports whether a bare name is that of a diffusion pipeline's component or of a part of it, with or without its
// stage.
func Known(module string) bool {
	first, rest, _ := strings.Cut(module, ".")
	second, _, _ := strings.Cut(rest, ".")
	return components.MatchString(first) || strings.Contains(strings.ToLower(first), "stage") && components.MatchString(second)
}

func parseDict(text string) (m Marker, ok bool) {
	p := literal{raw: text}
	v, _ := p.value(0)
	d, _ := v.(dict)
	m.Module, _ = d.get("Module").(string)
	if m.Module == "" {
		return m, false
	}
	m.Inputs, _ = sizeLists(d.get("Inputs"))
	params, _ := d.get("TrainableParams").(dict)
	for _, e := range params {
		if size, ok := sizes(e.value); ok {
			m.Params = append(m.Params, Param{e.key, size})
		}
	}
	static, _ := d.get("StaticParams").(dict)
	for _, e := range static {
		m.Static = append(m.Static, Static{e.key, e.text})
	}
	return m, true
}

// sizeLists parses [[7, 14336], [7]]; a single size list counts as a list of one.
func sizeLists(v any) ([][]int64, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	if one, ok := sizes(v); ok && len(one) > 0 {
		return [][]int64{one}, true
	}
	var out [][]int64
	for _, x := range list {
		size, ok := sizes(x)
		if !ok {
			return nil, false
		}
		out = append(out, size)
	}
	return out, true
}

func sizes(v any) ([]int64, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]int64, len(list))
	for i, x := range list {
		n, ok := x.(int64)
		if !ok || n < 0 {
			return nil, false
		}
		out[i] = n
	}
	return out, true
}

// Elements returns the number of elements in all parameters; 0 if there are none, or if it overflows int64.
func (m *Marker) Elements() (sum int64) {
	for _, p := range m.Params {
		n := product(p.Size)
		if sum += n; sum < 0 {
			return 0
		}
	}
	return sum
}

// product returns 0 on overflow.
func product(size []int64) int64 {
	n := uint64(1)
	for _, x := range size {
		hi, lo := bits.Mul64(n, uint64(x))
		if hi != 0 || lo > 1<<62 {
			return 0
		}
		n = lo
	}
	return int64(n)
}

// LinearFLOPs is the FLOPs of one call of a linear layer: 2·rows·in·out for a weight [out, in] and a first input [...,
// in] of rows vectors, plus rows·out for a bias. ok is false for any other module, and for packed or transposed
// weights, whose sizes are ambiguous.
func (m *Marker) LinearFLOPs() (flops float64, ok bool) {
	var weight []int64
	bias := false
	for _, p := range m.Params {
		switch p.Name {
		case "weight":
			weight = p.Size
		case "bias":
			bias = true
		}
	}
	if len(weight) != 2 || len(m.Inputs) == 0 {
		return 0, false
	}
	in := m.Inputs[0]
	// A single dimension would be the number of tokens of an embedding.
	if len(in) < 2 || in[len(in)-1] != weight[1] {
		return 0, false
	}
	rows := float64(product(in[:len(in)-1]))
	flops = 2 * rows * float64(weight[0]) * float64(weight[1])
	if bias {
		flops += rows * float64(weight[0])
	}
	return flops, flops > 0
}
