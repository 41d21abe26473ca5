// Package layers parses the ranges that servers record around the modules of a model when layer-wise NVTX markers are
// enabled (SGLang's --enable-layerwise-nvtx-marker, and stepscope's own).
//
// A language model's markers are Python dicts with keys in this order, in which absent keys are omitted:
//
//	{'Module': 'model.model.layers.0.mlp.down_proj', 'TrainableParams': {'weight': [4096, 14336]}, 'Inputs': [[7, 14336]]}
//
// A diffusion pipeline's markers are short, and nested inside ranges of the pipeline:
//
//	stage_denoising_stage > denoising_loop > denoising_step_0_t1000 > predict_noise
//	    > denoising_stage.transformer in=[[1, 16, 1, 128, 128], [1], [1, 93, 2560]]
//	    > denoising_stage.transformer.layers.0.attention.to_qkv in=[[1, 4128, 3840]]
//
// Older markers begin with the component: transformer.
//
// The formats are those of SGLang's srt/utils/nvtx_pytorch_hooks.py and
// multimodal_gen/runtime/utils/nvtx_pytorch_hooks.py.
package layers

import (
	"math/bits"
	"regexp"
	"strings"
)

// Marker is the parsed text of one range.
type Marker struct {
	Module string
	Params []Param // parameters of the module itself, without those of its children
	Inputs [][]int64
	Static []Static // settings, present for plain torch classes
	Form   Form
}

// Form is the notation of a marker.
type Form uint8

// Dict is the form of a language model's markers, and Short the form of a diffusion pipeline's markers. Bare is a Short
// marker without inputs. It is only a name, which may come from any program unless its first part is known (see Known).
// Scope is a range of the pipeline that encloses modules. Frame is not a marker but a Python frame of a layer, recorded
// with stacks, which gives the class and number of the object.
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

// Static is a setting of the module, as printed, such as in_features 4096.
type Static struct{ Name, Text string }

var (
	barePath = regexp.MustCompile(`^[A-Za-z_]\w*(?:\.\w+)+$`)
	scopes   = regexp.MustCompile(`^(?:stage_\w+|denoising_loop|denoising_step_\d+_t[\d.e+-]+|predict_noise|scheduler_step)$`)
	frames   = regexp.MustCompile(`^nn\.Module: (\w*(?:Layer|Block))_(\d+)$`)
	// components matches the names of a diffusion pipeline's components at the beginning of a path.
	components = regexp.MustCompile(`^(?:transformer|text_encoder|image_encoder|image_text_encoder|vae|vae_encoder|image_vae_encoder)(?:_\d+)?$`)
)

// Parse parses the text of a range. ok is false if the text is not a marker. A dict that is truncated after the
// module's name is a marker with the entries that are complete.
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

// Known reports whether a bare name names a component of a diffusion pipeline, or a part of a component. The stage may
// precede the component.
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

// sizeLists parses a list of sizes such as [[7, 14336], [7]]. A single size such as [7] counts as a list with one
// element.
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

// Elements returns the number of elements in all parameters. It returns 0 if there are no parameters, or if the number
// overflows int64.
func (m *Marker) Elements() (sum int64) {
	for _, p := range m.Params {
		n := product(p.Size)
		if sum += n; sum < 0 {
			return 0
		}
	}
	return sum
}

// product returns the number of elements of a tensor of the given size, or 0 if the number overflows.
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

// LinearFLOPs returns the FLOPs of one call of a linear layer. For a weight [out, in] and a first input [..., in] that
// holds rows vectors, the FLOPs are 2·rows·in·out, plus rows·out for a bias. ok is false for any other module, and for
// packed or transposed weights, whose sizes are ambiguous.
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
	// If the input has a single dimension, it is the number of tokens of an embedding.
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
