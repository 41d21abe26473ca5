package op

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/reference/engine/hf"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// Loader reads a rank's share of weights, on one goroutine. The first error is kept in Err, and later reads return
// nothing. Weights are split while they are packed, so only the requested rows and columns are read.
type Loader struct {
	Src    hf.Source
	Format tensor.Format
	Err    error
}

// RowsOf selects rows of a module's weight and bias.
type RowsOf struct {
	Module string
	Rows   Span
	Order  func(row int) int // source row for each row; nil: unchanged
}

// Rows packs the given rows of one or more modules into one matrix, module after module. All modules must have the same
// input width.
func (l *Loader) Rows(parts ...RowsOf) Linear {
	n, cols := 0, 0
	for _, p := range parts {
		n += p.Rows.Len()
		_, cols = l.matrix(p.Module)
	}
	if l.Err != nil {
		return Linear{}
	}
	var bias []float32
	for _, p := range parts {
		if _, ok := l.Src.Shape(p.Module + ".bias"); ok {
			b := make([]float32, p.Rows.Len())
			l.Read(p.Module+".bias", p.Rows.Lo, b)
			bias = append(bias, b...)
		}
	}
	p, at := 0, 0 // index of the part that contains row r, and first row of that part
	return Linear{Bias: bias, Matrix: tensor.Pack(n, cols, l.Format, func(r int, dst []float32) {
		for r-at >= parts[p].Rows.Len() {
			at += parts[p].Rows.Len()
			p++
		}
		row := parts[p].Rows.Lo + r - at
		if order := parts[p].Order; order != nil {
			row = order(row)
		}
		l.Read(parts[p].Module+".weight", row*cols, dst)
	})}
}

// All packs a whole module.
func (l *Loader) All(module string) Linear {
	rows, _ := l.matrix(module)
	return l.Rows(RowsOf{Module: module, Rows: Span{0, rows}})
}

// matrix returns the sizes of a module's weight.
func (l *Loader) matrix(module string) (rows, cols int) {
	shape, ok := l.Src.Shape(module + ".weight")
	if !ok || len(shape) != 2 {
		l.fail(fmt.Errorf("no matrix %q", module+".weight"))
		return 0, 0
	}
	return shape[0], shape[1]
}

// Columns packs some columns of a module. The module's output is the sum of the outputs of all ranks, so only one rank
// must add the bias.
func (l *Loader) Columns(module string, cols Span, addBias bool) Linear {
	rows, width := l.matrix(module)
	if l.Err != nil {
		return Linear{}
	}
	y := Linear{Matrix: tensor.Pack(rows, cols.Len(), l.Format, func(r int, dst []float32) {
		l.Read(module+".weight", r*width+cols.Lo, dst)
	})}
	if _, ok := l.Src.Shape(module + ".bias"); ok && addBias {
		y.Bias = l.Vector(module+".bias", rows)
	}
	return y
}

// Vector reads the first n elements of a tensor.
func (l *Loader) Vector(name string, n int) []float32 {
	v := make([]float32, n)
	l.Read(name, 0, v)
	return v
}

// Read fills dst with the elements of a tensor beginning at offset off.
func (l *Loader) Read(name string, off int, dst []float32) {
	if l.Err == nil {
		l.fail(l.Src.Read(name, off, dst))
	}
}

func (l *Loader) fail(err error) {
	if l.Err == nil {
		l.Err = err
	}
}
