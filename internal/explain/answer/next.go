package answer

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// next sets the guide of a finding, and adds recommended actions to those that its rule has already set.
func next(rep *result.Report, f *result.Finding) {
	kind := result.KindOf(f.Kind)
	f.Guide = kind.Guide
	todo := kind.Next
	switch {
	case advice[f.Kind] != nil:
		f.Next = append(f.Next, advice[f.Kind](rep, f)...)
	case todo.Get("step") != nil:
		f.Next = append(f.Next, todo.With("step", f.FirstStep))
	case todo.Key != "":
		f.Next = append(f.Next, todo)
	}
	if f.ID == "data-missing" && ofTensorRT(rep) {
		f.Next = append(f.Next, fact.Of("next_missing_tensorrt"))
	}
	if f.Kind == result.Straggler && f.Cause == result.CauseWork && (f.Reason != "" || given(f)) && !f.Starved && !f.Still {
		f.Guide = result.KindOf(result.UnevenAttention).Guide
	}
}

// advice returns the recommended actions for kinds whose actions depend on the finding.
var advice = map[string]func(*result.Report, *result.Finding) []fact.Fact{
	result.Straggler:   func(rep *result.Report, f *result.Finding) []fact.Fact { return Late(f, rep.Recording.Stacks) },
	result.HostBound:   hostBound,
	result.LaunchBound: launchBound,
	result.CommBound:   commBound,
}

func hostBound(rep *result.Report, f *result.Finding) (todo []fact.Fact) {
	launches, graphs, batch, kind := launched(rep, f)
	switch {
	case launches == 0:
	case rep.Uncut():
		todo = append(todo, fact.Of("next_steady"))
	case graphs > 0:
		todo = append(todo, fact.Of("next_between_graphs", "kind", rep.Said(kind)))
	case kind == "prefill":
		todo = append(todo, fact.Of("next_prefill"))
	case rep.CPU.Launch.GraphCalls > 0:
		todo = append(todo, fact.Of("next_larger_graphs", "kind", rep.Said(kind), "batch", batch))
	default:
		todo = append(todo, toGraphs(rep))
	}
	if f.Profilers {
		todo = append(todo, fact.Of("next_lean"))
	}
	return todo
}

func launchBound(rep *result.Report, _ *result.Finding) []fact.Fact {
	if rep.Uncut() {
		return nil
	}
	return []fact.Fact{toGraphs(rep)}
}

func commBound(rep *result.Report, f *result.Finding) []fact.Fact {
	if len(f.Ranks) > 0 {
		return nil
	}
	return []fact.Fact{suits(rep, fact.Of("next_communication"), fact.Of("next_communication_any"))}
}

// forDevices replaces the advice that applies only to GPUs if the report is about software devices.
func forDevices(rep *result.Report, f *result.Finding) {
	if !rep.Source.Software {
		return
	}
	for i, todo := range f.Next {
		switch todo.Key {
		case "next_device", "next_shared":
			f.Next[i] = fact.Of("next_device_soft", "rank", todo.Get("rank"))
		case "next_link", "next_links":
			f.Next[i] = fact.Of("next_link_soft")
		case "next_since":
			f.Next[i] = fact.Of("next_since_soft", "step", todo.Get("step"))
		}
	}
}

// suits returns the advice with server flags. If no step has a name of a server, it returns the advice for any program.
func suits(rep *result.Report, server, program fact.Fact) fact.Fact {
	if rep.Said("other") == "" {
		return program
	}
	return server
}

// toGraphs returns the advice to replay CUDA graphs, with the flags of the server whose steps these are.
func toGraphs(rep *result.Report) fact.Fact {
	if ofTensorRT(rep) {
		return fact.Of("next_graphs_tensorrt")
	}
	return suits(rep, fact.Of("next_graphs"), fact.Of("next_graphs_any"))
}

// ofTensorRT reports whether the steps are TensorRT-LLM's: no other server's steps have these modes.
func ofTensorRT(rep *result.Report) bool {
	return slices.ContainsFunc(rep.Steps, func(s result.Step) bool {
		return s.Mode == "context" || s.Mode == "generation" || s.Mode == "context+generation"
	})
}

// given reports whether a rank was given more requests, more tokens or longer contexts than others.
func given(f *result.Finding) bool {
	return slices.ContainsFunc(f.Evidence, func(e result.Evidence) bool { return e.Text.Key == "input" && e.Value > e.Peers })
}

// Late returns the recommended actions for a late rank, according to the cause, reason and names in f. stacks means
// that the window has Python stacks.
func Late(f *result.Finding, stacks bool) []fact.Fact {
	rank := strings.Join(f.Names, ", ")
	if len(f.Names) > 4 {
		rank = "these ranks"
	}
	switch {
	case f.Starved:
		return []fact.Fact{fact.Of("next_cores")}
	case f.Still:
		return []fact.Fact{fact.Of("next_still")}
	case f.Cause == result.CauseWork && f.Reason == result.Experts:
		return []fact.Fact{fact.Of("next_experts")}
	case f.Cause == result.CauseWork && (f.Reason != "" || given(f)):
		return []fact.Fact{fact.Of("next_spread")}
	case f.Cause == result.CauseWork:
		return []fact.Fact{fact.Of("next_work", "rank", rank)}
	case f.Cause == result.CauseDevice && f.Reason == result.ReasonShared:
		return []fact.Fact{fact.Of("next_shared", "rank", rank)}
	case f.Cause == result.CauseDevice && f.Reason == result.ReasonConfiguration:
		return []fact.Fact{fact.Of("next_configuration")}
	case f.Cause == result.CauseDevice && f.Reason == result.ReasonClock:
		return []fact.Fact{fact.Of("next_clock", "rank", rank)}
	case f.Cause == result.CauseDevice:
		return []fact.Fact{fact.Of("next_device", "rank", rank)}
	case f.Cause == result.CauseHost:
		todo := []fact.Fact{fact.Of("next_hosts")}
		if len(f.Names) == 1 {
			todo[0] = fact.Of("next_host", "rank", rank)
		}
		if !stacks {
			todo = append(todo, fact.Of("next_stacks"))
		}
		return todo
	case f.Cause == result.CauseCommunication:
		return []fact.Fact{fact.Of("next_link", "rank", rank)}
	case f.Cause == result.CauseUnknown:
		return []fact.Fact{fact.Of("next_launches")}
	}
	return nil
}

// Uneven returns the recommended actions for a rank that has more requests than others.
func Uneven(rank string) []fact.Fact { return []fact.Fact{fact.Of("next_routing", "rank", rank)} }

// Overload returns the recommended actions for a server at its capacity.
func Overload() []fact.Fact { return []fact.Fact{fact.Of("next_overload")} }

// launched returns, for the steps of a finding, the number of launches, the number of graph launches among them, the
// largest batch, and the kind.
func launched(rep *result.Report, f *result.Finding) (launches, graphs, batch int, kind string) {
	of := map[int]bool{}
	for _, n := range f.Steps {
		of[n] = true
	}
	for i := range rep.Steps {
		s := &rep.Steps[i]
		if !of[s.Step] {
			continue
		}
		kind, batch = s.Kind, max(batch, s.Batch)
		for j := range s.Ranks {
			launches, graphs = launches+s.Ranks[j].Launches, graphs+s.Ranks[j].Graphs
		}
	}
	return launches, graphs, batch, kind
}
