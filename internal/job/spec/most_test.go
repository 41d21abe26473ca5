package spec

import (
	"fmt"
	"strings"
	"testing"
)

// TestMostGPUs parses jobs up to the largest number of GPUs, and beyond.
func TestMostGPUs(t *testing.T) {
	for _, c := range []struct{ nodes, each, want string }{
		{"4096", "4", ""},
		{"4097", "4", "a job has at most 16384 GPUs"},
		{"2000000000", "4", "resources.agg_nodes: want at most 16384, got 2000000000"},
		{"1", "2000000000", "resources.gpus_per_node: want at most 16384, got 2000000000"},
	} {
		_, _, err := Parse("job.yaml", fmt.Appendf(nil, "name: p\nmodel: {path: builtin:llama-tiny, precision: bf16}\n"+
			"resources: {gpu_type: cpu, gpus_per_node: %s, agg_nodes: %s, agg_workers: 1}\n"+
			"backend: {type: stepscope, sglang_config: {aggregated: {tp-size: 2}}}\n"+
			"profiling: {type: torch, decode: {isl: 16, osl: 8, concurrency: 2, start_step: 0, stop_step: 5}}\n", c.each, c.nodes))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s nodes of %s GPUs: %v, want %q", c.nodes, c.each, err, c.want)
		}
	}
}
