package redact

// rule determines the treatment of a value.
type rule uint8

const (
	asNumber rule = iota // a number, or a text that consists of numbers
	asWord               // a short keyword of the format
	asCode               // a name from program code
	asType
	asInput
	asGroup
	asCategory
	asName // name of an event; the event's category determines the rule
	asID   // id of a flow (arrow)
	asPID
	asTID
	asSort
	asHost
	asTrace
	asLabel
	asRequests
	asStack
	asRowName // name of a process or thread; the event's name determines the rule
	asRowLabels
	asProcess
	asThread
	asMark // name of an event that is not a span
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

// members returns the known members of an object to which the rule applies, or nil if the rule does not allow objects.
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

// takes reports whether the rule accepts the type of the value at the start of v.
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
	switch k { // the value is a number or literal instead of text
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

// argKeys are the members of an event's args that Kineto, SGLang, vLLM and this program write, except those that hold
// free text.
var argKeys = map[string]rule{
	"Collective name": asCode, "dtype": asCode, "Process Group Name": asGroup, "Process Group ID": asGroup, "Process Group Description": asGroup,
	"cuda_sync_kind": asCode, "hip_sync_kind": asCode, "kernel_backend": asCode, "Input type": asType, "Concrete Inputs": asInput,
	"rids": asRequests, "Call stack": asStack, "name": asRowName, "labels": asRowLabels, "sort_index": asSort,
}

// numberKeys are the argKeys whose values are numbers or lists of numbers.
var numberKeys = []string{
	"External id", "Record function id", "Sequence number", "Fwd thread id", "Ev Idx", "Input Dims", "Input Strides", "cbid", "correlation", "device", "context",
	"stream", "queued", "registers per thread", "shared memory", "blocks per SM", "warps per SM", "grid", "block", "est. achieved occupancy %", "priority",
	"graph id", "graph node id", "cluster", "bytes", "memory bandwidth (GB/s)", "In msg nelems", "Out msg nelems", "In split size", "Out split size", "Group size",
	"Rank", "Src Rank", "Dst Rank", "Seq", "Global rank start", "Global rank stride", "Comms Id", "Process Group Ranks", "Total Reserved", "Total Allocated", "Bytes",
	"Device Id", "Device Type", "Addr", "finished", "Python id", "Python parent id", "Python module id", "Python thread", "Op count", "wait_on_stream",
	"wait_on_cuda_event_record_corr_id", "wait_on_cuda_event_id", "wait_on_hip_event_record_corr_id", "Trace iter", "fromDevice", "inDevice", "toDevice",
	"is_async", "Async", "num_tokens", "kind", "flow", "ptr", "dst", "src", "size", "room",
}

// Key is the member that marks a file as redacted. Its value is the version of docs/formats/redacted.md.
const Key = "stepscope_redacted"

// fileKeys are the members of a file other than its events.
var fileKeys = map[string]rule{
	"deviceProperties": asDevices, "trace_id": asTrace, "host_name": asHost, "distributedInfo": asWorld, "parallelism": asWorld,
	"displayTimeUnit": asWord, "stepscope": asMerged, "stepscope_cut": asMerged, "cuda_sync_mode": asCode,
}

// deviceKeys are the members of deviceProperties, except those that are numbers.
var deviceKeys = map[string]rule{"name": asCode}

// worldKeys are the members of distributedInfo and of the objects in its lists.
var worldKeys = map[string]rule{
	"backend": asCode, "nccl_version": asCode, "pg_config": asWorld, "pg_name": asGroup, "pg_desc": asGroup, "backend_config": asCode,
	"clock": asWorld, "reference": asHost, // for clock alignment
}

// mergedKeys are the members of a merged file's own metadata.
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
