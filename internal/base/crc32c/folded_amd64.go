//go:build !noasm

package crc32c

import (
	"encoding/binary"
	"hash/crc32"

	"golang.org/x/sys/cpu"
)

var available = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VPCLMULQDQ

// state is 256 bytes with the CRC, from zero, of all that has been folded into them.
type state = [256]byte

// folded updates crc by the blocks at the start of p, at least one. A message M of 256
// bytes followed by a block B has the CRC of (M·x^2048 mod P) + B, where the product
// need not be reduced to 32 bits: each lane of 128 bits is two halves, and
//
//	half · x^2048 ≡ half · (x^n mod P)
//
// fits into its lane again (Gopal et al., Fast CRC Computation for Generic Polynomials
// Using PCLMULQDQ Instruction, Intel 2009).
func folded(crc uint32, p []byte, blocks int) uint32 {
	s := state(p)
	binary.LittleEndian.PutUint32(s[:], binary.LittleEndian.Uint32(s[:])^^crc)
	if blocks > 1 {
		fold(&s, &p[len(s)], blocks-1, &powers)
	}
	const none = ^uint32(0) // what hash/crc32 inverts to begin with zero
	return crc32.Update(none, table, s[:])
}

// powers are what the first and the second half of a lane are multiplied by.
var powers = [2]uint64{power(8*256 + 32), power(8*256 - 32)}

// power is x^n mod P with its bits as the CRC has them, the highest power first, one
// place on: the product of two such numbers lacks a place.
func power(n int) uint64 {
	const polynomial = crc32.Castagnoli // its bits are in this order
	r := uint32(1) << 31                // x^0
	for range n {
		if r&1 != 0 {
			r = r>>1 ^ polynomial
		} else {
			r >>= 1
		}
	}
	return uint64(r) << 1
}
