package kernel

import (
	_ "embed"
	"errors"
	"strings"
	"testing"
)

//go:embed testdata/captured.tsv
var captured string

func TestClassifyCaptured(t *testing.T) {
	rows := 0
	for line := range strings.Lines(captured) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		rows++
		if got := Classify(f[2], f[0]); got.String() != f[1] {
			t.Errorf("Classify(%q, %q) = %v, want %v", f[2], f[0], got, f[1])
		}
	}
	if rows < 20 {
		t.Errorf("testdata/captured.tsv: got %d rows, want at least 20", rows)
	}
}

// classified holds names as profilers write them for SGLang, vLLM, TensorRT-LLM, DeepEP, FlashInfer, Triton and ROCm.
var classified = []struct {
	want  Class
	names []string
}{
	{Copy, []string{
		"Memcpy HtoD (Pageable -> Device)", "[CUDA memcpy Device-to-Host]", "MEMORY_COPY_DEVICE_TO_HOST",
		"__amd_rocclr_copyBuffer", "__amd_rocclr_copyBufferAligned.kd", "hipMemcpyAsync",
	}},
	// Training and vision: cuDNN, MIOpen, CUTLASS and PyTorch as of 2021.
	{GEMM, []string{
		"volta_scudnn_128x64_relu_interior_nn_v1", "volta_fp16_s884cudnn_fp16_256x64_ldg8_relu_exp_small_nhwc_tn_v1",
		"turing_fp16_s1688cudnn_fp16_128x128_ldg8_dgrad_exp_interior_nhwc_nt_v1", "maxwell_scudnn_winograd_128x128_ldg1_ldg4_tile148n_nt",
		"void cudnn::cnn::dgrad2d_grouped_direct_kernel<false, true, float>(cudnnTensorStruct)", "void wgrad_alg0_engine<float, 128, 5, 5, 3, 3, 3, false, 512>(int, int, int)",
		"igemm_fwd_gtcx_nhwc_fp16_bx0_ex0_bt128x128x32", "miopenSp3AsmConv_v21_1_3_gfx9_fp32_stride1", "naive_conv_fwd_nchw_float_double_float",
		"void cutlass::Kernel<cutlass_80_tensorop_s1688fprop_optimized_tf32_128x64_16x6_nhwc_align4>(Params)",
	}},
	{Norm, []string{
		"void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(cudnnTensorStruct)", "void cudnn::bn_bw_1C11_singleread<float>(float)",
		"void at::native::batch_norm_collect_statistics_kernel<at::native::InvStd, float, float, float, int>(int)", "MIOpenBatchNormFwdTrainSpatial",
	}},
	{Reduce, []string{
		"void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int, float const*)", "void cudnn::pooling_fw_4d_kernel<float>(cudnnTensorStruct)",
		"void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(float*)",
	}},
	{Elementwise, []string{"void nchwToNhwcKernel<__half, __half, float, true, true, false>(int)", "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float>(int)"}},
	{Memset, []string{"Memset (Device)", "[CUDA memset]", "__amd_rocclr_fillBufferAligned", "hipMemset"}},
	{Comm, []string{
		"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
		"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
		"ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_bf16(ncclSymkDevWorkArgs4K)",
		"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)",
		"void sglang::cross_device_reduce_1stage<__nv_bfloat16, 8>(sglang::RankData*, sglang::RankSignals, sglang::Signal*, __nv_bfloat16*, int, int)",
		"void vllm::cross_device_reduce_2stage<__nv_bfloat16, 4>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, __nv_bfloat16*, int, int)",
		"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8, true>(flashinfer::trtllm_allreduce_fusion::AllReduceFusionParams<__nv_bfloat16>)",
		"void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_twoshot_sync<(tensorrt_llm::kernels::ar_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8, false>(tensorrt_llm::kernels::ar_fusion::AllReduceFusionParams)",
		"void flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<__nv_bfloat16>(float)",
		"void two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 8>(c10::BFloat16**)",
		"void c10d::symmetric_memory::(anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(int)",
		"void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__hip_bfloat16, quickreduce::CodecQ4<__hip_bfloat16, 8>, false>, __hip_bfloat16>(int)",
		"void mscclpp::allreduce8<float>(int)", "userbuffers_fp16_sum_inplace_gpu_rw", "reduce_scatter_cross_device_store",
		"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)",
		"void deep_ep::internode_ll::combine<true, 7168, 9>(void*)", "void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*)",
		"void tensorrt_llm::kernels::mnnvl_throughput::moeA2ADispatchKernel<int>(int)", "nvshmemi_transfer_rma_block",
		"void pplx::internode::combineKernel<8>(int)", "void allreduce_fusion_rmsnorm_kernel<float>(int)",
	}},
	{Attention, []string{
		"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, 64, cutlass::bfloat16_t> > > >(flash::Params)",
		"void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, cutlass::bfloat16_t> >(flash::Flash_fwd_params)",
		"void flash::prepare_varlen_num_blocks_kernel<1, true>(int)",
		"void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u, 4u>(flashinfer::Params)",
		"void flashinfer::BatchPrefillWithRaggedKVCacheKernel<flashinfer::KernelTraits<0> >(int)",
		"void flashinfer::PersistentVariableLengthMergeStatesKernel<8u, 16u>(float*)",
		"void flashinfer::mla::BatchMLAPagedAttentionKernel<int>(int)",
		"fmhaSm100fKernel_QkvE4m3OBfloat16H128PagedKvCausalP32VarSeqQ128Kv128Persistent",
		"_ZN5aiter37fmha_fwd_hd128_bf16_causal_rtna_groupE", "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)",
		"cutlass::fmha::splitKreduce_kernel", "kernel_unified_attention_2d", "_fwd_kernel", "_fwd_kernel_stage1", "_fwd_grouped_kernel_stage1",
		"_fwd_kernel_stage2", "void paged_attention_ll4mi_QKV_mfma16_kernel<__hip_bfloat16, 128>(int)", "merge_attn_states_kernel", "merge_state_kernel",
		"void mmha::masked_multihead_attention_kernel<unsigned short, 128>(int)", "create_flashinfer_kv_indices_triton",
		"void deep_gemm::sm90_fp8_mqa_logits<64u, 128u>(unsigned int)", "lightning_indexer_kernel", "_ZN7aiter_0E_mla_a8w8", "reduce_segments",
	}},
	{LinearAttention, []string{
		"chunk_gated_delta_rule_fwd_kernel_h_blockdim64", "fused_recurrent_gated_delta_rule_fwd_kernel", "chunk_fwd_kernel_o", "chunk_scaled_dot_kkt_fwd_kernel",
		"chunk_local_cumsum_scalar_kernel", "_causal_conv1d_fwd_kernel", "void selective_scan_fwd_kernel<Selective_Scan_fwd_kernel_traits<128> >(int)",
		"_chunk_scan_fwd_kernel", "fused_gdn_gating_kernel", "kda_gate_fwd_kernel", "_ssd_state_kernel",
	}},
	{KVCache, []string{
		"void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(int)", "set_mla_kv_buffer_kernel", "store_kvcache",
		"void vllm::concat_and_cache_mla_kernel<__nv_bfloat16>(int)", "copy_page_kernel", "write_req_to_token_pool_triton", "generate_draft_decode_kv_indices",
		"void transfer_kernel_impl<0>(int)", "_compute_slot_mapping_kernel", "void tensorrt_llm::kernels::applyBiasRopeUpdateKVCacheV2<__nv_bfloat16>(int)",
	}},
	{MoEGEMM, []string{
		"fused_moe_kernel", "fused_moe_silu_kernel", "_matmul_ogs_NNT_bf16xbf16xmxfp4_128x256x128x1", "ck::kernel_moe_gemm<int>", "aiter::fmoe_bf16_g1u1",
		"void marlin_moe_wna16::Marlin<__nv_bfloat16, 1125899906909960l, 256>(int4 const*)", "bmm_E4m3_E4m3E4m3_Fp32_t128x8x128u2_s6_et64x8_m64x8x32_cga1x1x1_16dp256b",
		"void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<cute::tuple<int, int, int> >, int> >(int)",
		"void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u, 7168u, 1u, 128u, (deep_gemm::GemmType)1>(float*)",
		"void deep_gemm::sm100_fp8_gemm_1d1d_impl<(cute::UMMA::Major)0, 0u, 4096u, (deep_gemm::GemmType)2>(float*)",
		"deep_gemm::m_grouped_fp8_gemm_nt_contiguous",
	}},
	{MoERouting, []string{
		"void vllm::moe::topkGatingSoftmax<8, 128, 4, 16, int>(float const*)", "void vllm::moe::moe_align_block_size_kernel<int>(int*)", "moe_topk_softmax_kernel",
		"void moe_fused_gate_kernel<float, 8>(void*)", "void moe::dev::routing::routingDeepSeek::routingMainKernel<int>(int)",
		"void tensorrt_llm::kernels::cutlass_kernels::expandInputRowsKernel<__nv_bfloat16>(int)", "void finalizeMoeRoutingKernel<float>(int)", "_sum_bitmatrix_rows",
		"_fwd_kernel_ep_scatter_1", "_fwd_kernel_ep_gather", "ck_tile::MoeSortingKernel<int>", "count_and_sort_expert_tokens_kernel", "compute_strides_kernel",
	}},
	{GEMM, []string{
		"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>(int)",
		"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, false, true>(int)",
		"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x16x64_MI16x16x1_SN", "void wvSplitKrc_<__hip_bfloat16, 64>(int)", "_w8a8_block_fp8_matmul",
		"void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 2112u, 7168u, 1u, 128u, (deep_gemm::GemmType)0>(float*)", "void marlin::Marlin<__nv_bfloat16, 4>(int)",
		"triton_tem_fused_mm_0", "triton_mm", "void dot_kernel<float, 128, 0>(int)", "awq_gemm_kernel",
		"sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32",
	}},
	{Norm, []string{
		"void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*)", "void vllm::rms_norm_static_fp8_quant_kernel<int>(int)",
		"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0", "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<float>(long)", "l2norm_fwd_kernel",
		"void tensorrt_llm::kernels::fusedQKNormRopeKernel<128, true>(void*)",
	}},
	{Rope, []string{
		"void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheEnhancedHeadParallelismKernel<true, 128u>(int)", "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)",
		"_triton_mrope_forward",
	}},
	{Activation, []string{
		"void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &(float silu<float>(float const&))>(__nv_bfloat16*)", "_silu_and_mul_post_quant_kernel",
		"void tensorrt_llm::kernels::cutlass_kernels::doActivationKernel<float>(int)", "triton_poi_fused_mul_silu_slice_1", "swiglu_kernel",
		"void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}, std::array<char*, 2ul> >(int)",
	}},
	{Quantize, []string{
		"void per_token_group_quant_8bit_kernel<__nv_bfloat16, __nv_fp8_e4m3, false>(int)", "void vllm::dynamic_per_token_scaled_fp8_quant_kernel<int>(int)",
		"void cvt_fp16_to_fp4<__nv_bfloat16, false>(int)", "_per_token_group_quant_fp8", "void tensorrt_llm::kernels::quantize_with_block_size<(int)0>(int)",
	}},
	{Sampling, []string{
		"void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u, (cub::BlockScanAlgorithm)0>(float*)", "apply_token_bitmask_inplace_kernel",
		"void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float>(float*)", "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(int)",
		"void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4>(long)", "triton_red_fused_argmax_0", "rejection_greedy_sample_kernel",
		"void vllm::apply_repetition_penalties_kernel<float>(float*)",
	}},
	{Embedding, []string{
		"void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_kernel_impl<int> >(int)>(int)",
		"void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_gather_internal_kernel<false, int>::operator()<at::native::ReduceAdd>(int)>(int)",
		"void at::native::vectorized_gather_kernel<16, long, at::native::reduce_kernel>(char*)", "triton_poi_fused_embedding_0", "triton_poi_fused_index_put_3",
	}},
	{Reduce, []string{
		"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, 4, 4> >(int)",
		"void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<int>(int)", "void rocprim::detail::trampoline_kernel<int>(int)", "triton_per_fused_sum_0",
		"void at::native::tensor_kernel_scan_innermost_dim<float, std::plus<float> >(float*)",
	}},
	{Elementwise, []string{
		"triton_poi_fused_add_cat_4", "void at::native::(anonymous namespace)::CatArrayBatchedCopy_aligned16_contig<int>(int)",
		"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}, std::array<char*, 2ul>, 4>(int)",
		"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, std::array<char*, 1ul> >(int)", "void get_property_copy_kernel<int>(int)",
	}},
	{Other, []string{"", "my_kernel", "void foo<int>(float*)", "TransformLayerKernel", "_Z3fooi", "(", "void", "<", "a<b"}},
}

func TestClassify(t *testing.T) {
	for _, row := range classified {
		for _, name := range row.names {
			if got := Classify(name, "kernel"); got != row.want {
				t.Errorf("Classify(%q) = %v, want %v", name, got, row.want)
			}
		}
	}
}

func TestClassifyByCategory(t *testing.T) {
	for cat, want := range map[string]Class{"gpu_memcpy": Copy, "Memcpy": Copy, "gpu_memset": Memset, "Memset": Memset, "kernel": GEMM} {
		if got := Classify("nvjet", cat); got != want {
			t.Errorf("Classify(nvjet, %q) = %v, want %v", cat, got, want)
		}
	}
}

func TestGroupsHoldEveryClass(t *testing.T) {
	seen := map[Group]bool{}
	for c := Other; c <= Memset; c++ {
		seen[c.Group()] = true
		if back, ok := ParseClass(c.String()); !ok || back != c {
			t.Errorf("ParseClass(%q) = %v, %v, want %v", c.String(), back, ok, c)
		}
		if (c.Group() == GroupOther) != (c == Other) {
			t.Errorf("%v.Group() = %v, want GroupOther for Other only", c, c.Group())
		}
	}
	for _, g := range Groups() {
		if !seen[g] {
			t.Errorf("group %q of Groups() has no class", g)
		}
		delete(seen, g)
	}
	if len(seen) > 0 {
		t.Errorf("Groups() lacks %v", seen)
	}
}

func TestRules(t *testing.T) {
	r, err := ParseRules(strings.NewReader("# ours\n\n  moe_gemm \t ^my expert\nnorm flash|(?-i:XyZ)\ncopy ncclX\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Class{
		"MY EXPERT 3": MoEGEMM, "not my expert": MoERouting, "flash_fwd": Norm, "XyZ": Norm, "xyz": Other, "ncclX": Copy, "nvjet": GEMM,
	} {
		if got := r.Classify(name, ""); got != want {
			t.Errorf("Classify(%q) = %v, want %v", name, got, want)
		}
	}
	for text, line := range map[string]int{"gemm a\nbogus b": 2, "gemm": 1, "\n\nnorm a(": 3} {
		var se *SyntaxError
		if _, err := ParseRules(strings.NewReader(text)); !errors.As(err, &se) || se.Line != line {
			t.Errorf("ParseRules(%q): %v, want an error at line %d", text, err, line)
		}
	}
}

func BenchmarkClassify(b *testing.B) {
	n := 0
	for b.Loop() {
		for _, row := range classified {
			for _, name := range row.names {
				Classify(name, "kernel")
				n++
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/name")
}
