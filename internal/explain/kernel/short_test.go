package kernel

import (
	"strings"
	"testing"
	"unicode/utf8"
)

const lambdaTail = `(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#6}::operator()() const::{lambda(c10::BFloat16)#1}`

func TestShortAndNormalize(t *testing.T) {
	tests := []struct{ name, short, norm string }{ // norm "": equal to short
		{"Memcpy DtoH (Device -> Pageable)", "Memcpy DtoH (Device -> Pageable)", ""},
		{"[CUDA memcpy Host-to-Device]", "[CUDA memcpy Host-to-Device]", ""},
		{"nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_TNT", "nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_TNT", ""},
		{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", ""},
		{"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, true>(int, float, c10::BFloat16 const*)",
			"vectorized_layer_norm_kernel<bf16, float, true>", ""},
		{"void at::native::<unnamed>::vectorized_layer_norm_kernel<c10::BFloat16, float, (bool)1>(int, T2)",
			"vectorized_layer_norm_kernel<bf16, float, true>", ""},
		{"void at::native::_GLOBAL__N__d6a3dc4b_11_Norm_cu_0e96ed39::vectorized_layer_norm_kernel<c10::BFloat16, float, true>(int)",
			"vectorized_layer_norm_kernel<bf16, float, true>", ""},
		{"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::(anonymous namespace)::silu_kernel" + lambdaTail +
			">(at::TensorIteratorBase&, at::native::(anonymous namespace)::silu_kernel" + lambdaTail + " const&)::{lambda(int)#1}>(int, float)",
			"elementwise_kernel<128, 4, silu_kernel[bf16]>", ""},
		{"void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)",
			"vectorized_elementwise_kernel<8, CUDAFunctor_add<bf16>, array<char*, 3>>", ""},
		{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::BFloat16, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4> >(int)",
			"reduce_kernel<512, 1, ReduceOp<bf16, ArgMaxOps<float>, uint, long, 4, 4>>", ""},
		{"void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, false, float, __nv_bfloat16, __nv_bfloat16, true, false, false, false>(cublasLt::cublasSplitKParams<float>, float const*)",
			"cublasLt::splitKreduce_kernel<32, 16, int, float, bf16, float, bf16, false, float, bf16, bf16, …>",
			"cublasLt::splitKreduce_kernel<32, 16, int, float, bf16, float, bf16, false, float, bf16, bf16, true, false, false, false>"},
		{"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16>(int)", "internal::gemvx::kernel<int, int, bf16>", ""},
		{"void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>(c10::BFloat16 const&)), true>(c10::BFloat16*)",
			"vllm::act_and_mul_kernel<bf16, silu_kernel<bf16>, true>", ""},
		{"void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 2112u, (deep_gemm::GemmType)1>(float*)", "deep_gemm::sm90_fp8_gemm_1d2d_impl<0, 2112, 1>", ""},
		{"foo<a::b<(c->d), int const&>>(int)", "foo<b<(c->d), int>>", ""},
		{"_ZN5aiter8fmha_fwdE", "aiter::fmha_fwd", ""},
		{"_Z11plus_kernelILi4EEvPf", "plus_kernel", ""},
		{"Cijk_Alik_MT64x16x64.kd", "Cijk_Alik_MT64x16x64", ""},
		{"foo(float*) [clone .kd]", "foo", ""},
		{"void at::native::cut_off_kernel<128, at::native::gpu_ker", "cut_off_kernel<128, gpu_ker>", ""},
		{"triton_poi_fused_add_mul_3", "triton_poi_fused_add_mul_3", "triton_poi_fused_add_mul"},
		{"triton_red_fused_add_5f3c91d2a_12", "triton_red_fused_add_5f3c91d2a_12", "triton_red_fused_add"},
		{"_fwd_kernel_0d1d2de3c", "_fwd_kernel_0d1d2de3c", "_fwd_kernel"},
		{"_fwd_kernel_stage2", "_fwd_kernel_stage2", ""},
		{"kernel_cutlass_gemm_0x7f31c0ffee20_256x128", "kernel_cutlass_gemm_0x7f31c0ffee20_256x128", "kernel_cutlass_gemm_256x128"},
		{"", "", ""},
	}
	for _, tt := range tests {
		if got := Short(tt.name); got != tt.short {
			t.Errorf("Short(%q)\n got %q\nwant %q", tt.name, got, tt.short)
		}
		if tt.norm == "" {
			tt.norm = tt.short
		}
		if got := Normalize(tt.name); got != tt.norm {
			t.Errorf("Normalize(%q)\n got %q\nwant %q", tt.name, got, tt.norm)
		}
	}
}

func TestNormalizeTellsCapturedNamesApart(t *testing.T) {
	seen := map[string]string{}
	for line := range strings.Lines(captured) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name := strings.TrimSuffix(strings.SplitN(line, "\t", 3)[2], "\n")
		n := Normalize(name)
		if other, dup := seen[n]; dup {
			t.Errorf("Normalize returns %q for two names:\n%q\n%q", n, name, other)
		}
		seen[n] = name
		if again := Normalize(n); again != n {
			t.Errorf("Normalize(%q) = %q, want it unchanged", n, again)
		}
	}
}

func FuzzName(f *testing.F) {
	for _, row := range classified {
		for _, name := range row.names {
			f.Add(name)
		}
	}
	for line := range strings.Lines(captured) {
		f.Add(line)
	}
	f.Add("operator()(<{[")
	f.Add("a<b)>(c>)<")
	f.Fuzz(func(t *testing.T, name string) {
		s := Short(name)
		if utf8.ValidString(name) && !utf8.ValidString(s) {
			t.Errorf("Short(%q) = %q, want valid UTF-8", name, s)
		}
		Normalize(name)
		if op, ok := Collective(name); ok != (op != "") {
			t.Errorf("Collective(%q) = %q, %v, want an operation if and only if true", name, op, ok)
		}
	})
}
