package api

// What a server does of each request, its role, where prefill and decode are apart: each
// request has a server of either. Flags, directories, labels and JSON call the roles
// these names; a server that does everything has none. The halves of a profile by stage
// have the names too.
const (
	Prefill = "prefill" // prompts and first tokens
	Decode  = "decode"  // what follows them
)
