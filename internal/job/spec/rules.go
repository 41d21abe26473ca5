package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// jobRules checks rules that involve several values of a job. If srtctl has a message for the same problem, stepscope's
// message begins with the text of srtctl's message, because users search for srtctl's messages.
type jobRules struct {
	*reader[Job]
	j *Job
}

func (r jobRules) check() {
	if r.today() {
		r.checkToday()
		return
	}
	r.values()
	roles := r.mode()
	r.recording(roles)
	r.phases(roles)
	r.sections(roles)
	r.benchmark()
	if roles != nil && r.sure("resources.gpus_per_node") {
		r.problems = append(r.problems, r.j.misfits(&r.origin, r.sure)...)
	}
	if r.j.Backend.GPUType == "" {
		r.j.Backend.GPUType = r.j.Resources.GPUType + "-" + r.j.Model.Precision
	}
}

// timeLimit matches a Slurm time limit: minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS.
var timeLimit = regexp.MustCompile(`^(\d+(:\d+){0,2}|\d+-\d+(:\d+){0,2}|UNLIMITED|INFINITE)$`)

// sexagesimal matches texts that YAML 1.1 reads as numbers to the base 60.
var sexagesimal = regexp.MustCompile(`^[1-9]\d*(:[0-5]?\d)+$`)

func (r jobRules) values() {
	if limit := r.j.Slurm.TimeLimit; r.sure("slurm.time_limit") && !timeLimit.MatchString(strings.ToUpper(limit)) {
		r.problem("slurm.time_limit", "slurm.time_limit: %q is not a time limit: want HH:MM:SS, D-HH:MM:SS or minutes", shortened(limit))
	}
	if r.j.Resources.GPUType == noGPU && r.j.Backend.Type != StepScope && !r.open["backend.type"] {
		r.problem("resources.gpu_type", "resources.gpu_type: %s is only for backend.type %s", noGPU, StepScope)
	}
}

// mode returns the roles that the resources define, and reports missing keys.
func (r jobRules) mode() []Role {
	if r.bad["resources"] {
		return nil
	}
	keys := func(roles ...Role) (all []string) {
		for _, unit := range []string{"_nodes", "_workers"} {
			for _, role := range roles {
				all = append(all, role.short()+unit)
			}
		}
		return all
	}
	first := func(keys []string) string {
		i := slices.IndexFunc(keys, func(k string) bool { return r.given("resources." + k) })
		if i < 0 {
			return ""
		}
		return keys[i]
	}
	apart, together := keys(Prefill, Decode), keys(Aggregated)
	a, b := first(apart), first(together)
	wanted, roles := apart, []Role{Prefill, Decode}
	switch {
	case a != "" && b != "":
		r.problem("resources."+b, "Cannot specify both disaggregated and aggregated mode: found %s and %s", a, b)
		return nil
	case a == "" && b == "":
		r.problem("resources", "resources: give %s, or %s", list(apart), list(together))
		return nil
	case b != "":
		wanted, roles = together, []Role{Aggregated}
	}
	for _, k := range wanted {
		at := "resources." + k
		switch {
		case r.given(at):
			if strings.HasSuffix(k, "_workers") && r.sure(at) && !r.j.Recorded() && r.workers(at) == 0 {
				r.problem(at, "%s: want at least 1, got 0", at)
			}
		case r.j.Recorded() && strings.HasSuffix(k, "_workers"):
			r.problem(at, "Profiling mode requires single worker only. Got no %s: %s is missing", k, at)
		default:
			r.problem(at, "%s is missing", at)
		}
	}
	return roles
}

func (r jobRules) workers(key string) int {
	for _, role := range []Role{Prefill, Decode, Aggregated} {
		if key == "resources."+role.short()+"_workers" {
			return r.j.Workers(role)
		}
	}
	return 0
}

// recording reports settings that cannot be combined with profiling.
func (r jobRules) recording(roles []Role) {
	if !r.j.Recorded() {
		return
	}
	if t := r.j.Benchmark.Type; t != manual {
		r.problem("benchmark.type", "Cannot enable profiling with benchmark type '%s'. Profiling mode is mutually exclusive with benchmarking.", t)
	}
	for _, role := range roles {
		k := role.short() + "_workers"
		if n := r.j.Workers(role); r.sure("resources."+k) && n != 1 {
			r.problem("resources."+k, "Profiling mode requires single worker only. Got %s=%d", k, n)
		}
	}
	if r.j.EnableConfigDump {
		r.j.EnableConfigDump = false
		at := "enable_config_dump"
		if !r.given(at) {
			at = "profiling.type"
		}
		r.remark(at, "enable_config_dump is false: profiling.type is %s", r.j.Profiling.Type)
	}
}

// phases checks the recorded phase of each role.
func (r jobRules) phases(roles []Role) {
	for _, role := range []Role{Prefill, Decode} {
		p := r.j.Profiling.Prefill
		if role == Decode {
			p = r.j.Profiling.Decode
		}
		at := "profiling." + string(role)
		if p == nil || r.bad[at] {
			continue
		}
		start, stop := at+".start_step", at+".stop_step"
		if !r.bad[start] && !r.open[start] && !r.bad[stop] && !r.open[stop] && p.StopStep <= p.StartStep {
			key := stop
			if !r.given(stop) {
				key = start
			}
			r.problem(key, "%s: want more than start_step %d, got %d", stop, p.StartStep, p.StopStep)
		}
		switch {
		case !r.sure("profiling.type"):
		case !r.j.Recorded():
			r.remark(at, "%s is not used: profiling.type is %s", at, None)
		case slices.Contains(roles, Aggregated) && role == Prefill:
			r.remark(at, "%s is not used: aggregated workers are recorded by profiling.decode", at)
		}
	}
	if !r.j.Recorded() || roles == nil || r.bad["profiling.prefill"] || r.bad["profiling.decode"] {
		return
	}
	want := []string{"profiling.prefill", "profiling.decode"}
	for _, role := range roles {
		if r.j.Phase(role) != nil {
			return
		}
		if role == Aggregated {
			want = want[1:]
		}
	}
	r.problem("profiling.type", "profiling.type is %s, but no phase would run: give %s", r.j.Profiling.Type, strings.Join(want, " or "))
}

// sections checks that sglang_config has a section for each role of the job and no section for any other role.
func (r jobRules) sections(roles []Role) {
	const at = "backend.sglang_config"
	if roles == nil || r.bad["backend"] || r.bad[at] {
		return
	}
	has := func(role Role) bool { return r.given(at + "." + string(role)) }
	python := func(b bool) string { return strings.ToUpper(fmt.Sprint(b)[:1]) + fmt.Sprint(b)[1:] }
	if slices.Contains(roles, Aggregated) {
		switch {
		case has(Decode):
			r.problem(at+".decode", "Cannot use decode sglang_config section with aggregated resources (agg_nodes/agg_workers). "+
				"Use disaggregated resources (prefill_nodes/decode_nodes) or use aggregated section in sglang_config.")
		case !has(Aggregated):
			r.problem(at, "Aggregated mode (agg_nodes/agg_workers) requires an aggregated section in sglang_config.")
		case has(Prefill):
			r.remark(at+".prefill", "%s.prefill is not used: the job has aggregated workers", at)
		}
	} else {
		if !has(Prefill) || !has(Decode) {
			r.problem(at, "Disaggregated mode (prefill_nodes/decode_nodes) requires prefill and decode sections in sglang_config. "+
				"Found: prefill=%s, decode=%s", python(has(Prefill)), python(has(Decode)))
		}
		if has(Aggregated) {
			r.problem(at+".aggregated", "Cannot use aggregated sglang_config section with disaggregated resources. "+
				"Use prefill and decode sections instead, or switch to agg_nodes/agg_workers.")
		}
	}
	for _, role := range []Role{Prefill, Decode, Aggregated} {
		if key := "backend." + string(role) + "_environment"; r.given(key) && !slices.Contains(roles, role) {
			r.remark(key, "%s is not used: the job has no %s workers", key, role)
		}
	}
}

// benchmark checks the load of a job that does not profile.
func (r jobRules) benchmark() {
	if r.j.Benchmark.Type == SABench && !r.j.Recorded() {
		r.needs(SABench, "isl", "osl", "concurrencies")
	}
}

// needs reports the keys that a benchmark needs but the file lacks.
func (r jobRules) needs(benchmark string, keys ...string) {
	for _, k := range keys {
		switch at := "benchmark." + k; {
		case r.bad[at]:
		case !r.given(at):
			r.problem(at, "%s is missing: %s needs %s", at, benchmark, list(keys))
		case k == "concurrencies" && !r.open[at] && len(r.j.Benchmark.Concurrencies) == 0:
			r.problem(at, "%s is an empty list: %s needs at least one number", at, benchmark)
		}
	}
}
