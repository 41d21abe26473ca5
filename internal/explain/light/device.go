package light

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// Device holds the limits of a device: rates of dense matrix products, and of its memory.
type Device struct {
	Name   string
	BF16   float64 // FLOP/s
	FP8    float64 // FLOP/s; 0: none
	FP4    float64 // FLOP/s; 0: none
	Memory float64 // bytes/s
	Link   float64 // bytes/s to the other devices of the host, in each direction; 0: none
	SMs    int     // 0: unknown
	Source string  // where the figures come from
	Sure   string  // "high": two independent sources; "medium": one good source; "low": a data sheet from memory
}

// devices holds the limits by the names that drivers give. Names of parts of a device (MIG) and of other models with a
// similar name are not among them.
var devices = map[string]Device{
	"NVIDIA H100 PCIe":        {"H100 PCIe", 756e12, 1513e12, 0, 2.0e12, 300e9, 114, "torchtitan; 114 SMs × 4096 × 1.62 GHz", "high"},
	"NVIDIA H100 NVL":         {"H100 NVL", 835e12, 1671e12, 0, 3.9e12, 300e9, 132, "data sheet", "medium"},
	"NVIDIA H100 80GB HBM3":   {"H100 SXM", 989e12, 1979e12, 0, 3.35e12, 450e9, 132, "torchtitan, pytorch/ao; 132 SMs × 4096 × 1.83 GHz", "high"},
	"NVIDIA H200 NVL":         {"H200 NVL", 835e12, 1671e12, 0, 4.8e12, 450e9, 132, "data sheet", "medium"},
	"NVIDIA H200":             {"H200 SXM", 989e12, 1979e12, 0, 4.8e12, 450e9, 132, "data sheet; Nsight Systems reports 4.814 TB/s", "high"},
	"NVIDIA GB200":            {"GB200", 2500e12, 5000e12, 10000e12, 8.0e12, 900e9, 0, "aiconfigurator", "medium"},
	"NVIDIA B200":             {"B200", 2250e12, 4500e12, 9000e12, 8.0e12, 900e9, 148, "torchtitan; 148 SMs × 8192 × 1.85 GHz", "medium"},
	"NVIDIA A100-SXM4-40GB":   {"A100 40 GB", 312e12, 0, 0, 1.555e12, 300e9, 108, "data sheet", "high"},
	"NVIDIA A100-SXM4-80GB":   {"A100 80 GB", 312e12, 0, 0, 2.039e12, 300e9, 108, "data sheet", "high"},
	"NVIDIA A100 80GB PCIe":   {"A100 80 GB PCIe", 312e12, 0, 0, 1.935e12, 300e9, 108, "data sheet", "high"},
	"NVIDIA L40S":             {"L40S", 362e12, 733e12, 0, 0.864e12, 0, 142, "aiconfigurator; 142 SMs × 1024 × 2.49 GHz", "high"},
	"NVIDIA L4":               {"L4", 121e12, 242e12, 0, 0.300e12, 0, 58, "data sheet (without sparsity)", "high"},
	"NVIDIA GeForce RTX 4090": {"RTX 4090", 165e12, 330e12, 0, 1.008e12, 0, 128, "data sheet (accumulation in fp32)", "high"},
	"AMD Instinct MI300X":     {"MI300X", 1307e12, 2615e12, 0, 5.3e12, 448e9, 304, "pytorch/ao", "high"},
	"AMD Instinct MI325X":     {"MI325X", 1307e12, 2615e12, 0, 6.0e12, 448e9, 304, "pytorch/ao", "high"},
	"AMD Instinct MI355X":     {"MI355X", 2517e12, 5033e12, 10066e12, 8.0e12, 537.6e9, 256, "AMD's page of 2026-08-31", "medium"},
}

// FindDevice returns the limits of the device with the given name, as recorded in traces.
func FindDevice(name string) (Device, bool) {
	d, ok := devices[strings.TrimSuffix(name, " VF")] // a whole MI300X in a virtual machine
	return d, ok
}

// OpenDevice reads a Device from a JSON file with the keys name, bf16_tflops, fp8_tflops, fp4_tflops, memory_gb_per_s,
// link_gb_per_s and sms. name, bf16_tflops and memory_gb_per_s are needed.
func OpenDevice(path string) (*Device, error) {
	text, err := atomicfile.ReadAtMost(path, mostConfig)
	if err != nil {
		return nil, err
	}
	var f struct {
		Name   string  `json:"name"`
		BF16   float64 `json:"bf16_tflops"`
		FP8    float64 `json:"fp8_tflops"`
		FP4    float64 `json:"fp4_tflops"`
		Memory float64 `json:"memory_gb_per_s"`
		Link   float64 `json:"link_gb_per_s"`
		SMs    int     `json:"sms"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if d.More() {
		return nil, fmt.Errorf("%s: want one JSON object", path)
	}
	for _, n := range []struct {
		key    string
		is     float64
		needed bool
	}{{"bf16_tflops", f.BF16, true}, {"memory_gb_per_s", f.Memory, true}, {"fp8_tflops", f.FP8, false}, {"fp4_tflops", f.FP4, false}, {"link_gb_per_s", f.Link, false}, {"sms", float64(f.SMs), false}} {
		if n.is < 0 || n.is > mostPeak || n.needed && n.is == 0 {
			return nil, fmt.Errorf("%s: %s: want a positive number of at most %g, got %g", path, n.key, mostPeak, n.is)
		}
	}
	if f.Name == "" {
		return nil, fmt.Errorf("%s: name: want the name of the device", path)
	}
	return &Device{Name: f.Name, BF16: f.BF16 * 1e12, FP8: f.FP8 * 1e12, FP4: f.FP4 * 1e12, Memory: f.Memory * 1e9, Link: f.Link * 1e9, SMs: f.SMs, Source: path, Sure: "given"}, nil
}

// mostPeak bounds the peaks of a device, in TFLOP/s or GB/s.
const mostPeak = 1e9

// rate returns the FLOP/s for products of a format. A device without the format computes in bf16.
func (d *Device) rate(c Compute) float64 {
	switch {
	case c == FP4 && d.FP4 > 0:
		return d.FP4
	case c == FP8 && d.FP8 > 0:
		return d.FP8
	}
	return d.BF16
}

// Floor returns the least time in which the device can do the work, in ns: that of the bytes or of the FLOPs.
func (d *Device) Floor(w *Work) float64 {
	return max(w.Bytes()/d.Memory, w.FLOPs/d.rate(w.Compute)) * 1e9
}

// transfer returns the least time in which the link of the device moves the bytes, in ns; 0: the device has no link.
func (d *Device) transfer(bytes float64) float64 {
	if d.Link == 0 {
		return 0
	}
	return bytes / d.Link * 1e9
}

// The time that a kernel can attain is t0 + work/(η·peak). The figures are those of measured kernels: streaming kernels
// and copies on H100 and H200, matrix products of 5 to 263 MB on H200, and large products on both. scripts/truth/limits.py
// measures them: on an H200 (2026-11-28), the best products of each number of rows from 1 to 8,192 took 0.95 to 1.06 times
// this time, and copies of 0.5 and 1 MB 2.0 and 2.1 µs.
const (
	streamShare  = 0.90
	productShare = 0.88
	flopShare    = 0.80
	streamStart  = 1.9e3 // ns
	productStart = 3e3   // ns
)

// Collectives of two H200 take this time beyond that of the bytes. The figures are those of recorded windows of SGLang: its own
// one-shot all-reduce of 131 kB, and NCCL's collectives of up to 98 kB. In CUDA graphs, NCCL's take 8.4 to 9.3 µs from
// one to the next (scripts/truth/limits.py).
const (
	oneShotStart = 4400 // ns
	ncclStart    = 5500
)

// startOf returns the time that a good collective takes beyond that of its bytes, in ns.
func startOf(kernel string) int64 {
	if strings.Contains(kernel, "nccl") {
		return ncclStart
	}
	return oneShotStart
}

// Attainable returns the time that good kernels take for the work, in ns.
func (d *Device) Attainable(w *Work) float64 {
	share, start := streamShare, streamStart
	if w.N > 0 {
		share, start = productShare, productStart
	}
	return start + max(w.Bytes()/(share*d.Memory), w.FLOPs/(flopShare*d.rate(w.Compute)))*1e9
}
