package cli

import (
	"maps"
	"slices"
	"strings"
)

// habit is a flag of another client that a verb lacks.
type habit struct {
	value  bool              // whether the flag takes a value
	as     string            // arguments that mean the same, where VALUE is the value; "": the flag has no effect here
	values map[string]string // the values of the flag, each with the text that replaces VALUE; nil: all values, unchanged
	why    string            // reason why nothing means the same, and what to do instead; "": as means the same
}

// habits lists the flags of other clients by verb and client. Without an entry in this table, such a flag would only be
// reported as unknown, or would be taken for the prefix of another flag.
var habits = map[string]map[string]map[string]habit{
	"bench serving": {
		"SGLang's client": {
			"rust-client":                    {why: "this client reads each stream separately anyway"},
			"rust-worker-threads":            {why: "this client reads streams on all cores; GOMAXPROCS limits them"},
			"steady-state-concurrency-ratio": {why: "the steady part of a load is found and reported without it"},
			"steady-state-output-file":       {why: "the steady part of a load is in the run's summary, see --print-json"},
		},
		"vllm bench serve": {
			"ignore-eos":         {}, // the default here
			"trust-remote-code":  {}, // a model's code is never run
			"percentile-metrics": {value: true},
			"num-warmups":        {value: true, as: "--warmup-requests VALUE"},
			"save-detailed":      {as: "--output-details"},
			"extra-body":         {value: true, as: "--extra-request-body VALUE"},
			"endpoint-type":      {value: true, as: "--backend VALUE", values: endpointTypes},
			"input-len":          {value: true, as: "--random-input-len VALUE"},
			"output-len":         {value: true, as: "--random-output-len VALUE"},
			"ramp-up-start-rps":  {value: true, as: "--ramp-from VALUE"},
			"ramp-up-end-rps":    {value: true, as: "--request-rate VALUE"},
			"ramp-up-strategy":   {value: true, as: "VALUE", values: map[string]string{"linear": "", "exponential": "--ramp-exponential"}},
			"metric-percentiles": {value: true, as: "--percentiles VALUE"},
			"label":              {value: true, as: "--tag VALUE"},
			"save-result":        {why: "each result is kept in its run; --output-file FILE also appends it to a file, as SGLang's client does"},
			"append-result":      {why: "--output-file FILE appends the result to a file, as SGLang's client does"},
			"result-filename":    {why: "--output-file FILE appends the result to a file, as SGLang's client does"},
			"result-dir":         {why: "--run-dir DIR says where runs are kept; --output-file FILE also appends the result to a file"},
			"metadata":           {why: "--tag TEXT is kept with the result"},
			"random-prefix-len":  {why: "--dataset-name generated-shared-prefix sends prompts that share a prefix"},
			"plot-timeline":      {why: "--html FILE has plots"},
			"logprobs":           {why: "--return-logprob --top-logprobs-num N asks for log probabilities"},
			"request-id-prefix":  {why: "the ids of requests begin with stepscope-"},
			"lora-modules":       {why: "--lora-name NAME … names the adapters"},
			"top-k":              {why: `--extra-request-body '{"top_k": 20}' sets it`},
			"min-p":              {why: `--extra-request-body '{"min_p": 0.1}' sets it`},
			"repetition-penalty": {why: `--extra-request-body '{"repetition_penalty": 1.1}' sets it`},
			"frequency-penalty":  {why: `--extra-request-body '{"frequency_penalty": 0.1}' sets it`},
			"presence-penalty":   {why: `--extra-request-body '{"presence_penalty": 0.1}' sets it`},
		},
		"aiperf": {
			"streaming":                   {}, // the default here
			"ui":                          {value: true},
			"ui-type":                     {value: true},
			"concurrency":                 {value: true, as: "--max-concurrency VALUE"},
			"request-count":               {value: true, as: "--num-prompts VALUE"},
			"num-requests":                {value: true, as: "--num-prompts VALUE"},
			"warmup-request-count":        {value: true, as: "--warmup-requests VALUE"},
			"num-warmup-requests":         {value: true, as: "--warmup-requests VALUE"},
			"isl":                         syntheticInput,
			"synthetic-input-tokens-mean": syntheticInput,
			"prompt-input-tokens-mean":    syntheticInput,
			"osl":                         {value: true, as: "--random-output-len VALUE"},
			"output-tokens-mean":          {value: true, as: "--random-output-len VALUE"},
			"prompt-output-tokens-mean":   {value: true, as: "--random-output-len VALUE"},
			"benchmark-duration":          {value: true, as: "--duration VALUEs"},
			"benchmark-grace-period":      {value: true, as: "--duration-grace VALUEs"},
			"request-timeout-seconds":     {value: true, as: "--request-timeout VALUEs"},
			"random-seed":                 {value: true, as: "--seed VALUE"},
			"arrival-pattern":             {value: true, as: "--arrival VALUE"},
			"request-rate-mode":           {value: true, as: "--arrival VALUE"},
			"fixed-schedule":              {as: "--use-trace-timestamps"},
			"artifact-dir":                {value: true, as: "--run-dir VALUE"},
			"output-artifact-dir":         {value: true, as: "--run-dir VALUE"},
			"custom-endpoint":             {value: true, as: "--endpoint VALUE"},
			"model-names":                 {value: true, as: "--model VALUE"},
			"extra-inputs":                {why: `--extra-request-body '{"top_k": 20}' sets keys of the body`},
			"input-file":                  {why: "--dataset-name custom --dataset-path FILE reads requests from a file; --dataset-name timed-trace reads a trace with times"},
			"public-dataset":              {why: "--dataset-name sharegpt --dataset-path FILE reads a data set; nothing is downloaded"},
			"slice-duration":              {why: "--html FILE shows the load over time"},
			"conversation-num":            {why: "--num-prompts N counts whole conversations"},
		},
	},
	"bench offline": {"SGLang's client": {
		"profile-steps": {why: "the whole run is recorded; use few prompts, or record a server with bench serving --profile"},
	}},
	"send": {"SGLang's client": {
		"image":       {why: "this verb sends only text; bench serving --dataset-name image sends pictures"},
		"many-images": {why: "this verb sends only text; bench serving --dataset-name image sends pictures"},
	}},
}

var (
	endpointTypes  = map[string]string{"chat": "openai-chat", "completions": "openai", "openai-chat": "openai-chat", "openai": "openai", "vllm": "vllm"}
	syntheticInput = habit{value: true, as: "--dataset-name random --random-range-ratio 1 --random-input-len VALUE"}
)

// takeHabit checks whether args begins with a flag of another client that the verb lacks. It returns the arguments that
// mean the same, and the number of arguments that the flag and its value occupy, or 0. If nothing means the same, the
// error says so.
func takeHabit(verb string, args []string) (as []string, taken int, err error) {
	given, value, hasValue := strings.Cut(args[0], "=")
	given = strings.ReplaceAll(given, "_", "-")
	for tool, flags := range habits[verb] {
		h, ok := flags[strings.TrimPrefix(given, "--")]
		switch {
		case !ok:
			continue
		case h.why != "":
			return nil, 0, usagef("%s is a flag of %s that is missing here: %s", given, tool, h.why)
		case !h.value && hasValue:
			return nil, 0, usagef("%s takes no value", given)
		case h.value && !hasValue:
			if len(args) < 2 || strings.HasPrefix(args[1], "--") {
				return nil, 0, usagef("%s wants a value", given)
			}
			value, taken = args[1], 1
		}
		if h.values != nil {
			if value, ok = h.values[value]; !ok {
				return nil, 0, usagef("%s is a flag of %s, of which these values are known here: %s", given, tool, strings.Join(slices.Sorted(maps.Keys(h.values)), ", "))
			}
		}
		for _, a := range strings.Fields(h.as) {
			if a = strings.ReplaceAll(a, "VALUE", value); a != "" {
				as = append(as, a)
			}
		}
		return as, taken + 1, nil
	}
	return nil, 0, nil
}
