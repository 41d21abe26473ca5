package trace

// IsCall reports whether the category of an event in a file is that of API calls that may start device work: of CUDA,
// HIP, Intel's XPU (oneAPI), MTIA, or a device that uses PyTorch's PrivateUse1. The names are those of Kineto's
// ActivityType.
func IsCall[T string | []byte](cat T) bool {
	switch string(cat) {
	case "cuda_runtime", "cuda_driver", "hip_runtime", "Runtime", "xpu_runtime", "xpu_driver", "mtia_runtime",
		"privateuse1_runtime", "privateuse1_driver":
		return true
	}
	return false
}
