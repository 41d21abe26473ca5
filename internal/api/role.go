package api

import "strings"

// Roles of a server when prefill and decode are disaggregated, so that each request uses one server of each role.
// Flags, directories, labels and JSON use these names. A server that runs both prefill and decode has no role. The
// names also denote the stages of a request in profiles.
const (
	Prefill = "prefill" // computes the prompt and the first token of a request
	Decode  = "decode"  // computes all later tokens
)

// Stage converts the stage in a file name to Prefill or Decode: SGLang writes EXTEND and DECODE or, with
// SGLANG_PROFILE_V2, prefill and decode. Other names are returned unchanged.
func Stage(name string) string {
	switch s := strings.ToLower(name); s {
	case "extend":
		return Prefill
	case Prefill, Decode:
		return s
	}
	return name
}
