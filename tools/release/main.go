// Command release packs a binary of stepscope for package managers. scripts/release runs it in a checkout of the commit
// that the binary was built from.
//
//	release wheel GOOS/GOARCH BINARY SBOM OUT    writes a Python wheel into the directory OUT and prints its name
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 6 || os.Args[1] != "wheel" {
		fmt.Fprintln(os.Stderr, "usage: release wheel GOOS/GOARCH BINARY SBOM OUT")
		os.Exit(2)
	}
	if err := packWheel(os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}
