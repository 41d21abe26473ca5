//go:build !amd64 || noasm

// Command kernels measures the assembly kernels of internal/engine/tensor, of which
// this build has none.
package main

import "log"

func main() { log.Fatal("kernels: this build has no assembly: nothing to measure") }
