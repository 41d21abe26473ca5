package cli

import (
	"crypto/tls"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/measure/load"
	"github.com/stepscope/stepscope/internal/measure/workload"
)

// datasetFlags are the flags of SGLang's bench_serving that define the requests.
type datasetFlags struct {
	DatasetName   string `name:"dataset-name" default:"sharegpt" help:"Data set to send: sharegpt, random, random-ids, generated-shared-prefix, image, custom, openai, mooncake, timed-trace, agentic-trace, plan and others."`
	DatasetPath   string `name:"dataset-path" placeholder:"FILE" help:"File of the data set; nothing is downloaded. Default for sharegpt: the Hugging Face hub cache."`
	DatasetOffset int    `name:"dataset-offset" default:"0" help:"Conversations to skip at the start (agentic-trace)."`
	NumPrompts    *int   `name:"num-prompts" limits:"1.." placeholder:"N" help:"Requests to send. Default: 1000."`
	Seed          int64  `name:"seed" default:"42" help:"Random seed; gives the same requests at the same times as SGLang's client."`

	ShareGPTOutputLen  int     `name:"sharegpt-output-len" placeholder:"N" help:"Output length of each request, instead of the data set's."`
	ShareGPTContextLen int     `name:"sharegpt-context-len" placeholder:"N" help:"Skip longer requests."`
	RandomInputLen     int     `name:"random-input-len" default:"1024" help:"Input tokens (random, random-ids)."`
	RandomOutputLen    int     `name:"random-output-len" default:"1024" help:"Output tokens (random, random-ids, image)."`
	RandomRangeRatio   float64 `name:"random-range-ratio" limits:"0..1" default:"0" help:"Lengths are uniform between this share of the full length and all of it."`

	ImageCount       int    `name:"image-count" default:"1" help:"Pictures per request (image)."`
	RandomImageCount bool   `name:"random-image-count" help:"Send between one and --image-count pictures per request (image)."`
	ImageResolution  string `name:"image-resolution" default:"1080p" help:"Size of pictures: 4k, 1080p, 720p, 360p, HxW or random:HxW-HxW (image)."`
	ImageFormat      string `name:"image-format" default:"jpeg" enum:"jpeg,png" help:"Encoding of pictures: jpeg or png (image)."`
	ImageContent     string `name:"image-content" default:"random" enum:"random,blank" help:"Content of pictures: random pixels, or blank, which compresses well (image)."`

	GSPNumGroups       int     `name:"gsp-num-groups" default:"64" help:"Groups of requests that begin with the same system prompt (generated-shared-prefix)."`
	GSPPromptsPerGroup int     `name:"gsp-prompts-per-group" default:"16" help:"Requests per group (generated-shared-prefix)."`
	GSPSystemPromptLen int     `name:"gsp-system-prompt-len" default:"2048" help:"Tokens of the system prompt that a group shares (generated-shared-prefix)."`
	GSPQuestionLen     int     `name:"gsp-question-len" default:"128" help:"Tokens of the question after it, one per turn (generated-shared-prefix)."`
	GSPOutputLen       int     `name:"gsp-output-len" default:"256" help:"Tokens to generate for each request (generated-shared-prefix)."`
	GSPRangeRatio      float64 `name:"gsp-range-ratio" default:"1" help:"Lengths are uniform between this share of the full length and all of it; 1: all are full (generated-shared-prefix)."`
	GSPFastPrepare     bool    `name:"gsp-fast-prepare" help:"Do not verify lengths or count prompt tokens: the load begins sooner, but its input token figures are wrong (generated-shared-prefix)."`
	GSPSendRoutingKey  bool    `name:"gsp-send-routing-key" help:"Send the header X-SMG-Routing-Key, the same for all requests of a group (generated-shared-prefix)."`
	GSPNumTurns        int     `name:"gsp-num-turns" default:"1" help:"Questions per conversation, sent one after the other (generated-shared-prefix)."`
	GSPOrdered         bool    `name:"gsp-ordered" help:"Send the groups one after the other instead of shuffled (generated-shared-prefix)."`
	GSPDistribution    string  `name:"gsp-group-distribution" default:"uniform" enum:"uniform,zipf" help:"uniform: all groups have the same number of requests; zipf: the first ones have more (generated-shared-prefix)."`
	GSPZipfAlpha       float64 `name:"gsp-zipf-alpha" placeholder:"F" help:"Exponent that --gsp-group-distribution zipf needs; a larger one gives the first groups more requests."`

	MooncakeSlowdown float64 `name:"mooncake-slowdown-factor" default:"1" help:"Factor applied to the times in a trace."`
	TraceColumns     string  `name:"trace-columns" placeholder:"COLUMNS" help:"Columns of a timed-trace, a CSV file or JSON lines: time=NAME[:ms],input=NAME,output=NAME. Times are seconds (or ms, us, ns) or dates. Default: the usual names."`
	MooncakeRounds   int     `name:"mooncake-num-rounds" default:"1" help:"Rounds per conversation (mooncake)."`
	MooncakeWorkload string  `name:"mooncake-workload" default:"conversation" enum:"conversation,mooncake,synthetic,toolagent" help:"Mooncake trace in the file: conversation, mooncake, synthetic or toolagent."`
	AgenticMaxTurns  int     `name:"agentic-max-turns" placeholder:"N" help:"Send at most this many turns per conversation (agentic-trace)."`
	SpeedCategory    string  `name:"speed-bench-category" placeholder:"NAME" help:"Only this category: low_entropy, mixed or high_entropy (speed-bench)."`
	SpeedOutputLen   int     `name:"speed-bench-output-len" default:"512" help:"Tokens to generate for each request (speed-bench)."`

	PromptSuffix      string   `name:"prompt-suffix" placeholder:"TEXT" help:"Text to append to each prompt."`
	ApplyChatTemplate bool     `name:"apply-chat-template" help:"Apply the model's chat template to each prompt."`
	TokenizePrompt    bool     `name:"tokenize-prompt" help:"Send token ids instead of text, so that lengths are exact (random, random-ids, generated-shared-prefix; backend sglang)."`
	LoRAName          []string `name:"lora-name" placeholder:"NAME" help:"LoRA adapters that requests ask for; give one or several names."`
	LoRADistribution  string   `name:"lora-request-distribution" default:"uniform" enum:"uniform,distinct,skewed" help:"How adapters are assigned: uniform (at random), distinct (a different one for each request) or skewed (Zipf)."`
	LoRAZipfAlpha     float64  `name:"lora-zipf-alpha" default:"1.5" help:"With skewed: how many times as many requests an adapter has as the next; above 1."`
}

// prompts returns the number of requests to prepare. due is the expected number of requests within the time limit of the
// load; 0: unknown.
func (f *datasetFlags) prompts(due float64) int {
	switch {
	case f.NumPrompts != nil:
		return *f.NumPrompts
	case due > 0:
		return int(math.Ceil(due + 6*math.Sqrt(due))) // random arrivals may exceed due
	}
	return 1000
}

func (f *datasetFlags) spec(backend string, n int) workload.Spec {
	return workload.Spec{
		Dataset: f.DatasetName, Path: f.DatasetPath, Offset: f.DatasetOffset, N: n, Seed: f.Seed, Backend: backend,
		TokenIDs: f.TokenizePrompt, ChatTemplate: f.ApplyChatTemplate, Suffix: f.PromptSuffix,
		FixedOutputLen: f.ShareGPTOutputLen, ContextLen: f.ShareGPTContextLen,
		InputLen: f.RandomInputLen, OutputLen: f.RandomOutputLen, RangeRatio: f.RandomRangeRatio,
		Image: workload.ImageSpec{Count: f.ImageCount, RandomCount: f.RandomImageCount, Resolution: f.ImageResolution, Format: f.ImageFormat, Content: f.ImageContent},
		Prefix: workload.PrefixSpec{
			Groups: f.GSPNumGroups, PerGroup: f.GSPPromptsPerGroup, SystemLen: f.GSPSystemPromptLen, QuestionLen: f.GSPQuestionLen,
			OutputLen: f.GSPOutputLen, RangeRatio: f.GSPRangeRatio, Fast: f.GSPFastPrepare, SendRoutingKey: f.GSPSendRoutingKey, Turns: f.GSPNumTurns,
			Ordered: f.GSPOrdered, Distribution: f.GSPDistribution, ZipfAlpha: f.GSPZipfAlpha,
		},
		AgenticMaxTurns: f.AgenticMaxTurns, SpeedBenchCategory: f.SpeedCategory, SpeedBenchOutputLen: f.SpeedOutputLen,
		MooncakeWorkload: f.MooncakeWorkload, MooncakeRounds: f.MooncakeRounds, TraceColumns: f.TraceColumns,
		LoRANames: f.LoRAName, LoRADistribution: f.LoRADistribution, LoRAAlpha: f.LoRAZipfAlpha,
	}
}

// rate is the value of --request-rate: a number or inf.
type rate float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *rate) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(v > 0) {
		return usagef("want requests per second or inf, not %q", text)
	}
	*r = rate(v)
	return nil
}

// arrivalFlags define when requests are sent.
type arrivalFlags struct {
	RequestRate        rate          `name:"request-rate" default:"inf" help:"Requests per second; inf: all at once."`
	Burstiness         float64       `name:"burstiness" default:"1" help:"Shape of gamma arrivals: 1 is Poisson, lower is burstier."`
	Arrival            string        `name:"arrival" default:"poisson" enum:"poisson,constant,gamma" help:"Arrival process at a finite rate: poisson, constant or gamma."`
	RampFrom           float64       `name:"ramp-from" placeholder:"F" help:"Start at this rate and ramp up or down to --request-rate."`
	RampOver           time.Duration `name:"ramp-over" placeholder:"TIME" help:"Duration of the ramp; default: all requests."`
	RampExponential    bool          `name:"ramp-exponential" help:"Change the rate by equal factors instead of equal steps."`
	UseTraceTimestamps bool          `name:"use-trace-timestamps" help:"Send at the times given in the data set (mooncake and timed-trace always do)."`
	MaxConcurrency     int           `name:"max-concurrency" placeholder:"N" limits:"0.." help:"Maximum number of requests in flight."`

	Duration      time.Duration  `name:"duration" placeholder:"TIME" limits:"0.." help:"Send no more requests after this time, such as 60s; the load ends with the last reply. Without --num-prompts, a finite rate sets their number."`
	DurationGrace *time.Duration `name:"duration-grace" placeholder:"TIME" needs:"duration" limits:"0.." help:"Wait only this long after --duration for the replies; requests still in progress then count as failed."`
}

// due returns the expected number of requests within the time limit; 0: unknown.
func (f *arrivalFlags) due() float64 {
	if math.IsInf(float64(f.RequestRate), 1) || f.Burstiness < 1 {
		return 0
	}
	return max(float64(f.RequestRate), f.RampFrom) * f.Duration.Seconds()
}

func (f *arrivalFlags) arrivals(d *datasetFlags, n int) workload.Arrivals {
	a := workload.Arrivals{Rate: float64(f.RequestRate), Process: workload.Process(f.Arrival), Burstiness: f.Burstiness, Slowdown: d.MooncakeSlowdown}
	if f.Burstiness != 1 {
		a.Process = workload.Gamma
	}
	if f.UseTraceTimestamps || workload.Timed(d.DatasetName) {
		a.Process = workload.Trace
	}
	if f.RampFrom > 0 {
		a.Ramp = &workload.Ramp{From: f.RampFrom, To: float64(f.RequestRate), Exponential: f.RampExponential, Over: f.RampOver}
		if f.RampOver == 0 {
			a.Ramp.Requests = n
		}
	}
	return a
}

func (f *arrivalFlags) check() error {
	switch {
	case !(f.Burstiness > 0):
		return usagef("--burstiness %v: give more than 0", f.Burstiness)
	case f.RampFrom < 0 || f.RampFrom > 0 && math.IsInf(float64(f.RequestRate), 1):
		return usagef("--ramp-from needs a finite --request-rate to end at")
	}
	return nil
}

// requestFlags define how each request is sent.
type requestFlags struct {
	DisableStream       bool          `name:"disable-stream" help:"Ask for complete replies instead of streams."`
	ReturnLogprob       bool          `name:"return-logprob" help:"Ask for log probabilities of output tokens."`
	TopLogprobsNum      int           `name:"top-logprobs-num" default:"0" help:"With --return-logprob: also those of this many most likely tokens at each position."`
	TokenIDsLogprob     []int         `name:"token-ids-logprob" placeholder:"ID" help:"With --return-logprob: also those of these token ids at each position."`
	LogprobStartLen     int           `name:"logprob-start-len" default:"-1" help:"With --return-logprob: first prompt token to get log probabilities for; -1: output only, 0: all."`
	ReturnRoutedExperts bool          `name:"return-routed-experts" help:"Ask for the experts that each token was routed to."`
	CacheReport         bool          `name:"cache-report" help:"Ask for the number of cached tokens and report it."`
	DisableIgnoreEOS    bool          `name:"disable-ignore-eos" help:"Let the model end its replies at an end-of-text token."`
	Temperature         float64       `name:"temperature" default:"0" help:"Sampling temperature; 0 is greedy."`
	TopP                float64       `name:"top-p" default:"1" help:"Sample from the most likely tokens with this share of the probability; 1: from all."`
	ExtraRequestBody    string        `name:"extra-request-body" placeholder:"JSON" help:"Extra keys for each request's body."`
	Header              []string      `name:"header" placeholder:"KEY=VALUE" help:"Headers to send with each request."`
	FakePrefill         bool          `name:"fake-prefill" hidden:""`
	Endpoint            string        `name:"endpoint" placeholder:"PATH" help:"Route of the requests, if not the one of --backend: /openai/v1/completions."`
	Insecure            bool          `name:"insecure" help:"Do not verify the server's TLS certificate."`
	StallTimeout        time.Duration `name:"stall-timeout" default:"10m" help:"A reply or stream without data for this long counts as failed; comments in a stream do not count as data."`
	RequestTimeout      time.Duration `name:"request-timeout" default:"6h" help:"A request that takes longer counts as failed, even if data still arrives; SGLang's client waits 6 h."`
	NewConnections      bool          `name:"new-connections" help:"Open a new connection for each request, as SGLang's client does."`
	UserStamps          bool          `name:"user-stamps" help:"Take receive times in the program, not in the kernel."`
}

// options returns the options of a load.
func (f *requestFlags) options(backend, base, model string, header http.Header) (load.Options, error) {
	o := load.Options{
		Backend: backend, BaseURL: base, Path: f.Endpoint, Model: model, Header: map[string]string{},
		Stream: !f.DisableStream, Temperature: f.Temperature, TopP: f.TopP, IgnoreEOS: !f.DisableIgnoreEOS, ReturnLogprob: f.ReturnLogprob,
		TopLogprobs: f.TopLogprobsNum, TokenIDsLogprob: f.TokenIDsLogprob, LogprobStartLen: f.LogprobStartLen, ReturnRoutedExperts: f.ReturnRoutedExperts,
		EventTimeout: f.StallTimeout, HeaderTimeout: f.StallTimeout, Timeout: f.RequestTimeout, CacheReport: f.CacheReport, NewConnPerRequest: f.NewConnections, UserStamps: f.UserStamps,
	}
	if f.StallTimeout <= 0 || f.RequestTimeout <= 0 {
		return o, usagef("--stall-timeout and --request-timeout must be more than 0")
	}
	if f.Endpoint != "" && f.Endpoint[0] != '/' {
		return o, usagef("--endpoint %s: give a path, such as /v1/completions", f.Endpoint)
	}
	if f.Insecure {
		o.TLS = &tls.Config{InsecureSkipVerify: true}
	}
	for name := range header {
		o.Header[name] = header.Get(name)
	}
	for _, h := range f.Header {
		name, value, ok := strings.Cut(h, "=")
		if !ok || name == "" {
			return o, usagef("--header %s: want KEY=VALUE", h)
		}
		o.Header[name] = value
	}
	if f.ExtraRequestBody != "" {
		if err := json.Unmarshal([]byte(f.ExtraRequestBody), &o.ExtraBody); err != nil {
			return o, usagef("--extra-request-body: want a JSON object: %v", err)
		}
	}
	if f.FakePrefill {
		// SGLang's decode servers accept these values in place of a real prefill server.
		if o.ExtraBody == nil {
			o.ExtraBody = map[string]json.RawMessage{}
		}
		o.ExtraBody["bootstrap_host"], o.ExtraBody["bootstrap_room"] = json.RawMessage(`"2.2.2.2"`), json.RawMessage("0")
	}
	return o, nil
}

// profileFlags are the profiling flags of bench_serving.
type profileFlags struct {
	Profile           bool           `name:"profile" without:"html=-: both write to stdout" help:"Take a profiling window while the load runs."`
	ProfileActivities []string       `name:"profile-activities" default:"CPU,GPU" help:"Activities to record: any of CPU, GPU, MEM, CUDA_PROFILER, XPU."`
	Lean              bool           `name:"lean" without:"profile-activities!=CPU,GPU: only kernels and launches are recorded" help:"Record only kernels and the calls that launch them, which slows the server least; see profile --help."`
	ProfileStartStep  int64          `name:"profile-start-step" placeholder:"N" help:"Absolute forward count at which the window begins."`
	ProfileAfterSteps *int64         `name:"profile-after-steps" limits:"0.." placeholder:"N" without:"profile-start-step|profile-by-stage: both set when the window begins" help:"Forward steps between the start of the load, after the warm-up, and the window; default: when the load is steady."`
	PrefillAfterSteps *int64         `name:"profile-prefill-after-steps" limits:"0.." placeholder:"N" needs:"profile-after-steps: it applies to the other servers; profile-num-steps: it applies to the other servers" help:"--profile-after-steps of prefill servers."`
	PrefillNumSteps   int            `name:"profile-prefill-num-steps" limits:"0.." placeholder:"N" needs:"profile-after-steps: it applies to the other servers; profile-num-steps: it applies to the other servers" help:"--profile-num-steps of prefill servers."`
	ProfileAt         *time.Duration `name:"profile-at" placeholder:"TIME" without:"profile-start-step|profile-after-steps|profile-by-stage|profile-unbounded: the time sets when the window begins" limits:"0.." help:"Time into the load, such as 2.5s, at which to open the window, for example when the slowest requests were sent; default: when the load is steady."`
	ProfileNumSteps   int            `name:"profile-num-steps" aliases:"profile-steps" placeholder:"N" limits:"0.." help:"Forward steps of the window; default: as many as the median request takes, from 10 to 60; 5 by stage."`
	ProfileByStage    bool           `name:"profile-by-stage" help:"Record one window for prefill and one for decode."`
	ProfileStages     []string       `name:"profile-stages" placeholder:"STAGE" help:"By stage: only prefill, or only decode."`
	ProfileOutputDir  string         `name:"profile-output-dir" placeholder:"DIR" help:"Directory on the server, in which {role} stands for prefill or decode, and {port} for the port of the server; default: the server's SGLANG_TORCH_PROFILER_DIR if it reports one, else the one here, else /tmp."`
	ProfilePrefix     string         `name:"profile-prefix" placeholder:"TEXT" help:"Prefix of the trace names."`
	ProfileUnbounded  bool           `name:"profile-unbounded" without:"profile-num-steps|profile-by-stage: the window lasts until the load ends" help:"Record until the load ends, however long that takes."`
	PDSeparated       bool           `name:"pd-separated" help:"Profile prefill or decode workers through their own URLs."`
	ProfilePrefillURL []string       `name:"profile-prefill-url" placeholder:"URL" needs:"pd-separated" without:"profile-decode-url: prefill and decode cannot be profiled at once" help:"With --pd-separated: a prefill worker to profile; give several, or repeat the flag."`
	ProfileDecodeURL  []string       `name:"profile-decode-url" placeholder:"URL" needs:"pd-separated" help:"With --pd-separated: a decode worker to profile; give several, or repeat the flag."`
	ProfileFetch      string         `name:"profile-fetch" placeholder:"COMMAND" help:"Command that fetches the servers' files, as in profile --fetch."`
}

func (f *profileFlags) check() error {
	if f.PDSeparated && f.Profile && len(f.ProfilePrefillURL)+len(f.ProfileDecodeURL) == 0 {
		return usagef("--pd-separated: give --profile-prefill-url or --profile-decode-url")
	}
	return nil
}

// window returns the window to request from the profilers.
func (f *profileFlags) window() torch.Window {
	w := torch.Window{
		OutputDir: f.ProfileOutputDir, Prefix: f.ProfilePrefix, StartStep: f.ProfileStartStep, NumSteps: f.ProfileNumSteps, Activities: f.ProfileActivities,
		ByStage: f.ProfileByStage, Stages: f.ProfileStages,
	}
	if f.Lean {
		w.Lean()
	}
	if w.NumSteps == 0 && !f.ProfileUnbounded {
		if w.NumSteps = 10; w.ByStage {
			w.NumSteps = 5
		}
	}
	return w
}

// targets returns the servers to profile.
func (f *profileFlags) targets(base string, header http.Header) []torch.Target {
	if !f.PDSeparated {
		return []torch.Target{{URL: base, Header: header}}
	}
	role, urls := api.Prefill, f.ProfilePrefillURL
	if len(urls) == 0 {
		role, urls = api.Decode, f.ProfileDecodeURL
	}
	var out []torch.Target
	for _, u := range urls {
		out = append(out, torch.Target{URL: u, Role: role, Header: header})
	}
	return out
}

// clientFlags select the server that a benchmark calls.
type clientFlags struct {
	BaseURL    string `name:"url" aliases:"base-url" placeholder:"URL" help:"URL of the server; overrides --host and --port."`
	Backend    string `name:"backend" default:"sglang" help:"API of the server: sglang, sglang-oai-chat, vllm, vllm-chat, lmdeploy, trt and others."`
	Host       string `name:"host" default:"0.0.0.0" without:"pods|lws: pods are reached through the API server" help:"Host of the server, if --url is not given."`
	Port       int    `name:"port" placeholder:"N" without:"pods|lws: pods are reached through the API server" help:"Port of the server; default: the backend's, such as 30000 for sglang and 8000 for vllm."`
	APIKey     string `name:"api-key" env:"STEPSCOPE_API_KEY" placeholder:"KEY" help:"Key of the server; default: OPENAI_API_KEY or API_KEY."`
	APIKeyFile string `name:"api-key-file" into:"api-key" placeholder:"FILE" help:"File that holds only the server's key, for --api-key."`
	Model      string `name:"model" placeholder:"NAME" help:"The model to ask; default: the first that the server lists."`
	Served     string `name:"served-model-name" placeholder:"NAME" help:"Name of the model in requests; default: --model."`
	Tokenizer  string `name:"tokenizer" placeholder:"PATH" help:"Directory of a tokenizer.json; default: the server's, else its /tokenize."`
	ReadySec   int    `name:"ready-check-timeout-sec" default:"60" help:"Seconds to wait for the server; 0: do not wait."`
}

func (f *clientFlags) server() (*client.Server, error) {
	b, ok := load.Backends[f.Backend]
	if !ok {
		return nil, usagef("--backend %s: there are %s", f.Backend, strings.Join(slices.Sorted(maps.Keys(load.Backends)), ", "))
	}
	sf := serverFlags{Host: f.Host, Port: f.Port, BaseURL: f.BaseURL, APIKey: f.APIKey}
	if sf.Port == 0 {
		sf.Port = b.Port
	}
	return sf.server()
}
