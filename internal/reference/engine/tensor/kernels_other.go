//go:build !amd64 || noasm

package tensor

const bestLevel = Generic

func (t tile) run(_ Level, f Format) { t.runGeneric(f) }

func (t tile) runStrips(Level, int) bool { return false }

func add(_ Level, dst, a, b []float32)                     { addGeneric(dst, a, b) }
func axpy(_ Level, dst, x []float32, a float32)            { axpyGeneric(dst, x, a) }
func dot(_ Level, a, b []float32) float32                  { return dotGeneric(a, b) }
func mulScale(_ Level, dst, x, w []float32, s float32)     { mulScaleGeneric(dst, x, w, s) }
func siluMul(_ Level, dst, gate, up []float32)             { siluMulGeneric(dst, gate, up) }
func scale(_ Level, x []float32, s float32)                { scaleGeneric(x, s) }
func maxOf(_ Level, x []float32) float32                   { return maxGeneric(x) }
func expSum(_ Level, x []float32, by, sub float32) float32 { return expSumGeneric(x, by, sub) }
func rope(_ Level, a, b, cos, sin []float32)               { ropeGeneric(a, b, cos, sin) }
func encodeBF16(_ Level, dst []uint16, src []float32)      { encodeBF16Generic(dst, src) }
func decodeBF16(_ Level, dst []float32, src []uint16)      { decodeBF16Generic(dst, src) }
