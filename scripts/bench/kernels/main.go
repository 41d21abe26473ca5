//go:build amd64 && !noasm

// Command kernels measures the kernels of internal/engine/tensor on one core against
// what the machine can do: multiply-adds on registers alone, and reading memory
// as a stream. Both sides are measured in turns of short samples and the best
// of each counts, so that other work on the machine does little harm.
//
// See scripts/bench/kernels.sh.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stepscope/stepscope/internal/engine/tensor"
	"github.com/stepscope/stepscope/scripts/bench/limits"
)

func main() {
	budget := flag.Duration("time", 2*time.Second, "how long to sample each line")
	cols := flag.Int("cols", 4096, "inputs of the matrices")
	rows := flag.Int("rows", 4096, "outputs of the matrices for batches of 32 and more; fewer rows run on 256 MB of weights")
	batches := flag.String("n", "1,6,12,32,128,512", "rows of activations")
	flag.Parse()
	runtime.LockOSThread()

	b := &bench{budget: *budget, w: tabwriter.NewWriter(os.Stdout, 12, 0, 2, ' ', tabwriter.AlignRight), stream: make([]byte, 256<<20)}
	for i := range b.stream {
		b.stream[i] = byte(i) // or all pages would be one
	}
	fmt.Fprintln(b.w, "level\tformat\trows\tGFLOP/s\tGB/s\tpeak GFLOP/s\tread GB/s\tof the limit\t")
	for l := tensor.Best(); l > tensor.Generic; l-- {
		if l == tensor.AVX512 && tensor.Best() == tensor.AVX512BF16 {
			continue // the same kernels
		}
		tensor.Use(l)
		for _, f := range []tensor.Format{tensor.F32, tensor.BF16, tensor.BF16Dot} {
			if f == tensor.BF16Dot && l != tensor.AVX512BF16 {
				continue // the arithmetic of BF16, on rounded activations
			}
			b.format(l, f, *rows, *cols, *batches)
		}
	}
}

type bench struct {
	budget time.Duration
	w      *tabwriter.Writer
	stream []byte
	from   int
}

// format measures the batches of one format.
func (b *bench) format(l tensor.Level, f tensor.Format, rows, cols int, batches string) {
	width := 4
	if f != tensor.F32 {
		width = 2
	}
	var large, small *tensor.Matrix
	for s := range strings.SplitSeq(batches, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			log.Fatalf("kernels: -n: %q is no number of rows", s)
		}
		m := &small
		size := rows
		if n < 32 {
			m, size = &large, max(tensor.PanelRows, len(b.stream)/width/cols/tensor.PanelRows*tensor.PanelRows)
		}
		if *m == nil {
			*m = random(size, cols, f)
		}
		b.line(l, f, *m, n)
	}
}

// line measures the product of n rows. Its limit is the time that the
// arithmetic or the reading of the weights takes alone, whichever is longer.
func (b *bench) line(l tensor.Level, f tensor.Format, m *tensor.Matrix, n int) {
	x, y := make([]float32, n*m.Cols), make([]float32, n*m.Rows)
	for i := range x {
		x[i] = rand.Float32() - 0.5
	}
	panels := max(1, min(m.Panels(), 4096/n)) // milliseconds a sample
	panels = min(panels, max(1, m.Panels()/8))
	at := 0
	flops := 2 * float64(n*m.Cols*panels*tensor.PanelRows)
	bytes := float64(panels * m.Bytes() / m.Panels())
	peak, each := limits.Arithmetic(l, f)
	var top, read, best float64
	for end := time.Now().Add(b.budget); time.Now().Before(end); {
		top = max(top, sample(func() float64 {
			const turns = 250_000 // about 2 ms
			peak(turns)
			return turns * each
		}))
		read = max(read, sample(b.read))
		best = max(best, sample(func() float64 {
			if at+panels > m.Panels() {
				at = 0
			}
			m.Mul(y, m.Rows, x, m.Cols, n, at, at+panels)
			at += panels
			return flops
		}))
	}
	limit := flops / max(flops/top, bytes/read)
	fmt.Fprintf(b.w, "%s\t%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%.2f\t\n", l, f, n, best, best/flops*bytes, top, read, best/limit)
	b.w.Flush()
}

// sample returns how much f says it did, per nanosecond.
func sample(f func() float64) float64 {
	start := time.Now()
	done := f()
	return done / float64(time.Since(start).Nanoseconds())
}

// read reads an eighth of the stream and returns its bytes.
func (b *bench) read() float64 {
	part := len(b.stream) / 8
	limits.Read(b.stream[b.from:][:part])
	b.from = (b.from + part) % len(b.stream)
	return float64(part)
}

// random packs a matrix; every 64th row is drawn, the others repeat it.
func random(rows, cols int, f tensor.Format) *tensor.Matrix {
	row := make([]float32, cols)
	return tensor.Pack(rows, cols, f, func(r int, dst []float32) {
		if r%64 == 0 {
			for i := range row {
				row[i] = rand.Float32() - 0.5
			}
		}
		copy(dst, row)
	})
}
