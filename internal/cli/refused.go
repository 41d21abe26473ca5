package cli

import "strings"

// refusedFlags lists, by verb, the flags of SGLang's clients that the verb lacks, each with the reason. Without an
// entry in this table, such a flag would only be reported as unknown, or would be taken for the prefix of another flag.
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

// refuseFlag returns an error that explains why a verb lacks a flag of SGLang's clients. It returns nil if refusedFlags
// has no entry for the flag.
func refuseFlag(verb, name string) error {
	name = strings.ReplaceAll(name, "_", "-")
	if why, ok := refusedFlags[verb][name]; ok {
		return usagef("--%s is a flag of SGLang's client that is missing here: %s", name, why)
	}
	return nil
}
