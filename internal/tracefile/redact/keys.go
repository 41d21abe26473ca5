package redact

// rule says what becomes of a value.
type rule uint8

const (
	asNumber rule = iota // a number, or text of numbers
	asWord               // a short word of the format itself
	asCode               // a name out of a program
	asType
	asInput
	asGroup
	asCategory
	asName // of an event: by its category
	asID   // of a flow
	asPID
	asTID
	asSort
	asHost
	asTrace
	asLabel
	asRequests
	asStack
	asRowName // of a process or thread: by the event's name
	asRowLabels
	asProcess
	asThread
	asMark // the name of an event that is no span
	asNote
	asOp
	asKernel
	asCall
	asFrame
	asArgs
	asDevices
	asWorld
	asMerged
	numRules
)

// members is what an object under a rule may hold; nil: no object at all.
func (k rule) members() map[string]rule {
	switch k {
	case asArgs:
		return argKeys
	case asDevices:
		return deviceKeys
	case asWorld:
		return worldKeys
	case asMerged:
		return mergedKeys
	}
	return nil
}

// takes tells whether a value, which v begins with, is of a kind that the rule
// can judge.
func (k rule) takes(v []byte) bool {
	if len(v) == 0 {
		return false
	}
	switch v[0] {
	case '{':
		return k.members() != nil
	case '[':
		return k == asNumber || k == asCode || k == asType || k == asInput || k == asDevices || k == asWorld || k == asMerged
	case '"':
		return k.members() == nil
	}
	switch k { // a number or a word where text belongs
	case asHost, asTrace, asLabel, asRequests, asStack:
		return false
	}
	return true
}

// eventKeys are the members of an event.
var eventKeys = map[string]rule{
	"ph": asWord, "cat": asCategory, "name": asName, "pid": asPID, "tid": asTID, "ts": asNumber, "dur": asNumber, "tts": asNumber, "tdur": asNumber,
	"id": asID, "bind_id": asID, "bp": asWord, "s": asWord, "args": asArgs,
}

// argKeys are the members of an event's args that Kineto, SGLang, vLLM and this
// program write and that are no free text.
var argKeys = map[string]rule{
	"Collective name": asCode, "dtype": asCode, "Process Group Name": asGroup, "Process Group ID": asGroup, "Process Group Description": asGroup,
	"cuda_sync_kind": asCode, "hip_sync_kind": asCode, "kernel_backend": asCode, "Input type": asType, "Concrete Inputs": asInput,
	"rids": asRequests, "Call stack": asStack, "name": asRowName, "labels": asRowLabels, "sort_index": asSort,
}

// numberKeys are those of argKeys whose values are numbers, or lists of them.
var numberKeys = []string{
	"External id", "Record function id", "Sequence number", "Fwd thread id", "Ev Idx", "Input Dims", "Input Strides", "cbid", "correlation", "device", "context",
	"stream", "queued", "registers per thread", "shared memory", "blocks per SM", "warps per SM", "grid", "block", "est. achieved occupancy %", "priority",
	"graph id", "graph node id", "cluster", "bytes", "memory bandwidth (GB/s)", "In msg nelems", "Out msg nelems", "In split size", "Out split size", "Group size",
	"Rank", "Src Rank", "Dst Rank", "Seq", "Global rank start", "Global rank stride", "Comms Id", "Process Group Ranks", "Total Reserved", "Total Allocated", "Bytes",
	"Device Id", "Device Type", "Addr", "finished", "Python id", "Python parent id", "Python module id", "Python thread", "Op count", "wait_on_stream",
	"wait_on_cuda_event_record_corr_id", "wait_on_cuda_event_id", "wait_on_hip_event_record_corr_id", "Trace iter", "fromDevice", "inDevice", "toDevice",
	"is_async", "Async", "num_tokens", "kind", "flow", "ptr", "dst", "src", "size", "room",
}

// Key is the member by which a file says that it was redacted; its value is the
// version of docs/formats/redacted.md.
const Key = "stepscope_redacted"

// fileKeys are the members of a file beside its events.
var fileKeys = map[string]rule{
	"deviceProperties": asDevices, "trace_id": asTrace, "host_name": asHost, "distributedInfo": asWorld, "parallelism": asWorld,
	"displayTimeUnit": asWord, "stepscope": asMerged, "stepscope_cut": asMerged, "cuda_sync_mode": asCode,
}

// deviceKeys are those of deviceProperties, besides numbers.
var deviceKeys = map[string]rule{"name": asCode}

// worldKeys are those of distributedInfo and its lists.
var worldKeys = map[string]rule{
	"backend": asCode, "nccl_version": asCode, "pg_config": asWorld, "pg_name": asGroup, "pg_desc": asGroup, "backend_config": asCode,
	"clock": asWorld, "reference": asHost, // by which clocks are aligned
}

// mergedKeys are those of the member in which a merged file describes itself.
var mergedKeys = map[string]rule{
	"ranks": asMerged, "id_map": asMerged, "missing": asMerged, "problem": asMerged, "label": asLabel, "stage": asCode, "pid_prefix": asLabel,
	"distributedInfo": asWorld, "trace_id": asTrace, "host_name": asHost,
}

func init() {
	for _, k := range numberKeys {
		argKeys[k] = asNumber
	}
	for _, k := range []string{
		"schemaVersion", "with_stack", "profile_memory", "record_shapes", "with_flops", "with_modules", "baseTimeNanoseconds", "cuda_driver_version",
		"cuda_runtime_version", "cupti_version", Key, "hip_driver_version", "hip_runtime_version", "rocm_version", "roctracer_version",
	} {
		fileKeys[k] = asNumber
	}
	for _, k := range []string{
		"id", "totalGlobalMem", "computeMajor", "computeMinor", "maxThreadsPerBlock", "maxThreadsPerMultiprocessor", "regsPerBlock", "warpSize",
		"sharedMemPerBlock", "numSms", "regsPerMultiprocessor", "sharedMemPerBlockOptin", "sharedMemPerMultiprocessor", "maxSharedMemoryPerMultiProcessor",
	} {
		deviceKeys[k] = asNumber
	}
	for _, k := range []string{
		"rank", "world_size", "pg_count", "pg_size", "ranks", "tp_rank", "tp_size", "dp_rank", "dp_size", "pp_rank", "pp_size", "ep_rank", "ep_size", "offset_ns", "rtt_ns",
	} {
		worldKeys[k] = asNumber
	}
	for _, k := range []string{
		"format", "id_index", "base_time_ns", "shift_ns", "shift_uncertainty_ns", "shift_interval_ns", "shift_drift_ppb", "shift_since_ns",
		"shift_collectives", "events", "complete", "offset", "lost_bytes", "file_bytes", "repaired", "cleaned", "odd_times", "stride", "steps", "from_ns", "to_ns",
	} {
		mergedKeys[k] = asNumber
	}
}
