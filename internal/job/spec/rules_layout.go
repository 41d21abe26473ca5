package spec

import (
	"slices"
	"strings"
)

// Layout holds the values of keys that place srtctl's processes on nodes. stepscope only checks them as srtctl does,
// because it starts neither these processes nor heterogeneous jobs.
type Layout struct {
	HetJobs                             bool
	FrontendNode, ClientNode, InfraNode bool   // a node of its own
	FrontendPlace, ClientPlace          string // head, or a node of a worker
	DPLaunch                            string // dp_launch_mode of vLLM
	Telemetry                           bool
	TelemetryEvery                      float64 // default_frequency of telemetry, in seconds
}

// mostTelemetryEvery is the longest interval of telemetry that srtctl accepts, in seconds.
const mostTelemetryEvery = 3

const (
	head    = "head"
	perNode = "per_node"
)

func newLayout() Layout {
	return Layout{FrontendPlace: head, ClientPlace: head, DPLaunch: perNode, TelemetryEvery: 1}
}

// layout checks the rules of srtctl about nodes.
func (r jobRules) layout(roles []Role) {
	l := &r.j.Today.Layout
	const frontend, client = "frontend.dedicated_node", "benchmark.client_dedicated_node"
	if l.FrontendNode && r.other("frontend.orchestrator_placement", l.FrontendPlace, head) {
		r.problem(frontend, "%s requires frontend.orchestrator_placement: head (got '%s'); otherwise the reserved node is never used", frontend, l.FrontendPlace)
	}
	if l.ClientNode && r.other("benchmark.client_placement", l.ClientPlace, head) {
		r.problem(client, "%s requires benchmark.client_placement: head (got '%s'); otherwise the reserved node is never used", client, l.ClientPlace)
	}
	if l.HetJobs {
		r.hetJobs(roles)
	}
	if l.Telemetry {
		r.telemetry()
	}
	r.headless()
}

// other reports whether a key has a known value that is not the wanted one.
func (r jobRules) other(key, value, want string) bool {
	return value != want && !r.open[key] && !r.bad[key]
}

// hetJobs checks what a heterogeneous job needs.
func (r jobRules) hetJobs(roles []Role) {
	const at = "resources.het_jobs"
	l := &r.j.Today.Layout
	switch {
	case slices.Contains(roles, Aggregated):
		r.problem(at, "het_jobs=true requires a disaggregated layout (set resources.prefill_nodes and resources.decode_nodes)")
	case roles != nil:
		for _, key := range []string{"resources.prefill_nodes", "resources.decode_nodes"} {
			n := r.j.Resources.PrefillNodes
			if key == "resources.decode_nodes" {
				n = r.j.Resources.DecodeNodes
			}
			if n < 1 && !r.open[key] && !r.bad[key] {
				r.problem(at, "het_jobs=true requires prefill_nodes >= 1 and decode_nodes >= 1")
				break
			}
		}
	}
	if t := r.j.Backend.Type; t != StepScope && r.other("backend.type", t, SGLang) {
		r.problem(at, "het_jobs=true is only supported on the sglang backend; got backend.type='%s'", t)
	}
	if l.FrontendNode || l.ClientNode {
		r.problem(at, "frontend.dedicated_node/benchmark.client_dedicated_node are not supported together with het_jobs=true (a dedicated frontend/client node is not carved out of a het allocation)")
	}
}

// telemetry checks that the collector of telemetry runs on the node of the client, often enough, and that it can tell the
// loads apart.
func (r jobRules) telemetry() {
	const at = "telemetry.enabled"
	l := &r.j.Today.Layout
	if !r.given("telemetry.dcgm_exporter") {
		r.problem(at, "telemetry.dcgm_exporter is required when telemetry is enabled")
	}
	if t := r.j.Benchmark.Type; r.other("benchmark.type", t, SABench) {
		r.problem(at, "telemetry requires benchmark.type: sa-bench")
	}
	if r.other("benchmark.client_placement", l.ClientPlace, head) {
		r.problem(at, "telemetry requires benchmark.client_placement: head")
	}
	if every := "telemetry.default_frequency"; l.TelemetryEvery > mostTelemetryEvery && !r.open[every] && !r.bad[every] {
		r.problem(every, "%s is %v: telemetry requires %d seconds or less", every, l.TelemetryEvery, mostTelemetryEvery)
	}
	if key := "benchmark.concurrencies"; !r.open[key] && !r.bad[key] {
		all := r.j.Benchmark.Concurrencies
		if different := slices.Compact(slices.Sorted(slices.Values(all))); len(different) < len(all) {
			r.problem(key, "telemetry requires different concurrencies; got %v", all)
		}
	}
	if l.InfraNode {
		r.problem(at, "telemetry requires infra.etcd_nats_dedicated_node: false, because a dedicated infra node moves the client off the node of the collector")
	}
}

// headless reports vLLM's flag headless beside data parallelism: srtctl derives it for each node.
func (r jobRules) headless() {
	if r.j.Backend.Type != VLLM || r.other("backend.dp_launch_mode", r.j.Today.Layout.DPLaunch, perNode) {
		return
	}
	var fields []string
	for _, role := range []Role{Prefill, Decode, Aggregated} {
		flags := r.j.Backend.Config[role]
		is := func(key string) func(Flag) bool { return func(f Flag) bool { return f.Key == key } }
		if i := slices.IndexFunc(flags, is("data-parallel-size")); i >= 0 && flags[i].Value != nil && slices.ContainsFunc(flags, is("headless")) {
			fields = append(fields, "vllm_config."+string(role)+".headless")
		}
	}
	if len(fields) > 0 {
		r.problem("backend.vllm_config", "%s cannot be set when dp_launch_mode=per_node: srtctl derives headless ranks from the DP x TP x PP topology; remove headless", strings.Join(fields, ", "))
	}
}
