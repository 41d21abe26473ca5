package cli

import (
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

// datasetFlags are the flags of SGLang's bench_serving that say what is asked.
type datasetFlags struct {
	DatasetName   string `name:"dataset-name" default:"sharegpt" help:"What is asked: sharegpt, random, random-ids, generated-shared-prefix, image, custom, openai, mooncake, agentic-trace, plan and others."`
	DatasetPath   string `name:"dataset-path" placeholder:"FILE" help:"File of the data set; nothing is downloaded. Default of sharegpt: from the cache of the Hugging Face hub, if it is there."`
	DatasetOffset int    `name:"dataset-offset" default:"0" help:"Conversations to leave out at first (agentic-trace)."`
	NumPrompts    int    `name:"num-prompts" limits:"1.." default:"1000" help:"Requests to send."`
	Seed          int64  `name:"seed" default:"42" help:"Seed of everything random; with SGLang's client it gives the same requests at the same times."`

	ShareGPTOutputLen  int     `name:"sharegpt-output-len" placeholder:"N" help:"Output length of each request, instead of the data set's."`
	ShareGPTContextLen int     `name:"sharegpt-context-len" placeholder:"N" help:"Leave out longer requests."`
	RandomInputLen     int     `name:"random-input-len" default:"1024" help:"Input tokens (random, random-ids)."`
	RandomOutputLen    int     `name:"random-output-len" default:"1024" help:"Output tokens (random, random-ids, image)."`
	RandomRangeRatio   float64 `name:"random-range-ratio" limits:"0..1" default:"0" help:"Lengths are uniform from this share of the full length to all of it."`

	ImageCount       int    `name:"image-count" default:"1" help:"Pictures of each request (image)."`
	RandomImageCount bool   `name:"random-image-count" help:"Each request has from one picture to --image-count of them (image)."`
	ImageResolution  string `name:"image-resolution" default:"1080p" help:"Size of pictures: 4k, 1080p, 720p, 360p, HxW or random:HxW-HxW (image)."`
	ImageFormat      string `name:"image-format" default:"jpeg" enum:"jpeg,png" help:"How pictures are encoded: jpeg or png (image)."`
	ImageContent     string `name:"image-content" default:"random" enum:"random,blank" help:"What is on pictures: random pixels, or blank ones, which compress to little (image)."`

	GSPNumGroups       int     `name:"gsp-num-groups" default:"64" help:"Groups of requests that begin with the same system prompt (generated-shared-prefix)."`
	GSPPromptsPerGroup int     `name:"gsp-prompts-per-group" default:"16" help:"Requests of each group (generated-shared-prefix)."`
	GSPSystemPromptLen int     `name:"gsp-system-prompt-len" default:"2048" help:"Tokens of the system prompt that a group shares (generated-shared-prefix)."`
	GSPQuestionLen     int     `name:"gsp-question-len" default:"128" help:"Tokens of the question behind it, one for each turn (generated-shared-prefix)."`
	GSPOutputLen       int     `name:"gsp-output-len" default:"256" help:"Tokens to generate for each request (generated-shared-prefix)."`
	GSPRangeRatio      float64 `name:"gsp-range-ratio" default:"1" help:"Lengths are uniform from this share of the full length to all of it; 1: all are full (generated-shared-prefix)."`
	GSPFastPrepare     bool    `name:"gsp-fast-prepare" help:"Do not verify lengths, nor count tokens of prompts: the load begins sooner, its input token figures are wrong (generated-shared-prefix)."`
	GSPSendRoutingKey  bool    `name:"gsp-send-routing-key" help:"Send the header X-SMG-Routing-Key, the same for all requests of a group (generated-shared-prefix)."`
	GSPNumTurns        int     `name:"gsp-num-turns" default:"1" help:"Questions of a conversation, sent one after the other (generated-shared-prefix)."`
	GSPOrdered         bool    `name:"gsp-ordered" help:"Send group after group, not shuffled (generated-shared-prefix)."`
	GSPDistribution    string  `name:"gsp-group-distribution" default:"uniform" enum:"uniform,zipf" help:"uniform: all groups have as many requests; zipf: the first ones have more (generated-shared-prefix)."`
	GSPZipfAlpha       float64 `name:"gsp-zipf-alpha" placeholder:"F" help:"Exponent for --gsp-group-distribution zipf, which needs it: larger gives the first groups more."`

	MooncakeSlowdown float64 `name:"mooncake-slowdown-factor" default:"1" help:"Factor of the times in a trace."`
	MooncakeRounds   int     `name:"mooncake-num-rounds" default:"1" help:"Rounds of each conversation (mooncake)."`
	MooncakeWorkload string  `name:"mooncake-workload" default:"conversation" enum:"conversation,mooncake,synthetic,toolagent" help:"Which of Mooncake's traces it is: conversation, mooncake, synthetic or toolagent."`
	AgenticMaxTurns  int     `name:"agentic-max-turns" placeholder:"N" help:"Leave out the turns of a conversation after so many (agentic-trace)."`
	SpeedCategory    string  `name:"speed-bench-category" placeholder:"NAME" help:"Only this category: low_entropy, mixed or high_entropy (speed-bench)."`
	SpeedOutputLen   int     `name:"speed-bench-output-len" default:"512" help:"Tokens to generate for each request (speed-bench)."`

	PromptSuffix      string   `name:"prompt-suffix" placeholder:"TEXT" help:"Text to put behind each prompt."`
	ApplyChatTemplate bool     `name:"apply-chat-template" help:"Put each prompt through the model's chat template."`
	TokenizePrompt    bool     `name:"tokenize-prompt" help:"Send token ids, not text: lengths are exact (random, random-ids, generated-shared-prefix; backend sglang)."`
	LoRAName          []string `name:"lora-name" placeholder:"NAME" help:"LoRA adapters that requests ask for; several names."`
	LoRADistribution  string   `name:"lora-request-distribution" default:"uniform" enum:"uniform,distinct,skewed" help:"How adapters are dealt out: uniform (drawn), distinct (another one for each request) or skewed (Zipf)."`
	LoRAZipfAlpha     float64  `name:"lora-zipf-alpha" default:"1.5" help:"With skewed: how many times more requests an adapter has than the next; above 1."`
}

func (f *datasetFlags) spec(backend string) workload.Spec {
	return workload.Spec{
		Dataset: f.DatasetName, Path: f.DatasetPath, Offset: f.DatasetOffset, N: f.NumPrompts, Seed: f.Seed, Backend: backend,
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
		MooncakeWorkload: f.MooncakeWorkload, MooncakeRounds: f.MooncakeRounds,
		LoRANames: f.LoRAName, LoRADistribution: f.LoRADistribution, LoRAAlpha: f.LoRAZipfAlpha,
	}
}

// rate is --request-rate: a number or inf.
type rate float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *rate) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(v > 0) {
		return usagef("want requests a second, or inf, not %q", text)
	}
	*r = rate(v)
	return nil
}

// arrivalFlags say when requests come.
type arrivalFlags struct {
	RequestRate        rate          `name:"request-rate" default:"inf" help:"Requests per second; inf: all at once."`
	Burstiness         float64       `name:"burstiness" default:"1" help:"Shape of gamma arrivals: 1 is Poisson, less comes in bursts."`
	Arrival            string        `name:"arrival" default:"poisson" enum:"poisson,constant,gamma" help:"How requests come at a rate: poisson, constant, gamma."`
	RampFrom           float64       `name:"ramp-from" placeholder:"F" help:"Begin at this rate and go up, or down, to --request-rate."`
	RampOver           time.Duration `name:"ramp-over" placeholder:"TIME" help:"How long the ramp takes; default: all requests."`
	RampExponential    bool          `name:"ramp-exponential" help:"The rate grows by equal factors, not equal steps."`
	UseTraceTimestamps bool          `name:"use-trace-timestamps" help:"Send at the times that the data set has (mooncake does so always)."`
	MaxConcurrency     int           `name:"max-concurrency" placeholder:"N" help:"Maximum number of requests in flight."`
}

func (f *arrivalFlags) arrivals(d *datasetFlags) workload.Arrivals {
	a := workload.Arrivals{Rate: float64(f.RequestRate), Process: workload.Process(f.Arrival), Burstiness: f.Burstiness, Slowdown: d.MooncakeSlowdown}
	if f.Burstiness != 1 {
		a.Process = workload.Gamma
	}
	if f.UseTraceTimestamps || d.DatasetName == "mooncake" {
		a.Process = workload.Trace
	}
	if f.RampFrom > 0 {
		a.Ramp = &workload.Ramp{From: f.RampFrom, To: float64(f.RequestRate), Exponential: f.RampExponential, Over: f.RampOver}
		if f.RampOver == 0 {
			a.Ramp.Requests = d.NumPrompts
		}
	}
	return a
}

func (f *arrivalFlags) check() error {
	switch {
	case f.MaxConcurrency < 0:
		return usagef("--max-concurrency %d: give 1 or more", f.MaxConcurrency)
	case !(f.Burstiness > 0):
		return usagef("--burstiness %v: give more than 0", f.Burstiness)
	case f.RampFrom < 0 || f.RampFrom > 0 && math.IsInf(float64(f.RequestRate), 1):
		return usagef("--ramp-from goes with a finite --request-rate to end at")
	}
	return nil
}

// requestFlags say how a request is put.
type requestFlags struct {
	DisableStream       bool          `name:"disable-stream" help:"Ask for complete replies instead of streams."`
	ReturnLogprob       bool          `name:"return-logprob" help:"Ask for log probabilities of output tokens."`
	TopLogprobsNum      int           `name:"top-logprobs-num" default:"0" help:"With --return-logprob: also those of so many most likely tokens at each place."`
	TokenIDsLogprob     []int         `name:"token-ids-logprob" placeholder:"ID" help:"With --return-logprob: also those of these token ids at each place."`
	LogprobStartLen     int           `name:"logprob-start-len" default:"-1" help:"With --return-logprob: first prompt token whose log probability is asked for; -1: of the output alone, 0: of all."`
	ReturnRoutedExperts bool          `name:"return-routed-experts" help:"Ask which experts each token went through."`
	CacheReport         bool          `name:"cache-report" help:"Ask for cached tokens, and report them."`
	DisableIgnoreEOS    bool          `name:"disable-ignore-eos" help:"Let the model end its replies at an end-of-text token."`
	Temperature         float64       `name:"temperature" default:"0" help:"Sampling temperature; 0 is greedy."`
	TopP                float64       `name:"top-p" default:"1" help:"Sample from the most likely tokens with this share of the probability; 1: from all."`
	ExtraRequestBody    string        `name:"extra-request-body" placeholder:"JSON" help:"Keys of each request's body."`
	Header              []string      `name:"header" placeholder:"KEY=VALUE" help:"Headers of each request."`
	FakePrefill         bool          `name:"fake-prefill" hidden:""`
	StallTimeout        time.Duration `name:"stall-timeout" default:"10m" help:"A reply or stream without data for this long has failed; comments of a stream are no data."`
	RequestTimeout      time.Duration `name:"request-timeout" default:"6h" help:"A request that takes longer has failed, whatever comes; SGLang's client waits 6 h."`
	NewConnections      bool          `name:"new-connections" help:"A connection for each request, as SGLang's client makes them."`
	UserStamps          bool          `name:"user-stamps" help:"Take receive times in the program, not in the kernel."`
}

// options are those of a load.
func (f *requestFlags) options(backend, base, model string, header http.Header) (load.Options, error) {
	o := load.Options{
		Backend: backend, BaseURL: base, Model: model, Header: map[string]string{},
		Stream: !f.DisableStream, Temperature: f.Temperature, TopP: f.TopP, IgnoreEOS: !f.DisableIgnoreEOS, ReturnLogprob: f.ReturnLogprob,
		TopLogprobs: f.TopLogprobsNum, TokenIDsLogprob: f.TokenIDsLogprob, LogprobStartLen: f.LogprobStartLen, ReturnRoutedExperts: f.ReturnRoutedExperts,
		EventTimeout: f.StallTimeout, HeaderTimeout: f.StallTimeout, Timeout: f.RequestTimeout, CacheReport: f.CacheReport, NewConnPerRequest: f.NewConnections, UserStamps: f.UserStamps,
	}
	if f.StallTimeout <= 0 || f.RequestTimeout <= 0 {
		return o, usagef("--stall-timeout and --request-timeout are more than 0")
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
		// What SGLang's decode servers take for a prefill server that is not there.
		if o.ExtraBody == nil {
			o.ExtraBody = map[string]json.RawMessage{}
		}
		o.ExtraBody["bootstrap_host"], o.ExtraBody["bootstrap_room"] = json.RawMessage(`"2.2.2.2"`), json.RawMessage("0")
	}
	return o, nil
}

// profileFlags are bench_serving's.
type profileFlags struct {
	Profile           bool           `name:"profile" help:"Take a profiling window while the load runs."`
	ProfileActivities []string       `name:"profile-activities" default:"CPU,GPU" help:"What is recorded: some of CPU, GPU, MEM, CUDA_PROFILER, XPU."`
	Lean              bool           `name:"lean" help:"The window has kernels and the calls that launch them alone, which slows the server least; see profile --help."`
	ProfileStartStep  int64          `name:"profile-start-step" placeholder:"N" help:"Absolute forward count that the window begins with."`
	ProfileAfterSteps *int64         `name:"profile-after-steps" limits:"0.." placeholder:"N" help:"Forward steps of the load, which begins after the warm-up, before the window; default: when the load is steady."`
	ProfileAt         *time.Duration `name:"profile-at" placeholder:"TIME" help:"Time of the load, as 2.5s, at which the window is opened: that at which the slowest requests were sent, for one; default: when the load is steady."`
	ProfileNumSteps   int            `name:"profile-num-steps" aliases:"profile-steps" placeholder:"N" help:"Forward steps of the window; default: as many as the median request takes, from 10 to 60; by stage 5."`
	ProfileByStage    bool           `name:"profile-by-stage" help:"A window for prefill and one for decode."`
	ProfileStages     []string       `name:"profile-stages" placeholder:"STAGE" help:"By stage: only prefill, or only decode."`
	ProfileOutputDir  string         `name:"profile-output-dir" placeholder:"DIR" help:"Directory on the server; default: the server's SGLANG_TORCH_PROFILER_DIR if it tells, else the one here, else /tmp."`
	ProfilePrefix     string         `name:"profile-prefix" placeholder:"TEXT" help:"Prefix of the names of traces."`
	ProfileUnbounded  bool           `name:"profile-unbounded" help:"Record until the load ends, however much that is."`
	PDSeparated       bool           `name:"pd-separated" help:"Profile prefill or decode workers, by their own URLs."`
	ProfilePrefillURL []string       `name:"profile-prefill-url" placeholder:"URL" help:"With --pd-separated: a prefill worker to profile; several, or repeat it."`
	ProfileDecodeURL  []string       `name:"profile-decode-url" placeholder:"URL" help:"With --pd-separated: a decode worker to profile; several, or repeat it."`
	ProfileFetch      string         `name:"profile-fetch" placeholder:"COMMAND" help:"Command that brings the servers' files, as profile --fetch."`
}

func (f *profileFlags) check() error {
	switch {
	case len(f.ProfilePrefillURL) > 0 && len(f.ProfileDecodeURL) > 0:
		return usagef("--profile-prefill-url and --profile-decode-url: give one, prefill and decode cannot be profiled at once")
	case f.PDSeparated && f.Profile && len(f.ProfilePrefillURL)+len(f.ProfileDecodeURL) == 0:
		return usagef("--pd-separated: give --profile-prefill-url or --profile-decode-url")
	case !f.PDSeparated && len(f.ProfilePrefillURL)+len(f.ProfileDecodeURL) > 0:
		return usagef("--profile-prefill-url and --profile-decode-url go with --pd-separated")
	case f.Lean && !slices.Equal(f.ProfileActivities, []string{"CPU", "GPU"}):
		return usagef("--lean records kernels and launches alone: leave out --profile-activities, or --lean")
	case f.ProfileUnbounded && (f.ProfileNumSteps > 0 || f.ProfileByStage):
		return usagef("--profile-unbounded has no --profile-num-steps and no stages")
	case f.ProfileAfterSteps != nil && (f.ProfileStartStep > 0 || f.ProfileByStage):
		return usagef("--profile-after-steps says when the window begins: leave out --profile-start-step and --profile-by-stage")
	case f.ProfileAt != nil && (f.ProfileStartStep > 0 || f.ProfileByStage || f.ProfileAfterSteps != nil || f.ProfileUnbounded):
		return usagef("--profile-at says when the window begins: leave out --profile-start-step, --profile-after-steps, --profile-by-stage and --profile-unbounded")
	case f.ProfileAt != nil && *f.ProfileAt < 0:
		return usagef("--profile-at %s: give 0s or more, counted from the first request", *f.ProfileAt)
	case f.ProfileNumSteps < 0:
		return usagef("--profile-num-steps %d: give 1 or more", f.ProfileNumSteps)
	}
	return nil
}

// window is what is asked of the profilers.
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

// targets are the servers to profile.
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

// clientFlags say whom a benchmark talks to.
type clientFlags struct {
	BaseURL    string `name:"url" aliases:"base-url" placeholder:"URL" help:"The server, as http://HOST:30000; default: --host and --port, which do not count beside it."`
	Backend    string `name:"backend" default:"sglang" help:"Whose API the server has: sglang, sglang-oai-chat, vllm, vllm-chat, lmdeploy, trt and others."`
	Host       string `name:"host" default:"0.0.0.0" help:"Host of the server, where --url is not given."`
	Port       int    `name:"port" placeholder:"N" help:"Its port; default: the backend's, as 30000 of sglang and 8000 of vllm."`
	APIKey     string `name:"api-key" env:"STEPSCOPE_API_KEY" placeholder:"KEY" help:"Key of the server; default: OPENAI_API_KEY, API_KEY."`
	APIKeyFile string `name:"api-key-file" into:"api-key" placeholder:"FILE" help:"File with the server's key alone, for --api-key."`
	Model      string `name:"model" placeholder:"NAME" help:"The model to ask; default: the first that the server lists."`
	Served     string `name:"served-model-name" placeholder:"NAME" help:"Name of the model in requests; default: --model."`
	Tokenizer  string `name:"tokenizer" placeholder:"PATH" help:"Directory of a tokenizer.json; default: the server's, or its /tokenize."`
	ReadySec   int    `name:"ready-check-timeout-sec" default:"60" help:"Seconds to wait for the server; 0: not at all."`
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
