package cli

import "strings"

// refusedFlags lists the flags of SGLang's clients that a verb lacks, with the reason. Without an entry here, such a
// flag would only get "no flag", or be taken for the prefix of another.
var refusedFlags = map[string]map[string]string{
	"bench serving": {
		"rust-client":                    "this client reads each stream separately anyway",
		"rust-worker-threads":            "this client reads streams on all cores; GOMAXPROCS limits them",
		"steady-state-concurrency-ratio": "the steady part of a load is found and reported without it",
		"steady-state-output-file":       "the steady part of a load is in the run's summary, see --print-json",
	},
	"bench offline": {
		"profile-steps": "the whole run is recorded; use few prompts, or record a server with bench serving --profile",
	},
	"send": {
		"image":       "this verb sends only text; bench serving --dataset-name image sends pictures",
		"many-images": "this verb sends only text; bench serving --dataset-name image sends pictures",
	},
}

// refuseFlag explains why a verb lacks a flag of SGLang's client. It returns nil if the verb has it or no client does.
func refuseFlag(verb, name string) error {
	name = strings.ReplaceAll(name, "_", "-")
	if why, ok := refusedFlags[verb][name]; ok {
		return usagef("--%s is a flag of SGLang's client that is missing here: %s", name, why)
	}
	return nil
}
