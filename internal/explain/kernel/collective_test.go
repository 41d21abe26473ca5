package kernel

import "testing"

func TestCollective(t *testing.T) {
	tests := []struct {
		name  string
		op    string // "": no collective
		waits bool
	}{
		{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", AllReduce, true},
		{"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", AllReduce, true},
		{"ncclAllReduceRingLLKernel_sum_f32(ncclColl)", AllReduce, true},
		{"ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_bf16(x)", AllReduce, true},
		{"ncclSymkDevKernel_ReduceScatter_RailA2A_LsaLD_sum_f32(x)", ReduceScatter, true},
		{"ncclDevKernel_AllGather_RING_LL(x)", AllGather, true},
		{"ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(x)", ReduceScatter, true},
		{"ncclDevKernel_Broadcast_RING_LL(x)", Broadcast, false},
		{"ncclDevKernel_Reduce_Sum_f32_RING_LL(x)", ReduceOp, false},
		{"ncclDevKernel_SendRecv(x)", SendRecv, false},
		{"ncclDevKernel_AllToAll(x)", AllToAll, true},
		{"ncclDevKernel_Generic_4(x)", Generic, false},
		{"void vllm::cross_device_reduce_2stage<half, 4>(x)", AllReduce, true},
		{"reduce_scatter_cross_device_store", ReduceScatter, true},
		{"void multimem_all_gather_kernel<16>(x)", AllGather, true},
		{"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(A)1, half, 8>(x)", AllReduce, true},
		{"void flashinfer::trtllm_moe_allreduce_fusion::moefinalize_allreduce_fusion_kernel_oneshot_lamport<8>(x)", AllReduce, true},
		{"void flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<half>(x)", AllReduce, true},
		{"void quickreduce::allreduce_prototype_twoshot<int>(x)", AllReduce, true},
		{"void deep_ep::internode_ll::dispatch<true, 9>(x)", Dispatch, false},
		{"void deep_ep::intranode::combine<half, 8>(x)", Combine, false},
		{"void deep_ep::intranode::barrier<8>(x)", Barrier, true},
		{"void moeA2ACombineKernel<int>(x)", Combine, false},
		{"userbuffers_fp16_sum_inplace_gpu_rw", AllReduce, true},
		{"void tensorrt_llm::kernels::ub::userbuffers_fp16_sum_inplace_gpu_mc_rmsnorm<half, 8>(x)", AllReduce, true},
		{"void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(x)", ReduceScatter, true},
		{"userbuffers_fp16_sum_inplace_gpu_mc_ag", AllGather, true},
		{"kuserbuffers_pullsend", OtherComm, false},
		{"void sglang::cross_device_reduce_1stage<__nv_bfloat16, 2>(x)", AllReduce, true},
		{"void sglang::allreduce_LL_2node<half>(x)", AllReduce, true},
		{"void all_reduce_one_shot_push_kernel<half, 8>(x)", AllReduce, true},
		{"void flashinfer::trtllm_allreduce::oneShotAllReduceKernel<half, 8, true>(x)", AllReduce, true},
		{"void flashinfer::trtllm_mnnvl_allreduce::twoshot_allreduce_kernel<8, half>(x)", AllReduce, true},
		{"void tensorrt_llm::kernels::twoShotAllReduceKernel<half, 8, false, true>(x)", AllReduce, true},
		{"void tensorrt_llm::kernels::reduce_fusion::lamport_style_one_shot_all_reduce_norm_kernel<half, 8>(x)", AllReduce, true},
		{"ncclSymkDevKernel_AllReduce_AGxLLMC_R_sum_bf16(x)", AllReduce, true},
		{"ncclSymDevKernel_AllGather_LLMC(x)", AllGather, true},
		{"void <unnamed>::multimem_all_reduce_kernel<c10::BFloat16, (int)16>(T1 *, unsigned long)", AllReduce, true},
		{"void (anonymous namespace)::one_shot_all_reduce_kernel<c10::BFloat16, 16, 8, true>(x)", AllReduce, true},
		{"void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 8>(x)", AllReduce, true},
		{"nvjet_sm90_tst_64x8", "", false},
		{"void at::native::reduce_kernel<512, 1>(x)", "", false},
		{"void vllm::rms_norm_kernel<half>(x)", "", false},
		{"Memcpy PtoP (Device -> Device)", "", false},
	}
	for _, tt := range tests {
		op, ok := Collective(tt.name)
		if op != tt.op || ok != (tt.op != "") || Synchronising(op) != tt.waits {
			t.Errorf("Collective(%q) = %q, %v, synchronising %v; want %q, %v", tt.name, op, ok, Synchronising(op), tt.op, tt.waits)
		}
	}
}

func TestCollectiveArg(t *testing.T) {
	for arg, want := range map[string]string{
		"allreduce": AllReduce, "allreduce_coalesced": AllReduce, "_allgather_base": AllGather, "all_gather_into_tensor_coalesced": AllGather,
		"reduce_scatter_tensor_coalesced": ReduceScatter, "_reduce_scatter_base": ReduceScatter, "all_to_allv": AllToAll, "_broadcast_oop": Broadcast,
		"_reduce_oop": ReduceOp, "gather": Gather, "scatter": Scatter, "send": SendRecv, "recv": SendRecv, "barrier": Barrier, "": OtherComm, "wait": OtherComm,
	} {
		if got := CollectiveArg(arg); got != want {
			t.Errorf("CollectiveArg(%q) = %q, want %q", arg, got, want)
		}
	}
}

func TestBusFactor(t *testing.T) {
	tests := []struct {
		op   string
		n    int
		want float64
	}{
		{AllReduce, 4, 1.5}, {AllReduce, 8, 1.75}, {AllGather, 4, 0.75}, {ReduceScatter, 2, 0.5}, {AllToAll, 8, 0.875},
		{Broadcast, 8, 1}, {SendRecv, 2, 1}, {AllReduce, 1, 0}, {AllReduce, 0, 0}, {Broadcast, -1, 0},
	}
	for _, tt := range tests {
		if got := BusFactor(tt.op, tt.n); got != tt.want {
			t.Errorf("BusFactor(%q, %d) = %v, want %v", tt.op, tt.n, got, tt.want)
		}
	}
}

func TestDTypeSize(t *testing.T) {
	for dtype, want := range map[string]int{
		"Float": 4, "Int": 4, "Long": 8, "Double": 8, "Half": 2, "BFloat16": 2, "Short": 2, "Byte": 1, "Char": 1, "Bool": 1, "UInt32": 4,
		"Float8_e4m3fn": 1, "c10::Float8_e5m2": 1, "c10::BFloat16": 2, "long int": 8, "unsigned char": 1, "float": 4, "bf16": 2, "c10::complex<float>": 8,
		"": 0, "Scalar": 0, "TensorList": 0,
	} {
		if got, ok := DTypeSize(dtype); got != want || ok != (want > 0) {
			t.Errorf("DTypeSize(%q) = %d, %v, want %d", dtype, got, ok, want)
		}
	}
}
