// Command stepscope benchmarks, profiles and explains LLM serving.
package main

import (
	"os"

	"github.com/stepscope/stepscope/internal/base/memory"
	"github.com/stepscope/stepscope/internal/base/nvtx"
	"github.com/stepscope/stepscope/internal/cli"
)

func main() {
	if status, done := memory.Supervise(); done {
		os.Exit(status)
	}
	nvtx.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
