// Package light computes how fast a device could do the work of a step at best ("speed of light"), and compares this
// with the recorded kernels. The work follows from the model's configuration and the batch, not from recorded shapes,
// so it also covers the kernels of replayed CUDA graphs.
//
// Bytes are decimal. A multiply-add counts as two FLOPs.
package light

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// Model holds the sizes of a decoder, from its config.json as published with the weights.
type Model struct {
	Family    string // model_type
	Hidden    int    // size of the residual stream
	Layers    int
	Heads     int
	KVHeads   int
	HeadDim   int
	Inter     int // size between the two products of a dense MLP
	Vocab     int
	QKVBias   bool
	OBias     bool
	QKNorm    bool
	Tied      bool  // the head shares its weights with the embedding
	Windows   []int // number of keys that a query of each layer sees; 0: all
	Experts   int   // 0: dense
	TopK      int
	MoEInter  int    // size between the two products of an expert
	Shared    int    // size between the two products of all shared experts together; 0: none
	Sparse    []bool // whether the MLP of each layer consists of experts
	Gated     bool   // the shared expert has a gate
	Bias      bool   // experts and router have a bias
	Sinks     bool   // each head has a learned sink
	Weight    Format // of the MLPs
	Attention Format // of the products of attention
	MLA       *MLA   // sizes of multi-head latent attention; nil: each head has keys and values
	Balanced  bool   // the router has a bias that balances experts
	// A stage of a pipeline lacks the embedding unless it is the first, and the head unless it is the last.
	Later, Earlier bool
	// CacheScaled is set if the weights come with scales for a quantised KV cache.
	CacheScaled bool
}

// sizes describes a model in a few words.
func (m *Model) sizes() string {
	out := fmt.Sprintf("%s, %d layers, hidden size %d, %s", m.Family, m.Layers, m.Hidden, m.Weight.Name)
	if m.Experts > 0 {
		return fmt.Sprintf("%s, %d experts of %d", out, m.Experts, m.MoEInter)
	}
	return fmt.Sprintf("%s, intermediate size %d", out, m.Inter)
}

// config is the part of config.json that determines the sizes.
type config struct {
	ModelType     string    `json:"model_type"`
	Text          *config   `json:"text_config"`
	Hidden        int       `json:"hidden_size"`
	Inter         int       `json:"intermediate_size"`
	Layers        int       `json:"num_hidden_layers"`
	Heads         int       `json:"num_attention_heads"`
	KVHeads       int       `json:"num_key_value_heads"`
	HeadDim       int       `json:"head_dim"`
	Vocab         int       `json:"vocab_size"`
	Tied          bool      `json:"tie_word_embeddings"`
	Bias          *bool     `json:"attention_bias"`
	Window        *int      `json:"sliding_window"`
	UseWindow     *bool     `json:"use_sliding_window"`
	MaxWindow     *int      `json:"max_window_layers"`
	LayerTypes    []string  `json:"layer_types"`
	Experts       int       `json:"num_experts"`
	LocalExperts  int       `json:"num_local_experts"`
	TopK          int       `json:"num_experts_per_tok"`
	PerToken      int       `json:"experts_per_token"`
	MoEInter      int       `json:"moe_intermediate_size"`
	SharedInter   int       `json:"shared_expert_intermediate_size"`
	SparseStep    int       `json:"decoder_sparse_step"`
	RoutedExperts int       `json:"n_routed_experts"`
	SharedExperts int       `json:"n_shared_experts"`
	FirstDense    int       `json:"first_k_dense_replace"`
	LayerFreq     int       `json:"moe_layer_freq"`
	TopKMethod    string    `json:"topk_method"`
	QueryLatent   int       `json:"q_lora_rank"`
	Latent        int       `json:"kv_lora_rank"`
	PlainDim      int       `json:"qk_nope_head_dim"`
	RopeDim       int       `json:"qk_rope_head_dim"`
	ValueDim      int       `json:"v_head_dim"`
	IndexTopK     int       `json:"index_topk"`
	DenseLayers   []int     `json:"mlp_only_layers"`
	DType         string    `json:"torch_dtype"`
	DTypeNew      string    `json:"dtype"`
	Quantization  *quantity `json:"quantization_config"`
	Architectures []string  `json:"architectures"`
}

// mostLayers bounds the numbers of layers and experts of a configuration, mostSize its sizes.
const (
	mostLayers = 1 << 16
	mostSize   = 1 << 24
)

// families lists the values of model_type whose work is known.
var families = []string{"deepseek_v2", "deepseek_v3", "gpt_oss", "kimi_k2", "llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe"}

// mostConfig bounds the bytes of a config.json.
const mostConfig = 4 << 20

// OpenModel reads the config.json at a path, which may be the directory that contains it.
func OpenModel(path string) (*Model, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "config.json")
	}
	text, err := atomicfile.ReadAtMost(path, mostConfig)
	if err != nil {
		return nil, err
	}
	m, err := ReadModel(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// ReadModel reads a config.json. It returns an error if the sizes are incomplete, or if the family is not in the list
// of known ones.
func ReadModel(text []byte) (*Model, error) {
	var c config
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("not a config.json: %w", err)
	}
	if c.Text != nil {
		whole := c
		c = *whole.Text
		if c.Quantization == nil {
			c.Quantization = whole.Quantization
		}
		c.DType, c.DTypeNew, c.Tied = cmp.Or(c.DType, whole.DType), cmp.Or(c.DTypeNew, whole.DTypeNew), c.Tied || whole.Tied
	}
	if !slices.Contains(families, c.ModelType) {
		return nil, fmt.Errorf("the work of model_type %q is not known; known are %s", c.ModelType, strings.Join(families, ", "))
	}
	m := &Model{Family: c.ModelType, Hidden: c.Hidden, Layers: c.Layers, Heads: c.Heads, KVHeads: c.KVHeads, HeadDim: c.HeadDim,
		Inter: c.Inter, Vocab: c.Vocab, Tied: c.Tied, TopK: max(c.TopK, c.PerToken), Experts: max(c.Experts, c.LocalExperts, c.RoutedExperts)}
	if m.KVHeads == 0 {
		m.KVHeads = m.Heads
	}
	if m.HeadDim == 0 && m.Heads > 0 {
		m.HeadDim = m.Hidden / m.Heads
	}
	for _, n := range []struct {
		key string
		is  int
	}{{"hidden_size", m.Hidden}, {"num_hidden_layers", m.Layers}, {"num_attention_heads", m.Heads}, {"num_key_value_heads", m.KVHeads}, {"head_dim", m.HeadDim}, {"vocab_size", m.Vocab}} {
		if n.is < 1 || n.is > mostSize || n.key == "num_hidden_layers" && n.is > mostLayers {
			return nil, fmt.Errorf("config.json: %s: want a positive number, got %d", n.key, n.is)
		}
	}
	bias := c.Bias != nil && *c.Bias
	m.QKVBias, m.OBias = bias, bias
	switch m.Family {
	case "qwen2", "qwen2_moe":
		m.QKVBias, m.OBias = c.Bias == nil || bias, false
	case "qwen3", "qwen3_moe":
		m.QKNorm = true
	case "gpt_oss":
		m.QKVBias, m.OBias = c.Bias == nil || bias, c.Bias == nil || bias
		m.Bias, m.Sinks = true, true
	case "deepseek_v2", "deepseek_v3", "kimi_k2":
		m.Balanced = c.TopKMethod == "noaux_tc"
		if err := m.latent(&c); err != nil {
			return nil, err
		}
	}
	if err := m.experts(&c); err != nil {
		return nil, err
	}
	m.windows(&c)
	var err error
	if m.Weight, err = formatOf(cmp.Or(c.DType, c.DTypeNew), c.Quantization); err != nil {
		return nil, err
	}
	m.CacheScaled = c.Quantization.cacheScaled()
	m.Attention = m.Weight
	if plainAttention, err := c.Quantization.excludesAttention(); err != nil {
		return nil, err
	} else if plainAttention || m.Family == "gpt_oss" { // whose experts alone are quantised
		m.Attention = plain
	}
	return m, nil
}

// experts finds the layers with experts.
func (m *Model) experts(c *config) error {
	m.Sparse = make([]bool, m.Layers)
	sparse := slices.Contains([]string{"gpt_oss", "mixtral", "qwen2_moe", "qwen3_moe"}, m.Family) || m.MLA != nil && m.Experts > 0
	if !sparse {
		m.Experts, m.TopK = 0, 0
	}
	dense, always := !sparse, map[int]bool{}
	for _, i := range c.DenseLayers {
		always[i] = true
	}
	for i := range m.Sparse {
		m.Sparse[i] = sparse && !always[i] && (c.SparseStep <= 1 || (i+1)%c.SparseStep == 0) && i >= c.FirstDense && i%max(c.LayerFreq, 1) == 0
		dense = dense || !m.Sparse[i]
	}
	if sparse {
		if m.MoEInter = c.MoEInter; m.MoEInter == 0 {
			m.MoEInter = c.Inter
		}
		if m.TopK < 1 || m.Experts < m.TopK || m.Experts > mostLayers || m.MoEInter < 1 || m.MoEInter > mostSize || c.SharedInter < 0 || c.SharedInter > mostSize || c.SharedExperts < 0 || c.SharedExperts > mostLayers {
			return fmt.Errorf("config.json: %d experts, %d per token, of size %d: want positive numbers, and no more per token than there are", m.Experts, m.TopK, m.MoEInter)
		}
		if m.Family == "qwen2_moe" {
			m.Shared, m.Gated = c.SharedInter, c.SharedInter > 0
		}
		if m.MLA != nil {
			m.Shared = c.SharedExperts * m.MoEInter
		}
	}
	if dense && (m.Inter < 1 || m.Inter > mostSize) {
		return fmt.Errorf("config.json: intermediate_size: want a positive number, got %d", m.Inter)
	}
	return nil
}

// windows finds the layers in which a query sees only the latest keys.
func (m *Model) windows(c *config) {
	m.Windows = make([]int, m.Layers)
	if c.Window == nil || *c.Window < 1 || c.UseWindow != nil && !*c.UseWindow {
		return
	}
	for i := range m.Windows {
		switch {
		case len(c.LayerTypes) == m.Layers:
			if c.LayerTypes[i] == "sliding_attention" {
				m.Windows[i] = *c.Window
			}
		case m.Family == "gpt_oss":
			if i%2 == 0 {
				m.Windows[i] = *c.Window
			}
		case c.MaxWindow == nil || i >= *c.MaxWindow:
			m.Windows[i] = *c.Window
		}
	}
}

// Parameters returns the number of weights and biases.
func (m *Model) Parameters() int64 {
	h, q, kv := int64(m.Hidden), int64(m.Heads*m.HeadDim), int64(m.KVHeads*m.HeadDim)
	attention := h*(q+2*kv) + q*h + 2*h
	if m.MLA != nil {
		attention = m.MLA.parameters(h, int64(m.Heads)) + 2*h
	}
	if m.QKVBias {
		attention += q + 2*kv
	}
	if m.OBias {
		attention += h
	}
	if m.QKNorm {
		attention += 2 * int64(m.HeadDim)
	}
	if m.Sinks {
		attention += int64(m.Heads)
	}
	total := int64(m.Layers)*attention + int64(m.Vocab)*h + h
	if !m.Tied {
		total += int64(m.Vocab) * h
	}
	e, inter := int64(m.Experts), int64(m.MoEInter)
	sparse := e*h + 3*e*h*inter + 3*h*int64(m.Shared)
	if m.Gated {
		sparse += h
	}
	if m.Bias {
		sparse += e + e*(2*inter+h)
	}
	if m.Balanced {
		sparse += e
	}
	for i := range m.Layers {
		if m.Sparse[i] {
			total += sparse
		} else {
			total += 3 * h * int64(m.Inter)
		}
	}
	return total
}

// untried lists what the model or its layout has that was not tried on a recorded window.
func (m *Model) untried(l Layout) (list []string) {
	add := func(is bool, what string) {
		if is {
			list = append(list, what)
		}
	}
	add(m.MLA != nil, "MLA")
	add(m.MLA == nil && (m.Family == "gpt_oss" || m.Family == "mixtral"), m.Family)
	add(m.Shared > 0, "shared experts")
	add(m.Weight.Name != plain.Name, m.Weight.Name+" weights")
	add(l.PP > 1, "stages of a pipeline")
	return list
}
