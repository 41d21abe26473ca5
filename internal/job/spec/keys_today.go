package spec

// Class is what stepscope does with a key. The class of most keys is "": stepscope uses the value.
type Class string

// Classes of keys and of notes.
const (
	ignored   Class = "ignored"    // belongs to a program that stepscope does not start
	passed    Class = "passed"     // goes to the server, the router or Slurm as it is
	cannotRun Class = "cannot_run" // valid, but job apply refuses the file
	warning   Class = "warning"    // valid, but it will not do what the user expects
)

// today are the dialects whose keys srtctl has had since December 19, 2025.
const today = "MH"

func leaf(name, about string, class Class, at func(*Job) any) key[Job] {
	return key[Job]{name: name, about: about, class: class, only: today, lines: true, least: -most, at: at}
}

// The following functions return keys whose values are checked, but not stored.

func aText(name, about string, class Class) key[Job] {
	return leaf(name, about, class, func(*Job) any { return new(string) })
}

func aNumber(name, about string, class Class) key[Job] {
	return leaf(name, about, class, func(*Job) any { return new(int) })
}

func aFraction(name, about string, class Class) key[Job] {
	return leaf(name, about, class, func(*Job) any { return new(float64) })
}

func aFlag(name, about string, class Class) key[Job] {
	return leaf(name, about, class, func(*Job) any { return new(bool) })
}

func aList(name, about string, class Class) key[Job] {
	return leaf(name, about, class, func(*Job) any { return new([]string) })
}

func aMap(name, about string, class Class) key[Job] {
	return leaf(name, about, class, func(*Job) any { return func([]Setting) {} })
}

func anything(name, about string, class Class) key[Job] {
	return leaf(name, about, class, func(*Job) any { return new(any) })
}

func section(name, about string, class Class, keys ...key[Job]) key[Job] {
	return key[Job]{name: name, about: about, class: class, only: today, keys: keys}
}

// of limits keys to a type of backend.
func of(backend string, keys ...key[Job]) []key[Job] {
	for i := range keys {
		keys[i].when = backend
	}
	return keys
}

// backendsToday returns the keys of the section backend that the dialect P lacks.
func backendsToday() (all []key[Job]) {
	roles := func(name string) key[Job] {
		return section(name, "Settings of the workers, one section per role.", "", flagsOf(Prefill), flagsOf(Decode), flagsOf(Aggregated))
	}
	store := func(more ...key[Job]) key[Job] {
		return section("mooncake_kv_store", "A KV store of Mooncake.", cannotRun, append([]key[Job]{
			aText("container", "Image of the store.", cannotRun), aMap("env", "Environment of the store.", cannotRun),
			aList("master_extra_args", "Arguments of the store.", cannotRun),
		}, more...)...)
	}
	events := anything("kv_events_config", "Events of the KV cache: true, or a map per role.", ignored)
	all = append(all, of(SGLang, events, store())...)
	all = append(all, of(VLLM, events, store(anything("store_config", "Configuration of the store.", cannotRun)),
		anything("connector", "Connector of the KV cache, for prefill and decode workers.", ignored),
		key[Job]{name: "set_cuda_visible_devices", only: today, about: "Choose GPUs with CUDA_VISIBLE_DEVICES instead of --device-ids.", at: func(j *Job) any { return &j.Today.SetVisible }},
		aFlag("allow_prefill_decode_colocation", "Prefill and decode workers may share a node.", ignored),
		aFlag("allow_prefill_decode_colocation_across_nodes", "Prefill and decode workers may share several nodes.", ignored),
		key[Job]{name: "dp_launch_mode", class: ignored, only: today, about: "Processes of data-parallel workers.", today: []string{perNode, "per_gpu"}, at: func(j *Job) any { return &j.Today.Layout.DPLaunch }},
	)...)
	all = append(all, of(TRTLLM, roles("trtllm_config"), aFlag("publish_events_and_metrics", "Publish events and metrics.", ignored),
		aNumber("sequential_node_start", "Start the nodes of a worker one after the other.", ignored), aFlag("numa_memory_bind", "Bind memory to NUMA nodes.", ignored))...)
	return append(all, of(Mocker, roles("mocker_config"), aText("engine_type", "Engine to imitate.", ignored),
		aFraction("speedup_ratio", "Speed.", ignored), aFraction("decode_speedup_ratio", "Speed of decode.", ignored), aNumber("num_gpu_blocks_override", "Blocks of the KV cache.", ignored),
		aNumber("max_num_seqs", "Requests per batch.", ignored), aNumber("max_num_batched_tokens", "Tokens per batch.", ignored), aNumber("block_size", "Tokens of a block.", ignored),
		aNumber("data_parallel_size", "Data-parallel size.", ignored), aNumber("num_workers", "Workers.", ignored), aFraction("startup_time", "Seconds of the start.", ignored),
		aFraction("kv_transfer_bandwidth", "Bandwidth of KV transfers.", ignored), aText("kv_cache_dtype", "Type of the KV cache.", ignored),
		aFlag("enable_prefix_caching", "Prefix cache.", ignored), aFlag("enable_chunked_prefill", "Chunked prefill.", ignored), aText("preemption_mode", "Preemption.", ignored))...)
}

// benchmarksToday returns the keys of the section benchmark that the dialect P lacks.
func benchmarksToday() []key[Job] {
	return []key[Job]{
		{name: "num_prompts_mult", only: today, about: "Requests per unit of concurrency.", least: 1, preset: 10, at: func(j *Job) any { return &j.Today.PromptsMult }},
		{name: "num_warmup_mult", only: today, about: "Warm-up requests per unit of concurrency; 0: no warm-up.", preset: 2, at: func(j *Job) any { return &j.Today.WarmupMult }},
		{name: "random_range_ratio", only: today, about: "Shortest length as a share of the longest.", preset: 0.8, at: func(j *Job) any { return &j.Today.RangeRatio }},
		{name: "use_chat_template", class: ignored, only: today, about: "Prompts use the chat template of the model.", preset: true, at: func(j *Job) any { return &j.Today.ChatTemplate }},
		{name: "dataset_name", only: today, about: "random or custom.", at: func(j *Job) any { return &j.Today.Dataset }},
		aText("dataset_path", "File of a custom dataset.", cannotRun),
		aText("custom_tokenizer", "Class of a tokenizer.", ignored), aFlag("reuse_http_connections", "Reuse connections.", ignored),
		aFraction("slow_down_sleep_time", "Seconds by which decode steps are delayed at first.", ignored), aFraction("slow_down_wait_time", "Seconds until the delay ends.", ignored),
		leaf("client_placement", "Node of the client: head or last_decode.", ignored, func(j *Job) any { return &j.Today.Layout.ClientPlace }),
		leaf("client_dedicated_node", "One more node for the client.", ignored, func(j *Job) any { return &j.Today.Layout.ClientNode }),
		aFlag("colocate_with_frontend", "The client shares the node of the frontend.", ignored), aFlag("export_node_metrics", "Export metrics of the nodes.", ignored),
		aText("aiperf_package", "Package of AIPerf.", ignored), anything("aiperf_args", "Arguments of AIPerf.", ignored), anything("sweep", "Not used by srtctl.", ignored),
		aNumber("num_examples", "Examples of an accuracy benchmark.", cannotRun), aNumber("max_tokens", "Longest answer.", cannotRun), aNumber("repeat", "Repetitions.", cannotRun),
		aNumber("num_threads", "Concurrent requests.", cannotRun), aNumber("max_context_length", "Longest prompt.", cannotRun), aList("categories", "Categories.", cannotRun),
		aNumber("num_shots", "Examples in a prompt.", cannotRun), aFraction("temperature", "Temperature.", cannotRun), aFraction("top_p", "Top p.", cannotRun), aNumber("top_k", "Top k.", cannotRun),
		aNumber("num_requests", "Requests of the router benchmark.", cannotRun), aNumber("concurrency", "Concurrent requests of the router benchmark.", cannotRun),
		anything("prefix_ratios", "Shares of common prefixes.", cannotRun), aText("mooncake_workload", "Trace of Mooncake.", cannotRun), aNumber("ttft_threshold_ms", "Limit of the TTFT.", cannotRun),
		aNumber("itl_threshold_ms", "Limit of the ITL.", cannotRun), aText("trace_file", "Trace to replay.", cannotRun), aText("command", "Command of the type custom.", cannotRun),
		aText("container_image", "Image of the type custom.", cannotRun), aMap("env", "Environment of the type custom.", cannotRun),
	}
}

func frontendToday() key[Job] {
	return section("frontend", "The server that takes requests for all workers.", "",
		key[Job]{name: "type", about: "dynamo, sglang (a router), vllm (the worker itself) or trtllm_serve.", preset: "dynamo", at: func(j *Job) any { return &j.Today.Frontend }},
		key[Job]{name: "enable_multiple_frontends", class: ignored, about: "Several frontends behind nginx.", preset: true, at: func(j *Job) any { return &j.Today.Multiple }},
		aNumber("num_additional_frontends", "Frontends in addition to the first.", ignored),
		aText("nginx_container", "Image of nginx.", ignored), aFlag("nginx_raise_ulimit", "More open files for nginx.", ignored),
		aFlag("nginx_session_affinity", "Requests of a session go to one frontend.", ignored), aText("nginx_session_affinity_header", "Header of the session.", ignored),
		aText("nginx_keepalive_timeout", "Timeout of connections.", ignored),
		anything("args", "Arguments of the frontend.", ignored), aMap("env", "Environment of the frontend.", ignored),
		anything("ctx_router", "Router of TensorRT-LLM.", ignored), anything("gen_router", "Router of TensorRT-LLM.", ignored), anything("server_config_extra", "More settings of TensorRT-LLM.", ignored),
		leaf("orchestrator_placement", "Node of the frontend: head or first_decode.", ignored, func(j *Job) any { return &j.Today.Layout.FrontendPlace }),
		leaf("dedicated_node", "One more node for the frontend.", ignored, func(j *Job) any { return &j.Today.Layout.FrontendNode }))
}

func dynamoToday() key[Job] {
	return section("dynamo", "Installation of Dynamo.", ignored,
		aFlag("install", "Install Dynamo.", ignored), aText("version", "Version.", ignored), aText("hash", "Commit.", ignored), aFlag("top_of_tree", "Newest commit.", ignored),
		aText("wheel", "Version of the wheel.", ignored),
		key[Job]{name: "request_plane", class: ignored, about: "Transport of requests.", today: []string{"nats", "tcp", "http"}, at: func(*Job) any { return new(string) }},
		key[Job]{name: "event_plane", class: ignored, about: "Transport of events.", today: []string{"nats", "zmq"}, at: func(*Job) any { return new(string) }},
		aList("cargo_patches", "Patches of a source build.", ignored))
}

func identityToday() key[Job] {
	return section("identity", "What should be running; srtctl compares it after the start.", ignored,
		section("model", "The model.", ignored, aText("repo", "Repository.", ignored), aText("revision", "Commit.", ignored)),
		section("container", "The container.", ignored, aText("image", "Image.", ignored)),
		aMap("frameworks", "Versions of packages.", ignored))
}

func reportingToday() key[Job] {
	return section("reporting", "Reports to other services.", ignored,
		section("status", "Status.", ignored, aText("endpoint", "URL.", ignored), aList("endpoints", "URLs.", ignored)),
		section("ai_analysis", "Analysis by a language model.", ignored, aFlag("enabled", "On.", ignored), aText("openrouter_api_key", "Key.", ignored), aText("gh_token", "Token.", ignored),
			aList("repos_to_search", "Repositories.", ignored), aNumber("pr_search_days", "Days.", ignored), aText("prompt", "Prompt.", ignored)),
		section("s3", "Upload.", ignored, requiredKey(aText("bucket", "Bucket.", ignored)), aText("prefix", "Prefix.", ignored), aText("region", "Region.", ignored),
			aText("endpoint_url", "URL.", ignored), aText("access_key_id", "Key.", ignored), aText("secret_access_key", "Secret.", ignored)))
}

func exporter(name string) key[Job] {
	return section(name, "An exporter of metrics.", ignored, requiredKey(aText("container_image", "Image.", ignored)), requiredKey(aNumber("port", "Port.", ignored)), aText("command", "Command.", ignored))
}

func observabilityToday() key[Job] {
	return section("observability", "Traces and metrics of Dynamo.", ignored,
		aFlag("enabled", "On.", ignored), aFlag("enable_otel", "OpenTelemetry.", ignored), aText("otel_endpoint", "URL.", ignored), aFlag("scrape_metrics", "Read metrics.", ignored),
		aFraction("scrape_interval_seconds", "Interval.", ignored), aText("scrape_output", "File.", ignored), aFlag("build_dashboard", "Make a dashboard.", ignored),
		section("tachometer", "Metrics in columns.", ignored, aFlag("enabled", "On.", ignored), aText("binary_path", "Program.", ignored), aFraction("default_frequency", "Interval.", ignored),
			aNumber("sync_interval_secs", "Interval of writes.", ignored), aNumber("compaction_threads", "Threads.", ignored), aText("storage_subdir", "Directory.", ignored),
			aMap("extra_metadata", "More metadata.", ignored), exporter("dcgm_exporter"), exporter("node_exporter")))
}

func telemetryToday() key[Job] {
	return section("telemetry", "Power of the GPUs.", ignored,
		leaf("enabled", "On.", ignored, func(j *Job) any { return &j.Today.Layout.Telemetry }),
		exporter("dcgm_exporter"), leaf("default_frequency", "Interval.", ignored, func(j *Job) any { return &j.Today.Layout.TelemetryEvery }), aText("storage_subdir", "Directory.", ignored),
		aFlag("required", "The job fails without it.", ignored), aFraction("startup_timeout_seconds", "Timeout.", ignored), aFraction("request_timeout_seconds", "Timeout.", ignored),
		aFraction("collector_join_timeout_seconds", "Timeout.", ignored))
}

func requiredKey(k key[Job]) key[Job] {
	k.required = true
	return k
}
