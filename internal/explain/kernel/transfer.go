package kernel

import "strings"

// KVTransfer reports whether a copy's name marks a KV transfer between a prefill and a decode server ("kv_send
// layer=3", "kv_recv layer=3"). It also accepts the names that mark when a request began to wait for a transfer
// ("kv_wait", "kv_open"). Ops with such names have no launch on the host.
func KVTransfer(name string) bool {
	return strings.HasPrefix(name, "kv_send ") || strings.HasPrefix(name, "kv_recv ") || name == "kv_wait" || name == "kv_open"
}
