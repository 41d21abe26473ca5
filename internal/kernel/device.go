package kernel

// Peak is what a device can do at most, by its maker's data sheet.
type Peak struct {
	BF16Flops   float64 // dense bfloat16 (and float16) on tensor cores, FLOP/s; other types have other peaks
	MemoryBytes float64 // device memory, bytes/s
}

// peaks is keyed by the name in Kineto's deviceProperties. Only devices whose name says which variant it is, and whose
// sheet gives both numbers; sheets print 16-bit rates with sparsity, twice the dense rate.
var peaks = map[string]Peak{
	// NVIDIA H100 Tensor Core GPU data sheet, SXM: 1,979 TFLOPS with sparsity, 3.35 TB/s.
	"NVIDIA H100 80GB HBM3": {989.5e12, 3.35e12},
	// NVIDIA H200 Tensor Core GPU data sheet, SXM: 1,979 TFLOPS with sparsity, 4.8 TB/s. The NVL card calls itself "NVIDIA H200 NVL".
	"NVIDIA H200": {989.5e12, 4.8e12},
	// NVIDIA A100 Tensor Core GPU data sheet, 80GB SXM: 312 TFLOPS dense, 2,039 GB/s.
	"NVIDIA A100-SXM4-80GB": {312e12, 2.039e12},
}

// PeakOf returns the peak of the device of that name. ok is false for all but a few: then say "unknown", and claim no
// share of a peak.
func PeakOf(deviceName string) (p Peak, ok bool) {
	p, ok = peaks[deviceName]
	return p, ok
}
