//go:build !amd64 || noasm

// Command engine measures the engine against loops of assembly, of which this
// build has none.
package main

import "log"

func main() { log.Fatal("engine: this build has no assembly: nothing to hold the engine against") }
