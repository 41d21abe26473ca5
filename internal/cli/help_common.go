package cli

// tasks contains an example command for each heading in the list of verbs.
var tasks = map[string]string{
	"See it":       "stepscope demo --slow-rank 1",
	"Measure":      "stepscope bench serving --url URL --dataset-name random --num-prompts 20",
	"Record":       "stepscope profile --url URL --num-steps 10",
	"Explain":      "stepscope analyze DIR --html report.html",
	"Traces":       "stepscope trace open DIR",
	"Serve":        "stepscope serve --model-path builtin:llama-tiny --tp-size 2",
	"Jobs":         "stepscope job apply FILE --dry-run",
	"Runs":         "stepscope runs list",
	"This program": "stepscope guide",
}

// section is a section of a verb's common flags.
type section struct{ title, flags string }

// common contains, for each verb with many flags, the flags that --help shows, in this order. --help-all shows these
// flags first, and then all other flags.
var common = map[string][]section{
	"bench serving": {
		{"Server", "url backend api-key-file model tokenizer"},
		{"Data set", "dataset-name dataset-path num-prompts random-input-len random-output-len seed"},
		{"Load", "request-rate max-concurrency warmup-requests flush-cache repeat"},
		{"Traces", "profile profile-fetch"},
		{"Results", "slo fail html print-json quiet output-file run-dir no-store"},
	},
	"bench one-batch-server": {
		{"Server", "url backend api-key-file model-path"},
		{"Batches", "batch-size input-len output-len dataset-name cache-hit-rate skip-warmup"},
		{"Traces", "profile profile-steps profile-by-stage"},
		{"Results", "result-filename show-report run-name run-dir no-store"},
	},
	"bench one-batch": {
		{"Model", "model-path load-format dtype tp-size"},
		{"Batches", "batch-size input-len output-len correctness-test"},
		{"Traces", "profile profile-steps profile-stage"},
		{"Results", "result-filename run-name run-dir no-store"},
	},
	"bench offline": {
		{"Model", "model-path load-format dtype tp-size"},
		{"Data set", "dataset-name dataset-path num-prompts random-input-len random-output-len seed"},
		{"Traces", "profile"},
		{"Results", "result-filename run-dir no-store"},
	},
	"bench diffusion": {
		{"Server", "url api-key-file"},
		{"Load", "dataset dataset-path num-prompts max-concurrency request-rate width height num-inference-steps warmup-requests"},
		{"Results", "slo output-file run-dir no-store"},
	},
	"send": {
		{"Server", "url pods api-key-file"},
		{"Request", "prompt random-input-len batch-size max-new-tokens temperature ignore-eos"},
		{"Reply", "stream profile profile-steps"},
	},
	"profile": {
		{"Servers", "url prefill-url decode-url pods api-key-file"},
		{"Window", "num-steps duration profile-by-stage lean wait"},
		{"Files", "output-dir fetch local-dir"},
		{"Report", "html json quiet no-analyze run-dir no-store"},
	},
	"watch": {
		{"Servers", "url prefill-url decode-url pods api-key-file every for"},
		{"Rules", "imbalance pace-imbalance ttft itl queue-growth hold"},
		{"Captures", "num-steps cooldown max-captures max-disk fetch"},
		{"Results", "view browser json quiet run-dir no-store"},
	},
	"view": {
		{"Content", "against profile-id run-dir"},
		{"Output", "browser host port api-key-file export"},
		{"Running servers", "url prefill-url decode-url pods server-api-key-file log fetch"},
	},
	"analyze": {
		{"Report", "full tables top html json markdown brief max-bytes"},
		{"Input", "profile-id layers reference on"},
		{"Limits", "force max-memory run-dir"},
	},
	"compare": {
		{"Report", "fail-on full html json markdown brief max-bytes"},
		{"Input", "ranks profile-id model-config"},
		{"Limits", "force max-memory"},
	},
	"serve": {
		{"Model", "model-path load-format dtype served-model-name"},
		{"Ranks", "tp-size dp-size pp-size ep-size disaggregation-mode"},
		{"Requests", "max-running-requests max-total-tokens chunked-prefill-size disable-radix-cache disable-cuda-graph"},
		{"Access", "host port api-key-file insecure"},
		{"Observability", "enable-metrics log-level profile-root enable-layerwise-nvtx-marker"},
	},
	"route": {
		{"Servers", "worker-urls pd-disaggregation prefill decode policy"},
		{"Access", "host port api-key-file worker-api-key-file insecure"},
		{"Limits", "request-timeout-secs retry-max-retries health-check-interval-secs log-level"},
	},
	"generate": {
		{"Model", "model-path tp-size"},
		{"Picture", "prompt prompt-path seed width height num-inference-steps"},
		{"Results", "output-path profile num-profiled-timesteps perf-dump-path"},
	},
}
