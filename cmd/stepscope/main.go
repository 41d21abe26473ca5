// Command stepscope benchmarks, profiles and explains LLM serving.
package main

import (
	"os"

	"github.com/stepscope/stepscope/internal/cli"
	"github.com/stepscope/stepscope/internal/engine/nvtx"
)

func main() {
	nvtx.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
