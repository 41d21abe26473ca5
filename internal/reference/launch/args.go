package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/sched"
)

// ModelArgs select the model and the number of ranks. The names and meanings of the fields are those of SGLang's
// ServerArgs. The tags configure the command line and the reply of /server_info.
type ModelArgs struct {
	ModelPath     string `name:"model-path" required:"" aliases:"model" placeholder:"PATH" help:"Hugging Face directory, or builtin:llama-tiny, builtin:qwen3-moe-tiny." json:"model_path"`
	TokenizerPath string `name:"tokenizer-path" placeholder:"PATH" help:"Directory of another tokenizer.json. A model without one gets a built-in one, written to the user's cache directory for clients." json:"tokenizer_path,omitempty"`
	SkipTokenizer bool   `name:"skip-tokenizer-init" help:"Run without a tokenizer: requests must contain input_ids." json:"skip_tokenizer_init"`
	LoadFormat    string `name:"load-format" enum:"auto,safetensors,dummy" default:"auto" help:"dummy: random weights, only config.json is read." json:"load_format"`
	Overrides     string `name:"json-model-override-args" default:"{}" placeholder:"JSON" help:"Keys that replace those of config.json." json:"json_model_override_args"`
	ContextLength int    `name:"context-length" placeholder:"N" help:"Maximum tokens of a sequence; default: the model's." json:"context_length,omitempty"`
	DType         string `name:"dtype" enum:"auto,bfloat16,half,float16,float32,float" default:"auto" help:"Weights and products; auto: the checkpoint's, with bf16 for 16-bit types." json:"dtype"`

	TP int `name:"tp-size" aliases:"tensor-parallel-size" default:"1" help:"Tensor-parallel ranks." json:"tp_size"`
	DP int `name:"dp-size" aliases:"data-parallel-size" default:"1" help:"Data-parallel ranks, each a scheduler with its own model." json:"dp_size"`
	PP int `name:"pp-size" aliases:"pipeline-parallel-size" default:"1" help:"Pipeline stages." json:"pp_size"`
	EP int `name:"ep-size" aliases:"expert-parallel-size" default:"1" help:"Number of parts that the experts are split into; must divide --tp-size." json:"ep_size"`

	MaxRunningRequests int     `name:"max-running-requests" default:"64" help:"Maximum running requests per data-parallel rank." json:"max_running_requests"`
	MaxQueuedRequests  int     `name:"max-queued-requests" default:"1024" help:"Maximum queued requests; more are refused with 503." json:"max_queued_requests"`
	MaxTotalTokens     int     `name:"max-total-tokens" placeholder:"N" help:"Size of a rank's KV cache, in tokens." json:"max_total_tokens,omitempty"`
	MemFraction        float64 `name:"mem-fraction-static" placeholder:"F" help:"Fraction of a rank's memory for weights and KV cache; free memory is divided among the ranks. Default: 0.5, with at most 1 GiB of KV cache." json:"mem_fraction_static,omitempty"`
	ChunkedPrefill     int     `name:"chunked-prefill-size" default:"2048" help:"Maximum prompt tokens of one prefill step; -1: prompts are not split." json:"chunked_prefill_size"`
	MaxPrefillTokens   int     `name:"max-prefill-tokens" default:"16384" help:"Maximum prompt tokens of one prefill step, unless one prompt has more." json:"max_prefill_tokens"`
	Conservativeness   float64 `name:"schedule-conservativeness" default:"1" help:"Higher values admit fewer requests and retract fewer." json:"schedule_conservativeness"`
	Priority           bool    `name:"enable-priority-scheduling" help:"Serve requests with higher priorities first; without this flag, priorities are ignored." json:"enable_priority_scheduling"`
	AbortOnPriority    bool    `name:"abort-on-priority-when-disabled" help:"Without priority scheduling, refuse requests that have a priority." json:"abort_on_priority_when_disabled"`
	LowFirst           bool    `name:"schedule-low-priority-values-first" help:"Treat lower values as higher priorities." json:"schedule_low_priority_values_first"`
	Preemption         int     `name:"priority-scheduling-preemption-threshold" default:"10" help:"Retract running requests for one whose priority is higher by more than this." json:"priority_scheduling_preemption_threshold"`
	DisableRadix       bool    `name:"disable-radix-cache" help:"Do not share prefixes between requests." json:"disable_radix_cache"`
	LoadBalance        string  `name:"load-balance-method" enum:"round_robin,shortest_queue,total_tokens" default:"round_robin" help:"How requests are spread over data-parallel ranks: round_robin, shortest_queue, total_tokens." json:"load_balance_method"`

	DisableGraph bool  `name:"disable-cuda-graph" help:"Run decode steps op by op instead of replaying graphs." json:"disable_cuda_graph"`
	GraphMaxBS   int   `name:"cuda-graph-max-bs" placeholder:"N" help:"Largest batch size to capture a graph for." json:"cuda_graph_max_bs,omitempty"`
	GraphBS      []int `name:"cuda-graph-bs" placeholder:"N" help:"Batch sizes to capture graphs for." json:"cuda_graph_bs,omitempty"`

	Markers bool `name:"enable-layerwise-nvtx-marker" help:"NVTX ranges around every step and module call, for Nsight Systems; in the server's own traces too. Replayed graphs have none: add --disable-cuda-graph." json:"enable_layerwise_nvtx_marker"`

	Seed   int64    `name:"random-seed" placeholder:"N" help:"Seed for requests without one; default: a new seed at each start." json:"random_seed,omitempty"`
	Cores  int      `name:"device-cores" placeholder:"N" help:"Cores of each rank's software GPU; default: all cores divided by the number of ranks." json:"device_cores,omitempty"`
	Faults []string `name:"device-fault" hidden:"" sep:"none" help:"Make a rank slow in a known way: rank=1,from=20,kernel_factor=2." json:"-"`
}

// Limits of ranks and cores for one process. They bound the number of threads and the memory of each rank.
const mostRanks, mostCores = 1024, 1024

// Check checks the values that can be checked before the model is loaded.
func (a *ModelArgs) Check() error {
	for _, v := range []struct {
		name      string
		v, lowest int
	}{
		{"--tp-size", a.TP, 1}, {"--dp-size", a.DP, 1}, {"--pp-size", a.PP, 1}, {"--ep-size", a.EP, 1},
		{"--max-running-requests", a.MaxRunningRequests, 1}, {"--max-queued-requests", a.MaxQueuedRequests, 1}, {"--max-prefill-tokens", a.MaxPrefillTokens, 1},
		{"--chunked-prefill-size", a.ChunkedPrefill, -1}, {"--max-total-tokens", a.MaxTotalTokens, 0}, {"--context-length", a.ContextLength, 0},
		{"--cuda-graph-max-bs", a.GraphMaxBS, 0}, {"--device-cores", a.Cores, 0},
	} {
		if v.v < v.lowest {
			return fmt.Errorf("%s %d: give %d or more", v.name, v.v, v.lowest)
		}
	}
	ranks := 1
	for _, n := range []int{a.TP, a.DP, a.PP} {
		if ranks > mostRanks/n {
			return fmt.Errorf("--tp-size %d, --dp-size %d, --pp-size %d: give at most %d ranks in all", a.TP, a.DP, a.PP, mostRanks)
		}
		ranks *= n
	}
	switch {
	case a.Cores > mostCores:
		return fmt.Errorf("--device-cores %d: give at most %d", a.Cores, mostCores)
	case a.MemFraction < 0 || a.MemFraction > 1 || math.IsNaN(a.MemFraction):
		return fmt.Errorf("--mem-fraction-static %v: give a fraction of the memory, such as 0.5", a.MemFraction)
	case !(a.Conservativeness > 0) || math.IsInf(a.Conservativeness, 0):
		return fmt.Errorf("--schedule-conservativeness %v: give a number above 0", a.Conservativeness)
	case !json.Valid([]byte(a.Overrides)):
		return errors.New("--json-model-override-args: not JSON; give an object such as '{\"num_hidden_layers\": 4}'")
	case slices.ContainsFunc(a.GraphBS, func(n int) bool { return n < 1 }):
		return fmt.Errorf("--cuda-graph-bs %v: batch sizes are 1 or more", a.GraphBS)
	}
	return nil
}

func (a *ModelArgs) sizes() engine.Sizes {
	return engine.Sizes{TP: a.TP, DP: a.DP, PP: a.PP, EP: a.EP}
}

// scheduler returns the options of each scheduler, except for the cache size.
func (a *ModelArgs) scheduler(decodeInterval int) sched.Options {
	return sched.Options{
		DisableRadix: a.DisableRadix, ChunkedPrefill: a.ChunkedPrefill, MaxPrefill: a.MaxPrefillTokens, MaxRunning: a.MaxRunningRequests,
		MaxQueued: a.MaxQueuedRequests, Conservativeness: a.Conservativeness, Graphs: !a.DisableGraph, DecodeInterval: decodeInterval,
		Priority: sched.Priority{Enabled: a.Priority, LowFirst: a.LowFirst, Threshold: a.Preemption, Refuse: a.AbortOnPriority},
	}
}

// graphSizes returns the batch sizes for which graphs are captured; nil: the model's default.
func (a *ModelArgs) graphSizes() []int {
	if a.GraphBS != nil || a.GraphMaxBS == 0 {
		return a.GraphBS
	}
	most := min(a.GraphMaxBS, a.MaxRunningRequests) // no batch is larger than this
	var out []int
	for n := 1; n < most; n *= 2 {
		out = append(out, n)
	}
	return append(out, most)
}

// Map returns the arguments by SGLang's names, for /server_info.
func (a *ModelArgs) Map() map[string]any {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // cannot fail: only strings, numbers and lists
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}

// DefaultArgs returns the arguments for a model path. All other arguments have the command line's defaults.
func DefaultArgs(path string) ModelArgs {
	return ModelArgs{
		ModelPath: path, LoadFormat: "auto", Overrides: "{}", DType: "auto", TP: 1, DP: 1, PP: 1, EP: 1, MaxRunningRequests: 64,
		MaxQueuedRequests: 1024, ChunkedPrefill: 2048, MaxPrefillTokens: 16384, Conservativeness: 1, LoadBalance: "round_robin", Preemption: 10,
	}
}
