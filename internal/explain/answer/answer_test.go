package answer

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

const ms = 1_000_000

// late returns a late rank with this cost and worth per step of 10 ms.
func late(id, severity string, cost, worth int64) result.Finding {
	return result.Finding{
		ID: id, Kind: result.Straggler, Cause: result.CauseDevice, Severity: severity, Names: []string{"TP01"}, FirstStep: 4, LastStep: 13, CostNSPerStep: cost,
		Title: fact.Of("straggler", "rank", "TP01", "when", fact.Of("late_since", "first", 4), "why", fact.Of("late_device"), "cost", fact.Of("late_cost")),
		Worth: result.Worth{Known: true, Kind: "decode", Steps: 10, Step: 10 * ms, Without: 10*ms - worth, Low: 9*ms - worth, High: 10*ms - worth/2},
	}
}

func bounded(id, severity string, cost int64) result.Finding {
	return result.Finding{ID: id, Kind: result.HostBound, Severity: severity, FirstStep: -1, LastStep: -1, CostNSPerStep: cost, Title: fact.Of("host_bound")}
}

func with(f ...result.Finding) *result.Report {
	r := &result.Report{Findings: f}
	for i := range 20 {
		r.Steps = append(r.Steps, result.Step{Step: i})
	}
	return r
}

func TestOrderAndSeverity(t *testing.T) {
	unsure := late("unsure", "high", 6*ms, ms/2)
	unsure.Worth.High = 10 * ms
	hidden := late("hidden", "high", 6*ms, 0)
	hidden.Worth.High, hidden.Worth.Last = 10*ms, 2*ms
	few := late("few", "high", 6*ms, 0)
	few.Worth.Steps = 5
	small := late("small", "high", 6*ms, ms/50)
	small.Worth.Steps, small.Worth.Low, small.Worth.Last = 5, small.Worth.Step-small.Worth.Step/200, ms/50
	wide := small
	wide.ID, wide.Worth.Low = "wide", small.Worth.Step/2
	unknown := late("unknown", "medium", 6*ms, 0)
	unknown.Worth = result.Worth{}
	for _, c := range []struct {
		name string
		rep  *result.Report
		want string
	}{
		{"a fault comes before a bound of its severity", with(bounded("hosts", "high", 9*ms), late("a", "high", 2*ms, ms)), "high a, high hosts"},
		{"a late rank comes before a bound of higher severity", with(late("a", "medium", 2*ms, ms), bounded("hosts", "high", 9*ms)), "medium a, high hosts"},
		{"a late rank worth nothing comes after a bound", with(late("a", "medium", 2*ms, ms/20), bounded("hosts", "high", 9*ms)), "high hosts, low a"},
		{"findings are ordered by worth, not by cost", with(late("a", "high", 5*ms, ms/2), late("b", "high", 2*ms, ms)), "high b, high a"},
		{"worth little", with(late("a", "high", 6*ms, ms/5), late("b", "high", 6*ms, ms/20)), "medium a, low b"},
		{"worth possibly zero", with(unsure), "low unsure"},
		{"worth zero while other ranks hide it", with(hidden), "high hidden"},
		{"a worth nothing in a few steps", with(few), "low few"},
		{"a few steps with a small upper bound", with(small), "low small"},
		{"a few steps with a large upper bound", with(wide), "high wide"},
		{"an unknown worth changes nothing", with(unknown), "medium unknown"},
		{"worth raises severity", with(tested(late("a", "low", 6*ms, ms))), "medium a"},
		{"worth does not raise the severity of an untested finding", with(late("a", "low", 6*ms, 5*ms)), "low a"},
		{"worth does not raise the severity of a possible profiler effect", with(profiled(tested(late("a", "low", 6*ms, 5*ms)))), "low a"},
		{"ranks late in turns", with(inTurns(late("a", "medium", 6*ms, 4*ms/10))), "low a"},
	} {
		Of(c.rep)
		var got []string
		for _, f := range c.rep.Findings {
			got = append(got, f.Severity+" "+f.ID)
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: got order %q, want %q", c.name, s, c.want)
		}
	}
}

func tested(f result.Finding) result.Finding { f.P = 0.01; return f }
func profiled(f result.Finding) result.Finding {
	f.Profilers, f.Title = true, fact.Of("profilers", "what", f.Title, "why", fact.Of("profilers_stacks"))
	return f
}
func inTurns(f result.Finding) result.Finding { f.Turns = true; return f }

func TestVerdict(t *testing.T) {
	doubted := late("a", "high", 2*ms, ms)
	doubted.Profilers, doubted.Title = true, fact.Of("profilers", "what", doubted.Title, "why", fact.Of("profilers_stacks"))
	balanced := result.Finding{Kind: result.Balanced, Severity: "info", Title: fact.Of("balanced")}
	lost := result.Finding{Kind: result.Data, ID: "data-lost-tp01", Severity: "low", Names: []string{"TP01"}, Title: fact.Of("data-lost.steps")}
	stalls := result.Finding{Kind: result.SlowStep, ID: "slow_step-3", Severity: "medium", FirstStep: 3, LastStep: 7, Steps: []int{3, 7}, CostNSPerStep: 9 * ms, Title: fact.Of("slow_steps")}
	rare := stalls
	rare.Severity = "low"
	for _, c := range []struct {
		name string
		rep  *result.Report
		want []string // substrings, in order
	}{
		{"a late rank with its worth", with(late("a", "high", 2*ms, ms)), []string{"verdict_late rank=TP01", "late_since", "late_device", "verdict_worth", "without=9000000"}},
		{"a late rank and a bound", with(bounded("h", "high", 9*ms), late("a", "high", 2*ms, ms)), []string{"verdict_both one=verdict_late", "host_bound"}},
		{"a late rank before a bound of higher severity", with(bounded("h", "high", 9*ms), late("a", "medium", 2*ms, ms)), []string{"verdict_both", "verdict_late", "host_bound"}},
		{"a late rank with a doubt", with(doubted), []string{"verdict_late rank=TP01", "verdict_doubt", "profilers_stacks"}},
		{"only small findings", with(late("a", "low", ms, ms/20), balanced), []string{"verdict_small", "straggler rank=TP01"}},
		{"a loss limits small findings", with(late("a", "low", ms, ms/20), lost), []string{"verdict_lost_first what=verdict_small"}},
		{"a loss does not limit a late rank", with(late("a", "high", 2*ms, ms), lost), []string{"verdict_lost what=verdict_late"}},
		{"stalls", with(stalls, balanced), []string{"verdict_one what=slow_steps"}},
		{"a late rank and stalls", with(late("a", "high", 2*ms, ms), stalls), []string{"verdict_both one=verdict_late", "other=verdict_one what=slow_steps"}},
		{"a late rank and a short stall", with(late("a", "high", 2*ms, ms), rare), []string{"verdict_late rank=TP01"}},
		{"no rank is late", with(balanced), []string{"balanced"}},
		{"no findings", with(), []string{"verdict_nothing"}},
	} {
		Of(c.rep)
		got := c.rep.Verdict.String()
		for _, part := range c.want {
			_, rest, ok := strings.Cut(got, part)
			if !ok {
				t.Errorf("%s: got verdict %s, want %q in it", c.name, c.rep.Verdict, part)
			}
			got = rest
		}
	}
}

func TestNext(t *testing.T) {
	hosts := func(kind string, launches, graphs int) *result.Report {
		f := bounded("h", "high", ms)
		f.Steps = []int{0}
		r := with(f)
		r.Steps[0] = result.Step{Kind: kind, Batch: 48, Ranks: []result.StepRank{{Launches: launches, Graphs: graphs}}}
		r.CPU.Launch = result.Launch{Calls: 100, GraphCalls: graphs}
		return r
	}
	beside := hosts("decode", 90, 0)
	beside.CPU.Launch.GraphCalls = 5
	routed := late("a", "high", 2*ms, ms)
	routed.Cause, routed.Evidence = result.CauseWork, []result.Evidence{{Text: fact.Of("input"), Value: 40, Peers: 20}}
	alone := late("a", "high", 2*ms, ms)
	alone.Cause, alone.Evidence = result.CauseWork, []result.Evidence{{Text: fact.Of("input"), Value: 10, Peers: 20}}
	popular := late("a", "high", 2*ms, ms)
	popular.Cause, popular.Reason = result.CauseWork, result.Experts
	missing := func(mode string) *result.Report {
		r := with(result.Finding{Kind: result.Data, ID: "data-missing", Severity: "medium"})
		r.Steps[0].Mode = mode
		return r
	}
	cold := result.Finding{Kind: result.ColdStart, Severity: "high", Next: []fact.Fact{fact.Of("warm_triton")}}
	for _, c := range []struct {
		name  string
		rep   *result.Report
		want  []string
		guide string
	}{
		{"popular experts", with(popular), []string{"next_experts"}, "moe-and-dp"},
		{"uneven attention", with(result.Finding{Kind: result.UnevenAttention, Severity: "low"}), []string{"next_spread"}, "moe-and-dp"},
		{"no graphs in any step", hosts("decode", 90, 0), []string{"next_graphs"}, "host-bound"},
		{"graphs already", hosts("decode", 90, 3), []string{"next_between_graphs kind=decode"}, "host-bound"},
		{"graphs in other steps", beside, []string{"next_larger_graphs kind=decode batch=48"}, "host-bound"},
		{"ranks of TensorRT-LLM are missing", missing("generation"), []string{"next_missing_tensorrt"}, ""},
		{"ranks of another server are missing", missing("decode"), nil, ""},
		{"prefill", hosts("prefill", 90, 0), []string{"next_prefill"}, "host-bound"},
		{"no launches recorded", hosts("decode", 0, 0), nil, "host-bound"},
		{"a slower device", with(late("a", "high", 2*ms, ms)), []string{"next_device rank=TP01"}, "late-rank"},
		{"more requests than other ranks", with(routed), []string{"next_spread"}, "moe-and-dp"},
		{"fewer requests but more kernels", with(alone), []string{"next_work rank=TP01"}, "late-rank"},
		{"advice of the rule itself", with(cold), []string{"warm_triton"}, "slow-steps"},
	} {
		Of(c.rep)
		var got []string
		for _, todo := range c.rep.Findings[0].Next {
			got = append(got, todo.String())
		}
		if f := c.rep.Findings[0]; !slices.Equal(got, c.want) || f.Guide != c.guide {
			t.Errorf("%s: got advice %v, guide %s; want %v, guide %s", c.name, got, f.Guide, c.want, c.guide)
		}
	}
	twice := with(late("a", "high", 2*ms, ms), late("b", "medium", ms, ms))
	if Of(twice); len(twice.Findings[0].Next) != 1 || len(twice.Findings[1].Next) != 0 {
		t.Errorf("two findings with the same cause: got advice %v and %v, want it on the first only", twice.Findings[0].Next, twice.Findings[1].Next)
	}
}

// TestAdvice: the advice for a kind comes from one place only.
func TestAdvice(t *testing.T) {
	for name := range advice {
		if k := result.KindOf(name); k.Name == "" || k.Next.Key != "" {
			t.Errorf("%s has advice of its own and the entry %+v in the table of kinds", name, k)
		}
	}
}
