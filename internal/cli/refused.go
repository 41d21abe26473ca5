package cli

import "strings"

// refusedFlags are flags of SGLang's clients that a verb has not, and why. Without its entry here a flag would get no
// more than "no flag", or be taken for the beginning of another.
var refusedFlags = map[string]map[string]string{
	"bench serving": {
		"rust-client":                    "this client is one of its own, which reads each stream apart",
		"rust-worker-threads":            "this client reads streams on all cores; GOMAXPROCS says on fewer",
		"steady-state-concurrency-ratio": "the steady part of a load is found and told without it",
		"steady-state-output-file":       "the steady part of a load is in the run's summary, see --print-json",
	},
	"bench offline": {
		"profile-steps": "all of the run is recorded; give few prompts, or record a server by bench serving --profile",
	},
	"send": {
		"image":       "it asks by text alone; bench serving --dataset-name image sends pictures",
		"many-images": "it asks by text alone; bench serving --dataset-name image sends pictures",
	},
}

// refuseFlag says why a verb has not a flag of SGLang's client; nil: it has it, or nobody has.
func refuseFlag(verb, name string) error {
	name = strings.ReplaceAll(name, "_", "-")
	if why, ok := refusedFlags[verb][name]; ok {
		return usagef("--%s, of SGLang's client, is not here: %s", name, why)
	}
	return nil
}
