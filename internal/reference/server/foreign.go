package server

import (
	"net/http"
	"strings"

	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/httpguard"
)

// foreign lists the routes of SGLang that this server does not have, each with the reason.
var foreign = []struct{ paths, why string }{
	{"/start_expert_distribution_record /stop_expert_distribution_record /dump_expert_distribution_record", "expert load is not recorded"},
	{"/set_trace_level", "no OpenTelemetry spans are sent"},
	{"/freeze_gc", "there is no Python garbage collector"},
	{"/configure_logging", "logging is set at launch by --log-level and --log-requests-level"},
	{"/set_internal_state", "the state is set by launch flags"},
	{"/pause_generation /continue_generation", "generation cannot be paused; /abort_request ends requests"},
	{"/slow_down", "steps cannot be slowed down"},
	{"/pd_role_switch", "the role is fixed by --disaggregation-mode"},
	{`/update_weights_from_disk /update_weights_from_tensor /update_weights_from_distributed /update_weights_from_ipc /begin_weight_update
		/end_weight_update /init_weights_update_group /destroy_weights_update_group /init_weights_send_group_for_remote_instance
		/send_weights_to_remote_instance /get_remote_instance_transfer_engine_info /remote_instance_transfer_engine_info /update_weight_version
		/get_weights_by_name /weights_checker`, "weights are loaded at launch and cannot be changed or read"},
	{"/release_memory_occupation /resume_memory_occupation", "memory is held until the server exits"},
	{"/load_lora_adapter /load_lora_adapter_from_tensors /unload_lora_adapter", "LoRA adapters are not supported"},
	{"/open_session /close_session", "sessions are not supported; prefixes are cached without them"},
	{"/hicache/storage-backend /hicache/storage-backend/clear /get_hicache_l3_cache_layout", "the KV cache is kept in rank memory only"},
	{"/add_external_corpus /remove_external_corpus /list_external_corpora", "speculative decoding is not supported"},
	{"/parse_function_call /separate_reasoning", "tool-call and reasoning parsers are not supported"},
	{"/encode /classify /v1/classify /v1/rerank /v1/score /v1/decisions /v1/audio/transcriptions", "only text generation is supported"},
	{"/v1/responses /v1/responses/{response_id} /v1/responses/{response_id}/cancel /v1/messages /v1/messages/count_tokens /api/chat /api/generate /invocations /vertex_generate", "the supported APIs are /generate, /v1/completions and /v1/chat/completions"},
}

// foreignRoutes returns handlers for the routes in foreign. Each handler replies with an error that names the route.
func (s *Server) foreignRoutes() (out []httpguard.Route) {
	for _, f := range foreign {
		for path := range strings.FieldsSeq(f.paths) {
			out = append(out, httpguard.At("GET POST PUT DELETE", path, httpguard.Key, func(w http.ResponseWriter, r *http.Request) {
				s.refuse(w, dialectGeneral, wire.Refuse("", "%s is an SGLang route that this server does not support: %s", r.URL.Path, f.why))
			}))
		}
	}
	return out
}
