//go:build !amd64 || noasm

package crc32c

const available = false

type state = [256]byte

func folded(uint32, []byte, int) uint32 { panic("not available") }
