package light

import (
	"fmt"
	"slices"
	"strings"
)

// Format is the form in which the weights of the layers' products are stored. Embedding, head, router and norms are in
// bf16 or fp16, as quantization_config leaves them out in published models.
type Format struct {
	Name    string  // bf16, fp8, fp8 by block, w4a16, mxfp4, nvfp4, mxfp8
	Bytes   float64 // of a weight, with its scales
	Compute Compute
}

// Compute is the number format of the operands of a product.
type Compute uint8

const (
	BF16 Compute = iota
	FP8
	FP4
)

// quantity is quantization_config.
type quantity struct {
	Method    string    `json:"quant_method"`
	Bits      int       `json:"bits"`
	Group     int       `json:"group_size"`
	Symmetric *bool     `json:"sym"`
	ZeroPoint *bool     `json:"zero_point"`
	Block     []float64 `json:"weight_block_size"`
	Algorithm string    `json:"quant_algo"`
	// The format of the KV cache, in the notation of compressed-tensors and of ModelOpt.
	CacheScheme    any    `json:"kv_cache_scheme"`
	CacheAlgorithm string `json:"kv_cache_quant_algo"`
	// Modules that are not quantised; the key depends on the method.
	NotConvert []string `json:"modules_to_not_convert"`
	Ignored    []string `json:"ignored_layers"`
	Ignore     []string `json:"ignore"`
}

// cacheScaled reports whether the KV cache is to be quantised.
func (q *quantity) cacheScaled() bool {
	return q != nil && (q.CacheScheme != nil || q.CacheAlgorithm != "")
}

// excludesAttention reports whether the products of attention are not quantised. Modules that are never quantised here
// (head, embedding, router, norms) may be excluded too; an exclusion of other modules is an error.
func (q *quantity) excludesAttention() (attention bool, err error) {
	if q == nil {
		return false, nil
	}
	for _, name := range slices.Concat(q.NotConvert, q.Ignored, q.Ignore) {
		has := func(parts ...string) bool {
			return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p) })
		}
		switch {
		case has("attn"):
			attention = true
		case has("gate_proj", "gate_up_proj", "up_proj", "down_proj", "experts") || !has("lm_head", "embed", "router", "gate", "norm", "visual", "vision"):
			return false, fmt.Errorf("config.json: quantization_config: the excluded module %q is not known; known are attention, lm_head, embedding, router and norms", name)
		}
	}
	return attention, nil
}

// formatOf returns the format of the weights. A scale of a group takes two bytes, a scale of a block four, and a scale
// of the OCP formats (MX) one byte for 32 weights.
func formatOf(dtype string, q *quantity) (Format, error) {
	if q == nil || q.Method == "" && q.Algorithm == "" {
		switch dtype {
		case "bfloat16", "float16":
			return Format{"bf16", 2, BF16}, nil
		}
		return Format{}, fmt.Errorf("config.json: torch_dtype: want bfloat16 or float16, got %q", dtype)
	}
	group := float64(q.Group)
	switch method := q.Method; {
	case method == "fp8" && len(q.Block) == 2 && q.Block[0] > 0 && q.Block[1] > 0:
		return Format{"fp8 by block", 1 + 4/(q.Block[0]*q.Block[1]), FP8}, nil
	case method == "fp8":
		return Format{"fp8", 1, FP8}, nil
	case q.Algorithm == "NVFP4":
		return Format{"nvfp4", 0.5 + 1.0/16, FP4}, nil
	case method == "mxfp4":
		return Format{"mxfp4", 0.5 + 1.0/32, BF16}, nil
	case method == "mxfp8":
		return Format{"mxfp8", 1 + 1.0/32, FP8}, nil
	case (method == "gptq" || method == "awq") && q.Bits == 4 && q.Group > 0:
		zeros := method == "awq" && (q.ZeroPoint == nil || *q.ZeroPoint) || method == "gptq" && q.Symmetric != nil && !*q.Symmetric
		if zeros {
			return Format{"w4a16", 0.5 + 2.5/group, BF16}, nil
		}
		return Format{"w4a16", 0.5 + 2/group, BF16}, nil
	}
	return Format{}, fmt.Errorf("config.json: quantization_config: the format of quant_method %q is not known; known are fp8, mxfp4, mxfp8, nvfp4 (quant_algo), and gptq and awq with 4 bits", q.Method)
}
