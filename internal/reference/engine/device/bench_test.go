package device_test

import (
	"fmt"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// spin is the work of a kernel: n rounds of arithmetic, each slightly less than 1 ns.
func spin(n int) (sum float32) {
	x := float32(1.0001)
	for range n {
		sum += x
		x *= 1.0000001
	}
	return sum
}

var sink float32

// BenchmarkStep measures a decode step of 60 kernels of about 20 µs, launched one by one or as a graph, with and
// without a recorder: the cost of recording.
func BenchmarkStep(b *testing.B) {
	const kernels, work = 60, 20_000
	for _, graph := range []bool{false, true} {
		for _, rec := range []bool{false, true} {
			b.Run(fmt.Sprintf("graph=%v/recording=%v", graph, rec), func(b *testing.B) {
				d := device.New(device.Options{})
				defer d.Close()
				h, s := d.Host(), d.Stream()
				forward := func() {
					for i := range kernels {
						h.Annotate("model.layers.0")
						s.Launch(device.Kernel{Name: "gemm", Op: "aten::linear", Run: func(int) { sink = spin(work + i) }})
						h.End()
					}
				}
				s.BeginCapture()
				forward()
				g, _ := s.EndCapture()
				out := make([]byte, 64)
				n := 0
				for b.Loop() {
					if rec && n%200 == 0 {
						d.StopRecording()
						_ = d.StartRecording(device.RecordOptions{CPU: true, GPU: true})
					}
					n++
					h.Annotate("step[DECODE bs=4]")
					if graph {
						g.Launch(s)
					} else {
						forward()
					}
					_ = s.Copy(out, out)
					_ = s.Synchronize()
					h.End()
				}
			})
		}
	}
}

// BenchmarkLaunch measures the host side of one launch, with or without an operation around it, and with or without a
// recorder. The kernels do nothing.
func BenchmarkLaunch(b *testing.B) {
	for _, rec := range []bool{false, true} {
		b.Run(fmt.Sprintf("recording=%v", rec), func(b *testing.B) {
			d := device.New(device.Options{})
			defer d.Close()
			s := d.Stream()
			k := device.Kernel{Name: "gemm", Op: "aten::linear", Run: func(int) {}}
			n := 0
			for b.Loop() {
				if rec && n%100_000 == 0 {
					d.StopRecording()
					_ = d.StartRecording(device.RecordOptions{CPU: true, GPU: true})
				}
				n++
				s.Launch(k)
			}
			_ = d.Stream().Synchronize()
		})
	}
}

// BenchmarkHost measures one host operation with no recorder attached.
func BenchmarkHost(b *testing.B) {
	d := device.New(device.Options{})
	defer d.Close()
	h := d.Host()
	for b.Loop() {
		h.Op("aten::linear", device.Tensor(device.Float32, 4, 4096))
		h.End()
	}
}

// BenchmarkChunks measures a kernel of 16 chunks of 5 µs on 1 and 2 workers.
func BenchmarkChunks(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprint("workers=", workers), func(b *testing.B) {
			d := device.New(device.Options{Workers: workers})
			defer d.Close()
			var out [16]float32
			k := device.Kernel{Name: "gemm", Chunks: 16, Run: func(c int) { out[c] = spin(5000) }}
			for b.Loop() {
				d.Stream().Launch(k)
			}
			_ = d.Stream().Synchronize()
		})
	}
}

// BenchmarkRanks measures an all-reduce of 4 KiB after a kernel of 20 µs, by number of ranks. Ranks beyond the number
// of cores share cores.
func BenchmarkRanks(b *testing.B) {
	for _, n := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprint("ranks=", n), func(b *testing.B) {
			ids := make([]int, n)
			group := device.NewGroup("0", "tp", ids, device.GroupOptions{})
			done := make(chan struct{}, n)
			for _, c := range group {
				go func() {
					d := device.New(device.Options{})
					buf := make([]float32, 1024)
					for range b.N {
						d.Stream().Launch(device.Kernel{Name: "gemm", Run: func(int) { buf[0] = spin(20_000) }})
						d.Stream().AllReduce(c, buf)
					}
					_ = d.Stream().Synchronize()
					done <- struct{}{}
					_ = d.Close()
				}()
			}
			for range group {
				<-done
			}
		})
	}
}
