package servers

import "time"

const metricsFlag = "start the server with --enable-metrics"

// Table lists the kinds. The row of Unknown comes last.
var Table = []Row{
	{
		Kind: SGLang, Prefix: "sglang", Metrics: sglang, Latency: sglangLatency, Line: sglangLine,
		Profile:  Profile{Ends: true, Merges: MergesUnprefixed, Silent: true, Stalls: true, Stages: true, Step: time.Millisecond},
		Probe:    generate,
		Flush:    []string{"/flush_cache", "/hicache/storage-backend/clear"},
		Stale:    40,
		Forwards: true,
		Advice: Advice{
			Metrics: metricsFlag,
			Host:    "scheduler_stage_seconds_total, since SGLang 0.5.23",
			Device:  "with SGLANG_ENABLE_METRICS_DEVICE_TIMER=1 in the server's environment",
		},
	},
	{
		Kind: Stepscope, Prefix: "sglang", Metrics: sglang, Latency: sglangLatency, Line: sglangLine,
		// stepscope serve can run models with a few thousand weights.
		Profile:  Profile{Ends: true, Files: true, Merges: Merges, Refuses: true, Step: 100 * time.Microsecond},
		Probe:    generate,
		Flush:    []string{"/flush_cache", "/hicache/storage-backend/clear"},
		Forwards: true, Quick: true,
		Advice: Advice{Metrics: metricsFlag},
	},
	{
		Kind: VLLM, Prefix: "vllm", Metrics: vllm, Latency: vllmLatency, Line: vllmLine,
		Cache:   Cache{Name: "cache_config_info", Blocks: "num_gpu_blocks", Size: "block_size", DType: "cache_dtype"},
		Profile: Profile{OwnDir: true, Step: time.Millisecond},
		Probe:   Probe{Route: "/v1/completions", Prompt: "prompt", Model: true, Body: map[string]any{"max_tokens": 8, "temperature": 0}},
		Flush:   []string{"/reset_prefix_cache"},
		Advice: Advice{
			Profiler: `--profiler-config '{"profiler":"torch","torch_profiler_dir":"DIR"}' (before 0.13: with VLLM_TORCH_PROFILER_DIR=DIR)`,
			Metrics:  "start vLLM without --disable-log-stats",
			Flush:    "start vLLM with VLLM_SERVER_DEV_MODE=1",
			Backend:  "vllm",
		},
	},
	{
		Kind:    OpenAI,
		Profile: Profile{Ends: true, Step: time.Millisecond},
		Probe:   Probe{Route: "/v1/completions", Prompt: "prompt", Model: true, Body: map[string]any{"max_tokens": 8, "temperature": 0}},
		Advice:  Advice{Backend: "openai"},
	},
	{
		Kind:    Unknown,
		Profile: Profile{Ends: true, Step: time.Millisecond},
		Probe:   generate,
		Flush:   []string{"/flush_cache"},
	},
}

var generate = Probe{Route: "/generate", Prompt: "text", Body: map[string]any{
	"sampling_params": map[string]any{"max_new_tokens": 8, "temperature": 0, "ignore_eos": true},
}}
