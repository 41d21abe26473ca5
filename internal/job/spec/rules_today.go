package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/memory"
	"github.com/stepscope/stepscope/internal/base/suggest"
)

// Benchmarks of srtctl. Of those, SABench and sglangBench send the requests that start a capture.
const (
	SABench     = "sa-bench"
	sglangBench = "sglang-bench"
)

var benchmarks = []string{manual, SABench, sglangBench, "custom", "mmlu", "gpqa", "gsm8k", "longbenchv2", "lm-eval", "router", "mooncake-router", "trace-replay"}

// checkToday checks the rules of the dialects M and H that involve several values.
func (r jobRules) checkToday() {
	j := r.j
	r.values()
	r.quotes()
	roles := r.modeToday()
	if r.dialect == DialectM {
		r.loadBeside(roles)
	}
	r.profiled(roles)
	r.loads()
	r.frontend(roles)
	r.layout(roles)
	r.cannot(roles)
	j.Load(0)
	if roles != nil && j.Resources.GPUsPerNode > memory.MostRanks/max(1, j.totalNodes()) {
		r.problem("resources.gpus_per_node", "%d nodes × %d GPUs/node; a job has at most %d GPUs", j.totalNodes(), j.Resources.GPUsPerNode, memory.MostRanks)
	}
	if j.Backend.GPUType == "" {
		j.Backend.GPUType = j.Resources.GPUType + "-" + j.Model.Precision
	}
}

// Load gives the phases of a job of the dialect H the load of its benchmark. concurrency is one of the benchmark's
// concurrencies; 0: the first one.
func (j *Job) Load(concurrency int) {
	b := &j.Benchmark
	if j.dialect != DialectH {
		return
	}
	if len(b.Concurrencies) > 0 && concurrency == 0 {
		concurrency = b.Concurrencies[0]
	}
	for _, role := range j.Roles() {
		if p := j.phase(role); p != nil {
			p.ISL, p.OSL, p.Concurrency = b.ISL, b.OSL, concurrency
		}
	}
}

// quotes notes a time limit that Python's YAML parser reads as a number of seconds.
func (r jobRules) quotes() {
	if r.texts["slurm.time_limit"] != "" && !r.quoted["slurm.time_limit"] && sexagesimal.MatchString(r.j.Slurm.TimeLimit) {
		r.remark("slurm.time_limit", "slurm.time_limit: quote it, srtctl reads %s without quotes as a number", r.j.Slurm.TimeLimit)
	}
}

// modeToday returns the roles that the resources define. It reports what srtctl reports before it submits a job.
func (r jobRules) modeToday() []Role {
	if r.bad["resources"] {
		return nil
	}
	first := func(roles ...Role) (keys []string) {
		for _, role := range roles {
			for _, unit := range []string{"_nodes", "_workers"} {
				if k := role.short() + unit; r.given("resources." + k) {
					keys = append(keys, k)
				}
			}
		}
		return keys
	}
	apart, together := first(Prefill, Decode), first(Aggregated)
	roles := []Role{Prefill, Decode}
	switch {
	case len(apart) > 0 && len(together) > 0:
		r.problem("resources."+together[0], "Cannot specify both disaggregated and aggregated mode: found %s and %s", apart[0], together[0])
		return nil
	case len(apart) == 0 && len(together) == 0:
		r.problem("resources", "resources: give prefill_nodes, decode_nodes, prefill_workers and decode_workers, or agg_nodes and agg_workers")
		return nil
	case len(together) > 0:
		roles = []Role{Aggregated}
	}
	known := true
	for _, role := range roles {
		for _, unit := range []string{"_workers", "_nodes"} {
			at := "resources." + role.short() + unit
			n := r.j.Workers(role)
			if unit == "_nodes" {
				if n = r.j.Nodes(role); role != Aggregated {
					continue // nodes may be shared with the other role
				}
			}
			if n == 0 && !r.open[at] && !r.bad[at] {
				r.problem(at, "%s: want at least 1, got 0", at)
				known = false
			}
		}
	}
	if len(roles) == 2 && known && r.j.Resources.PrefillNodes+r.j.Resources.DecodeNodes == 0 && !r.open["resources.prefill_nodes"] && !r.open["resources.decode_nodes"] {
		r.problem("resources.prefill_nodes", "resources.prefill_nodes: want at least 1, got 0")
		known = false
	}
	if !known {
		return nil
	}
	return roles
}

// loadBeside gives all phases of a job of the dialect M the load that the section profiling has.
func (r jobRules) loadBeside(roles []Role) {
	p, l := &r.j.Profiling, &r.j.Today.Load
	r.warn("profiling", "the load beside profiling.type is the format of %s, which today's srtctl refuses; stepscope runs it", dates[DialectM])
	for _, role := range roles {
		at := map[Role]**Phase{Prefill: &p.Prefill, Decode: &p.Decode, Aggregated: &r.j.Today.Aggregated}[role]
		if *at == nil && l.StopStep > 0 {
			*at = &Phase{StartStep: l.StartStep, StopStep: l.StopStep}
		}
		if ph := *at; ph != nil {
			ph.ISL, ph.OSL, ph.Concurrency = l.ISL, l.OSL, l.Concurrency
		}
	}
}

// profiled checks the section profiling.
func (r jobRules) profiled(roles []Role) {
	j := r.j
	const at = "profiling.type"
	t := j.Profiling.Type
	if r.bad[at] || r.open[at] || t == None {
		return
	}
	if all := []string{None, Torch, Nsys, NsysTime}; !slices.Contains(all, t) {
		text := fmt.Sprintf("profiling.type: %q is none of none, torch, nsys and nsys-time", t)
		if like := suggest.Closest(t, all); like != "" {
			text += "; did you mean " + like + "?"
		}
		r.problem(at, "%s", text)
	}
	if j.Backend.Type == TRTLLM && t == Torch {
		r.problem(at, "torch profiling is not supported for the trtllm backend; use nsys instead")
	}
	if t == NsysTime {
		for _, k := range []string{"profiling.delay_secs", "profiling.duration_secs"} {
			if !r.given(k) {
				r.problem(k, "%s is missing: nsys-time needs delay_secs and duration_secs", k)
			}
		}
		return
	}
	r.phasesToday(roles)
	r.captures(t)
	if j.Backend.Type != VLLM {
		return
	}
	if t == Nsys {
		for role, flags := range j.Backend.Config {
			for _, f := range flags {
				if strings.HasPrefix(f.Key, "profiler-config") {
					k := "backend.vllm_config." + string(role)
					r.problem(k, "%s: leave %s out; it follows from profiling", k, f.Key)
				}
			}
		}
	}
	if t == Torch {
		r.warn(at, "srtctl captures nothing here: it never starts vLLM's torch profiler; stepscope does")
	} else if j.Today.Frontend == "vllm" {
		r.warn(at, "srtctl fails here after the model is loaded: its script cannot start a profile with frontend.type vllm; stepscope can")
	}
}

// phasesToday checks that the phases are those of the mode, and their steps.
func (r jobRules) phasesToday(roles []Role) {
	together := slices.Contains(roles, Aggregated)
	for _, role := range []Role{Prefill, Decode, Aggregated} {
		at := "profiling." + string(role)
		p := r.j.phase(role)
		if r.bad[at] || roles == nil {
			continue
		}
		wanted := slices.Contains(roles, role)
		switch {
		case p != nil && !wanted && together:
			r.problem(at, "%s: the workers are aggregated (agg_nodes); use profiling.aggregated. (profiling.decode recorded aggregated workers in the format of %s, whose phases have isl, osl and concurrency)", at, dates[DialectP])
		case p != nil && !wanted:
			r.problem(at, "%s: the job has prefill and decode workers; use profiling.prefill and profiling.decode", at)
		case p == nil && wanted && !(together && (r.j.Profiling.Decode != nil || r.j.Profiling.Prefill != nil)):
			r.problem(at, "%s is missing: profiling.type is %s, and the job has %s workers", at, r.j.Profiling.Type, role)
		}
		if p == nil {
			continue
		}
		start, stop := at+".start_step", at+".stop_step"
		if !r.bad[start] && !r.open[start] && !r.bad[stop] && !r.open[stop] && p.StopStep <= p.StartStep {
			r.problem(stop, "%s: want more than start_step %d, got %d", stop, p.StartStep, p.StopStep)
		} else if wanted && !r.given(start) && !r.given(stop) && r.j.Today.Load.StopStep == 0 {
			r.warn(at, "%s has no start_step and stop_step: 0 and %d are used", at, lastStep)
		}
		r.warmup(role, p)
	}
}

// warmup warns if srtctl's window lies in the warm-up of the first concurrency. srtctl counts steps from the start of
// the server. Each request of the warm-up takes at least as many steps as its answer has tokens.
func (r jobRules) warmup(role Role, p *Phase) {
	b, t := &r.j.Benchmark, &r.j.Today
	shortest := int(float64(b.OSL) * t.RangeRatio)
	if role == Prefill || b.Type != SABench || t.WarmupMult == 0 || len(b.Concurrencies) == 0 || p.StopStep > shortest {
		return
	}
	at := "profiling." + string(role)
	r.warn(at, "%s: with srtctl, steps %d to %d fall into the warm-up of concurrency %d; stepscope counts steps of the measured load", at, p.StartStep, p.StopStep, b.Concurrencies[0])
}

// captures reports a benchmark that does not start the profiler.
func (r jobRules) captures(kind string) {
	const at = "benchmark.type"
	b := &r.j.Benchmark
	if r.dialect == DialectM || r.bad[at] || r.open[at] || r.j.Backend.Type == TRTLLM {
		return
	}
	switch {
	case b.Type == SABench || b.Type == sglangBench:
		if len(b.Concurrencies) > 1 {
			r.warn("benchmark.concurrencies", "benchmark.concurrencies: only the first of %d is captured by srtctl; stepscope captures the one that --concurrency names", len(b.Concurrencies))
		}
	case b.Type != "trace-replay":
		r.problem(at, "nothing would be captured: profiling.type is %s, but benchmark.type is %s; want sa-bench or sglang-bench with isl, osl and concurrencies", kind, b.Type)
	}
}

// loads checks the section benchmark.
func (r jobRules) loads() {
	const at = "benchmark.type"
	if r.bad[at] || r.open[at] {
		return
	}
	t := r.j.Benchmark.Type
	if !slices.Contains(benchmarks, t) {
		text := fmt.Sprintf("benchmark.type: srtctl has no benchmark %q and would fail after the model is loaded", t)
		like, ok := strings.CutSuffix(t, "-bench")
		if !ok || !slices.Contains(benchmarks, like) {
			like = suggest.Closest(t, benchmarks)
		}
		if like != "" {
			text += "; did you mean " + like + "?"
		}
		r.warn(at, "%s", text)
		return
	}
	needs := map[string][]string{SABench: {"isl", "osl", "concurrencies"}, sglangBench: {"isl", "osl", "concurrencies"}, "trace-replay": {"trace_file", "concurrencies"}, "custom": {"command"}}[t]
	if t == SABench && r.j.Today.Dataset == "custom" {
		needs = needs[2:]
	}
	r.needs(t, needs...)
	const ratio = "benchmark.random_range_ratio"
	if v := r.j.Today.RangeRatio; r.sure(ratio) && !(v >= 0 && v <= 1) { // NaN is refused, too
		r.problem(ratio, "%s: want a number from 0 to 1, got %v", ratio, v)
	}
	if t == "router" && r.j.Today.Frontend != SGLang {
		r.warn(at, "benchmark.type: router needs frontend.type sglang, and would fail after the model is loaded")
	}
}

// frontend checks the rules of frontend types.
func (r jobRules) frontend(roles []Role) {
	j, at := r.j, "frontend.type"
	f := j.Today.Frontend
	if r.bad[at] || r.open[at] || roles == nil {
		return
	}
	alone := slices.Contains(roles, Aggregated)
	one := func(backend string) {
		if j.Backend.Type != backend && !r.open["backend.type"] {
			r.problem(at, "frontend.type %s needs backend.type %s, got %s", f, backend, j.Backend.Type)
		}
		if j.Today.Multiple && !r.open["frontend.enable_multiple_frontends"] {
			r.problem(at, "frontend.type %s needs frontend.enable_multiple_frontends: false", f)
		}
	}
	switch f {
	case "dynamo", SGLang:
	case VLLM:
		one(VLLM)
		if !alone || j.Workers(Aggregated) != 1 {
			r.problem(at, "frontend.type vllm needs exactly 1 aggregated worker")
		}
	case "trtllm_serve":
		if one(TRTLLM); alone && j.Workers(Aggregated) != 1 {
			r.problem(at, "frontend.type trtllm_serve needs exactly 1 worker if workers are aggregated")
		}
	default:
		r.warn(at, "frontend.type: srtctl has no frontend %q and would fail after its start; want dynamo, sglang, vllm or trtllm_serve", f)
	}
}

// cannot notes what job apply does not run.
func (r jobRules) cannot(roles []Role) {
	j := r.j
	add := func(at, text string) {
		j.Cannot = append(j.Cannot, text)
		r.remark(at, "stepscope job apply cannot run this: %s", text)
		r.notes[len(r.notes)-1].Class = cannotRun
	}
	if t := j.Backend.Type; t == TRTLLM || t == Mocker {
		add("backend.type", "backend.type "+t)
	}
	if t := j.Today.Frontend; t == "trtllm_serve" {
		add("frontend.type", "frontend.type "+t)
	}
	if t := j.Benchmark.Type; t != manual && t != SABench && t != sglangBench && !r.open["benchmark.type"] {
		add("benchmark.type", "benchmark.type "+t)
	}
	if j.Today.Dataset != "random" && j.Benchmark.Type == SABench {
		add("benchmark.dataset_name", "benchmark.dataset_name "+j.Today.Dataset)
	}
	if k := "backend.mooncake_kv_store"; r.given(k) {
		add(k, k)
	}
	if j.Backend.Type == VLLM && slices.Contains(roles, Prefill) {
		add("backend.type", "backend.type vllm with prefill and decode workers")
	}
	if j.Profiling.Type == NsysTime {
		add("profiling.type", "profiling.type "+NsysTime)
	}
}

// totalNodes returns the number of nodes of all roles.
func (j *Job) totalNodes() (n int) {
	for _, role := range j.Roles() {
		n += j.Nodes(role)
	}
	return n
}
