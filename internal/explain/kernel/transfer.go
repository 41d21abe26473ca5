package kernel

import "strings"

// KVTransfer tells of a copy's name whether it is keys and values on their way between
// a prefill and a decode server ("kv_send layer=3", "kv_recv layer=3"), or marks when a
// request began to wait for that ("kv_wait", "kv_open"): no call of the host launches
// these.
func KVTransfer(name string) bool {
	return strings.HasPrefix(name, "kv_send ") || strings.HasPrefix(name, "kv_recv ") || name == "kv_wait" || name == "kv_open"
}
