package kernel

import (
	"regexp"
	"strings"
	"sync"
)

// Classification of names
//
// A table of patterns is searched in a fixed order, and the first match wins. The order decides on names that match two
// rows: a fused all-reduce with RMSNorm is communication, a softmax over experts is routing, SiLU fused into an expert
// GEMM is GEMM.
//
// The order alone is not enough, because C++ template arguments contain words of other kernels: a gather kernel has
// `reduce` in its arguments, and every PyTorch kernel has `functor`. The table is therefore searched three times, for
// text that is less reliable each time:
//
//  1. the function: its qualified name without template arguments, parameters and return type;
//  2. the function with its template arguments, for generic wrappers (cutlass::device_kernel<…>);
//  3. the whole name.
//
// The work of two kinds of functions depends on their template arguments, although the function alone matches a row in
// search 1. Carriers apply any functor (elementwise_kernel<…silu…>, reduce_kernel<…ArgMaxOps…>). In DeepGEMM, an
// argument distinguishes a grouped GEMM from a plain one. For both kinds, the template arguments are searched as well.

type rule struct {
	class Class
	re    *regexp.Regexp
}

// table is in order of precedence. (?i) is added to each pattern. Three rows come before the general row of the same
// class, because a row in between would match the same names first. The comments of these rows name the words.
var table = compile(
	entry{Copy, `^(hip|cuda )?memcpy|^\[cuda memcpy|MEMORY_COPY_|rocclr_copyBuffer|^CopyHostTo|^CopyDeviceTo`},
	entry{Memset, `^(hip|cuda )?memset|^\[cuda memset|rocclr_fillBuffer`},

	// NCCL, RCCL, HCCL.
	entry{Comm, `\bnccl|rccl|hccl|^hcom_|mscclkernel`},
	// Custom all-reduce, also fused with residual and norm.
	entry{Comm, `cross_device_reduce|all_?reduce_?fusion|(one|two)_?shot_?(quick_?)?all_?reduce|all_?reduce_?(one|two)_?shot` +
		`|multimem_(one_shot_|two_shot_)?all_?(reduce|gather)|multimem_reduce_scatter|quick_?reduce|qr_all_reduce|mscclpp` +
		`|trtllm\w*all_?reduce|user_?buffers|reduce_scatter_cross_device|all_?gather_cross_device|custom_?all_?reduce` +
		`|all_?reduce_prototype|symmetric_memory.*(barrier|signal)|(\b|_)(all_?reduce|all_?gather|reduce_?scatter)(_|\b)`},
	// Expert-parallel exchange.
	entry{Comm, `deep_ep::|\b(intra|inter)node(_ll)?::|moe_?comm|moe_?a2a|nvshmem|pplx|mooncake|nixl|all_?to_?all`},

	// Names of KV cache kernels contain words of attention kernels: reshape_and_cache_flash, set_mla_kv_buffer.
	entry{KVCache, `reshape_and_cache|set_(mla_)?kv_buffer|store_kv|concat_and_cache|_and_cache(_|\b)|gather_(and_maybe_dequant_)?cache` +
		`|copy_(page|blocks)|req_to_token|transfer_(kv|kernel)|update_?kv_?cache|get_mla_kv_buffer|alloc_(extend|decode)|slot_mapping` +
		`|block_tables?_|cache_loc|swap_blocks`},
	// Linear attention comes before softmax attention: many of its names end in _fwd_kernel or contain "flash".
	entry{LinearAttention, `gated_delta|delta_rule|chunk_(fwd|scaled|local|scan|state|cumsum)|selective_(scan|state)|state_passing|causal_conv1d` +
		`|(\b|_)ssd_|(\b|_)gdn|(\b|_)kda(\b|_)|linear_att|lightning_att|recompute_w_u|solve_tril|merge_16x16_to|bmm_chunk`},
	// _fwd_kernel must be a whole word: SGLang's MoE has _fwd_kernel_ep_scatter_1. "flash" must not be part of the
	// library name FlashInfer.
	entry{Attention, `flash([^i]|i[^n]|$)|create_flash|fmha|\b_fwd_(grouped_)?kernel(_stage[12])?(_[\dcde]+)?\b|paged_?attention` +
		`|unified_attention|attention_[23]d|(batch|single|\b)(prefill|decode)with|splitkv|merge_(attn_)?states?|mergestates|sdpa` +
		`|reduce_segments|sparse_attn|indexer|mqa_logits|att(entio)?n_fwd|mha_fwd|context_attention|masked_multihead|\bmmha|kernel_mha|xqa` +
		`|num_kv_splits|\bpa_(fwd|bf16|fp16|kernel|decode|prefill)|efficient_attention|cudnn_attention|(\b|_)nsa_`},
	// Case matters for MLA: "TransformLayer" contains "mLa".
	entry{Attention, `(?-i:MLA|Mla|(\b|_)mla)`},
	entry{KVCache, `create_.*kv_indices|kv_indices`},

	entry{MoEGEMM, `fused_moe|moe[\w:]*gemm|grouped_?(gemm|mm)|group_?gemm|GroupProblemShape|fmoe|matmul_ogs|m_grouped|marlin_moe|moe_wna16|moe_?flatmm|expert\w*gemm` +
		`|bmm_.*(E4m3|E2m1|MxInt)`},
	entry{MoERouting, `topk_?gating|topk.*softmax|grouped_?topk|moe[\w:]*topk|moe_(align|sort|sum|fused_gate|permute|unpermute)|MoeSorting|routing` +
		`|expandInputRows|finalizeMoe|bitmatrix|(\b|_)ep_(scatter|gather)|compute_(arg_)?strides|expert|moe::dev::(finalize|permute)` +
		`|deepseek_?v\d_topk|_topk_forward|_reduce_grouped|(pre|post)_reorder|seg_indptr|compute_problem_sizes|shuffle_?rows`},
	entry{GEMM, `nvjet|gemm|gemv|cutlass.*Gemm|xmma|cublas|splitKreduce|Cijk_|wvSplitK|matmul|marlin|machete|scaled_mm|gptq|awq|_(add)?mm(_|\b)|dot_kernel` +
		`|bmm|convolv|(\b|_)conv[123]d|implicit_conv|winograd|\bcudnn.*(conv|[fdw]prop|[dw]grad)` +
		`|\d*cudnn_(fp|tf|int|small|winograd|\d)|scudnn|[dw]grad_|[fdw]prop_|igemm|miopen\w*conv|miopensp3asm|naive_conv`},

	entry{Norm, `(\b|_)bn_?[fb]w|batch_?norm|rms_?norm|layer_?norm|group_?norm|l2_?norm|qk_?norm|fused_add_norm|RowwiseMoments|triton_.*rsqrt`},
	entry{Rope, `rotary|rope([^r]|$)`}, // not "property"
	entry{Activation, `silu|swiglu|gelu|act_and_mul|relu|doActivation|activationKernel`},
	entry{Quantize, `quant([^i]|i[^l]|$)|fp8.*cast|cvt_|per_token_group|scaled_fp4|convertsf`}, // not "quantile"
	entry{Sampling, `(\b|[^pn])sampl(e|ing)|(\b|[^s])top_?[kp]|min_p(\b|_)|argmax|soft_?max|logits|penalt|multinomial|curand|distribution_|grammar|token_bitmask` +
		`|verify_?tree|build_?(\w*_)?tree|rejection_|eagle_|gumbel`},
	entry{Embedding, `embedding|vectorized_gather|index_?(select|put|copy|add|fill|elementwise)|indexFunc|scatter_gather|gather_kernel|scatter_kernel` +
		`|repeat_interleave|compute_cuda_kernel|nonzero|masked_(scatter|select)`},

	entry{Reduce, `triton_(red|per)_fused`},
	entry{Elementwise, `triton_(poi|tem|mm|for)_fused|triton_poi`},
	entry{Reduce, `pooling|(\b|_)(max|avg|average)_?pool|nll_?loss|cross_?entropy|reduce_kernel|\bcub::|rocprim|hipcub|DeviceRadixSort|DeviceScan|radix_?sort|bitonic_?sort|tensor_kernel_scan|cumsum|thrust::`},
	entry{Elementwise, `nchwtonhwc|nhwctonchw|nchw2|nhwc2|tensor_?transform|dropout|elementwise|CatArrayBatchedCopy|FillFunctor|copy_kernel|direct_copy|arange|\bwhere|triu_tril|compute_position|upsample|foreach|multi_tensor_apply`},
)

// carriers matches functions that apply a functor. The functor is in the template arguments and may determine the class
// more precisely.
var carriers = regexp.MustCompile(`(?i)elementwise|reduce_kernel|\bcub::|rocprim|hipcub|thrust::|for_each`)

// functors lists the classes that a carrier can take from its functor. Embedding and Norm are excluded because index
// types and NormOps also occur in the arguments of plain kernels.
var functors = map[Class]bool{Activation: true, Rope: true, Sampling: true}

// Values of DeepGEMM's GemmType: 0 plain, 1 and 5 grouped contiguous, 2 grouped masked, 3 and 6 grouped along K, 4
// batched.
var deepGEMMGrouped = regexp.MustCompile(`GemmType\)[12356]\b|GemmType::[MK]Grouped`)

type entry struct {
	class   Class
	pattern string
}

func compile(entries ...entry) []rule {
	rules := make([]rule, len(entries))
	for i, e := range entries {
		rules[i] = rule{e.class, regexp.MustCompile(`(?i)` + e.pattern)}
	}
	return rules
}

// Classify calls Default().Classify.
func Classify(name, cat string) Class { return Default().Classify(name, cat) }

// Classify returns the class of a device operation. cat is its category in the trace ("kernel", "gpu_memcpy",
// "gpu_memset", or the older "Memcpy", "Memset"); cat determines the class of copies and fills, and may be empty. The
// user's rules take precedence over cat and the built-in table.
func (r *Rules) Classify(name, cat string) Class {
	for _, u := range r.user {
		if u.re.MatchString(name) {
			return u.class
		}
	}
	switch cat {
	case "gpu_memcpy", "Memcpy":
		return Copy
	case "gpu_memset", "Memset":
		return Memset
	}

	return finder().class(name)
}

// longestName is the length, in bytes, to which longer names are truncated. The longest names, those of CUTLASS, have a
// few thousand characters.
const longestName = 32 << 10

// classifier holds the table as one automaton, and a cache of results.
type classifier struct {
	*automaton
	known map[string]Class
}

// remembered is the maximum number of cached names. The cache is useful because ranks run kernels of the same names.
const remembered = 1 << 15

var finder = sync.OnceValue(func() *classifier {
	var patterns []string
	for _, r := range table {
		patterns = append(patterns, r.re.String())
	}
	patterns = append(patterns, carriers.String(), deepGEMMGrouped.String())
	return &classifier{newAutomaton(patterns), map[string]Class{}}
})

// class returns the class of the kernel with the given name.
func (f *classifier) class(name string) Class {
	name = name[:min(len(name), longestName)]
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.known[name]
	if !ok {
		c = f.find3(name)
		if len(f.known) == remembered {
			clear(f.known)
		}
		f.known[strings.Clone(name)] = c
	}
	return c
}

// find3 searches the table three times.
func (f *classifier) find3(name string) Class {
	rules := uint64(1)<<len(table) - 1
	d := parseDecl(name)
	function, args := d.bare(), d.name
	found := f.find(function)
	if i := first(found & rules); i >= 0 {
		return f.settle(table[i].class, found, args)
	}
	for _, text := range []string{args, name} {
		if i := first(f.find(text) & rules); i >= 0 {
			return table[i].class
		}
	}
	return Other
}

// settle refines the class c of a carrier or of a DeepGEMM kernel by its template arguments. found is the set of
// patterns that match the function.
func (f *classifier) settle(c Class, found uint64, args string) Class {
	carrier, grouped := uint64(1)<<len(table), uint64(2)<<len(table)
	switch {
	case c == GEMM && strings.Contains(args, "GemmType") && f.find(args)&grouped != 0:
		return MoEGEMM
	case (c == Elementwise || c == Reduce) && found&carrier != 0:
		found = f.find(args)
		for i, t := range table {
			if functors[t.class] && found>>i&1 != 0 {
				return t.class
			}
		}
	}
	return c
}
