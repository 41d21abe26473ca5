package job_test

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/job"
	"github.com/stepscope/stepscope/internal/job/spec"
)

// TestFrom writes job files from command lines. Each file is valid, and its servers get the flags of the command lines.
func TestFrom(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string // the server of the first worker
		gpus  int
	}{
		{[]string{"SGLANG_X=1 python3 -m sglang.launch_server --model-path Qwen/Qwen3-0.6B --tp 2 --port 30000 --disable-radix-cache --mem-fraction-static=0.85"},
			"python3 -m sglang.launch_server --model-path Qwen/Qwen3-0.6B --served-model-name Qwen3-0.6B --host 0.0.0.0 --port 6100 --nccl-port 17500 --disable-radix-cache --mem-fraction-static 0.85 --tp 2", 2},
		{[]string{"sglang serve --model-path /models/m --cuda-graph-bs 1 2 4 --log-level 007"},
			"python3 -m sglang.launch_server --model-path /model --served-model-name m --host 0.0.0.0 --port 6100 --nccl-port 17500 --cuda-graph-bs 1 2 4 --log-level 007", 1},
		{[]string{"/usr/bin/vllm serve Qwen/Qwen3-0.6B -tp 4 --max_model_len 4096 --host 0.0.0.0"},
			`vllm serve Qwen/Qwen3-0.6B --host 0.0.0.0 --port 8000 --device-ids 0,1,2,3 --max-model-len 4096 --profiler-config {"profiler": "torch", "torch_profiler_dir": "/logs/profiles/agg"} --served-model-name Qwen3-0.6B --tensor-parallel-size 4`, 4},
		{[]string{"python -m sglang.launch_server --model-path a/b --disaggregation-mode prefill --tp 2", "python -m sglang.launch_server --model-path a/b --disaggregation-mode decode --tp 4"},
			"python3 -m sglang.launch_server --model-path a/b --served-model-name b --host 0.0.0.0 --port 6100 --nccl-port 17500 --disaggregation-mode prefill --disaggregation-bootstrap-port 7200 --tp 2", 2},
	} {
		var commands [][]string
		for _, line := range c.lines {
			commands = append(commands, strings.Fields(line))
		}
		text, err := job.From(commands, &job.Draft{GPUType: "h100", GPUsPerNode: 8, ISL: 1024, OSL: 128, Concurrency: 64, Start: 40, Stop: 60})
		if err != nil {
			t.Errorf("%q: %v", c.lines, err)
			continue
		}
		j, _, err := spec.Parse("f", []byte(text))
		if err != nil {
			t.Errorf("%q: %v\n%s", c.lines, err, text)
			continue
		}
		p := job.NewPlan(j, "stepscope", false)
		if got := strings.Join(p.Server(&p.Workers[0], 0, "/logs", "HOST", "NODE").Args, " "); got != c.want || j.GPUs(j.Roles()[0]) != c.gpus {
			t.Errorf("%q:\n got %s\nwant %s\n%d GPUs", c.lines, got, c.want, j.GPUs(j.Roles()[0]))
		}
	}
	for line, want := range map[string]string{
		"trtllm-serve m":                      "starts no server that job files know",
		"vllm serve --tensor-parallel-size 2": "names no model",
		"python -m sglang.launch_server --model-path a/b --disaggregation-mode prefill": "starts a prefill worker: give the command line of the other role",
	} {
		if _, err := job.From([][]string{strings.Fields(line)}, &job.Draft{GPUsPerNode: 8}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}
