//go:build !linux || !amd64 || noasm

// Command engine measures the engine on Linux against loops of assembly, of
// which this build has none.
package main

import "log"

func main() {
	log.Fatal("engine: this build is not for Linux or has no assembly: nothing to hold the engine against")
}
