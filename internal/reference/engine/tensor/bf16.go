package tensor

import "math"

// BF16 numbers are the upper 16 bits of a float32: 8 bits of exponent, 7 of fraction.

// ToBF16 returns x rounded to the nearest bf16, ties to even. A NaN stays a NaN.
func ToBF16(x float32) uint16 {
	b := math.Float32bits(x)
	if b&0x7fffffff > 0x7f800000 { // a NaN: rounding could turn it into infinity or zero
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// FromBF16 returns the exact value of h.
func FromBF16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// EncodeBF16 rounds src into dst like [ToBF16]. dst must have at least len(src) elements.
func EncodeBF16(dst []uint16, src []float32) {
	if len(src) > 0 {
		_ = dst[len(src)-1]
		encodeBF16(Current(), dst[:len(src)], src)
	}
}

// DecodeBF16 converts src to float32 in dst, without rounding. dst must have at least len(src) elements.
func DecodeBF16(dst []float32, src []uint16) {
	if len(src) > 0 {
		_ = dst[len(src)-1]
		decodeBF16(Current(), dst[:len(src)], src)
	}
}
