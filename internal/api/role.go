package api

import "strings"

// What a server does of each request, its role, where prefill and decode are apart: each
// request has a server of either. Flags, directories, labels and JSON call the roles
// these names; a server that does everything has none. The stages of a request that
// profiles tell apart have the names too.
const (
	Prefill = "prefill" // prompts and first tokens
	Decode  = "decode"  // what follows them
)

// Stage is Prefill or Decode of what a file name calls a stage: SGLang's say EXTEND and
// DECODE, or with SGLANG_PROFILE_V2 the names above. Others are given back.
func Stage(name string) string {
	switch s := strings.ToLower(name); s {
	case "extend":
		return Prefill
	case Prefill, Decode:
		return s
	}
	return name
}
