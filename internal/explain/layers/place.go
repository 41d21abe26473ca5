package layers

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Place is the position of a module in its model.
type Place struct {
	Stack string // path of the list of layers that contains the module, such as model.layers; "": none
	Layer int    // index in the stack; -1: not in a layer
	Kind  string // path inside the layer, such as mlp.down_proj ("": the layer itself); outside layers, the whole path
}

// WholeModel is the kind of a module that contains all others.
const WholeModel = "(model)"

// Name returns the path of the module, with the layer's number replaced by *: model.layers.*.mlp.down_proj.
func (p Place) Name() string {
	if p.Layer < 0 {
		return p.Kind
	}
	if p.Kind == "" {
		return p.Stack + ".*"
	}
	return p.Stack + ".*." + p.Kind
}

// Root returns the prefix that the paths of all modules have in common, such as "model". The prefix carries no
// information. It is the common path up to the first list of layers, and excludes the inner model of "model.model".
// Root returns "" if there is no common prefix. A module of that name may have no marker, since servers call its
// forward directly.
func Root(modules []string) string {
	var root []string
	for i, m := range modules {
		parts := strings.Split(m, ".")
		if i == 0 {
			root = parts
		}
		n := 0
		for n < len(root) && n < len(parts) && root[n] == parts[n] {
			n++
		}
		root = root[:n]
	}
	if len(modules) == 1 {
		root = root[:len(root)-1]
	}
	if at := slices.IndexFunc(root, isList); at >= 0 {
		root = root[:at]
	}
	if n := len(root); n > 1 && root[n-1] == "model" {
		root = root[:n-1]
	}
	return strings.Join(root, ".")
}

// PlaceOf returns the place of a module, with root removed from the module's path. A layer is a number after the name
// of a list: layers.0, blocks.0, transformer_blocks.0, h.0, noise_refiner.0. All experts of a layer count as one.
func PlaceOf(module, root string) Place {
	if root != "" {
		if module == root {
			return Place{Layer: -1, Kind: WholeModel}
		}
		if rest, ok := strings.CutPrefix(module, root+"."); ok {
			module = rest
		}
	}
	parts := strings.Split(module, ".")
	for i := 1; i < len(parts); i++ {
		n, ok := number(parts[i])
		if ok && isList(parts[i-1]) {
			return Place{Stack: strings.Join(parts[:i], "."), Layer: n, Kind: kind(parts[i+1:])}
		}
	}
	return Place{Layer: -1, Kind: kind(parts)}
}

// denoisingStep matches names with the step's number and its noise level.
var denoisingStep = regexp.MustCompile(`^denoising_step_\d+_t[\d.e+-]+$`)

func kind(parts []string) string {
	for i := 1; i < len(parts); i++ {
		if _, ok := number(parts[i]); ok && strings.HasSuffix(parts[i-1], "experts") {
			parts[i] = "*"
		}
	}
	if path := strings.Join(parts, "."); !denoisingStep.MatchString(path) {
		return path
	}
	return "denoising_step"
}

func number(s string) (int, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil
}

// isList reports whether name names a list of layers, rather than a list of other numbered modules, such as the parts
// of an MLP.
func isList(name string) bool {
	ends := []string{"layers", "layer", "blocks", "block", "refiner"}
	return name == "h" || slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(strings.ToLower(name), end) })
}
