package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/job/spec"
)

// Explain returns what job apply would do with a file, in about ten lines.
func Explain(path string, f *spec.File) (lines []string) {
	j := f.Variants[0].Job
	p := NewPlan(j, "stepscope", false)
	add := func(name, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("%-9s", name+":")+fmt.Sprintf(format, args...))
	}
	format := "the format of srtctl"
	if d := cmp.Or(f.Dialect, j.Dialect()); d != "" {
		format += fmt.Sprintf(" of %s (dialect %s)", d.Since(), d)
	}
	add("job", "%s, in %s", j.Name, format)
	if n := len(f.Variants); n > 1 {
		add("jobs", "%d, of which this is the first; the last is %s", n, f.Variants[n-1].Job.Name)
	}
	add("model", "%s (%s), container %s", j.Model.Path, j.Model.Precision, cmp.Or(j.Model.Container, "none"))
	add("nodes", "%d with %d GPUs each (%s), time limit %s", p.Nodes, j.Resources.GPUsPerNode, j.Resources.GPUType, cmp.Or(j.Slurm.TimeLimit, "of the cluster"))
	var workers []string
	for _, role := range j.Roles() {
		gpus := j.GPUs(role)
		if !today(j) && j.Workers(role) > 0 {
			gpus = j.Nodes(role) / j.Workers(role) * j.Resources.GPUsPerNode
		}
		workers = append(workers, fmt.Sprintf("%d %s × %d GPUs", j.Workers(role), role, gpus))
	}
	add("workers", "%s", strings.Join(workers, ", "))
	if len(p.Workers) > 0 && len(j.Cannot) == 0 {
		w := &p.Workers[0]
		add("server", "%s", strings.Join(p.Server(w, 0, "/logs", "$HOST_IP_MACHINE", "NODE").Args, " "))
	}
	if replaced := p.Replaced(); len(replaced) > 0 {
		add("differs", "%s", strings.Join(replaced, "; "))
	}
	for _, l := range p.Loads() {
		ph := &l.phases[0]
		windows := fmt.Sprintf("steps %d to %d of this load", ph.StartStep, ph.StopStep)
		if p.Router > 0 {
			windows = l.windows() + " during this load"
		}
		add("load", "%s: %d prompts of %d tokens, answers of %d, %d at a time, after %d warm-up requests; %s records %s",
			l.name, l.prompts(), ph.ISL, ph.OSL, ph.Concurrency, warmups(j, ph), j.Profiling.Type, windows)
	}
	if i := slices.IndexFunc(f.Notes, func(n spec.Note) bool { return n.Class == "ignored" }); i >= 0 {
		add("ignored", "%s", strings.TrimPrefix(f.Notes[i].Text, "ignored here: "))
	}
	switch misfit := f.Variants[0].Misfit; {
	case misfit != "":
		add("refused", "%s", misfit)
	case len(NotRun(j)) > 0:
		add("refused", "job apply does not run %s", strings.Join(NotRun(j), ", "))
	default:
		add("run", "stepscope job apply %s", path)
	}
	return lines
}
