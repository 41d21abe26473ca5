package report

import (
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// How states how findings like f are found. docs/metrics.md has the exact rules.
func How(f *result.Finding) string {
	begin := f.Kind
	for _, id := range result.KindOf(f.Kind).IDs {
		if strings.HasPrefix(f.ID, id) && f.Kind != result.Data {
			begin = id
		}
	}
	return Words(fact.Of("how_" + begin))
}

// mostReplayError is the error of replayed steps above which it limits a gain.
const mostReplayError = 0.05

// Against returns sentences about what speaks against a finding of r, or limits what it shows.
func Against(r *result.Report, f *result.Finding) []string {
	out := []string{}
	say := func(is bool, f fact.Fact) {
		if is {
			out = append(out, capital(columns.Clean(Words(f))))
		}
	}
	w, rule := &f.Worth, result.KindOf(f.Kind)
	fault := rule.Class == result.Fault && f.Kind != result.Limits
	say(f.Profilers, fact.Of("against_profiler"))
	say(f.Passing, fact.Of("against_passing"))
	say(f.Turns, fact.Of("against_turns"))
	say(f.Starved, fact.Of("against_cores"))
	say(f.Kind == result.Straggler && f.P == 0 && !f.Plain, fact.Of("against_untested"))
	say(w.AtMost, fact.Of("against_bound"))
	say(w.Hidden, fact.Of("against_hidden"))
	say(w.Little(), fact.Of("against_little"))
	say(w.Known && !w.Sure() && !w.AtMost && !w.Hidden, fact.Of("against_few", "n", w.Steps))
	say(!r.Replay.Known && rule.Removal != result.RemoveNothing && Words(r.Replay.Why) != "", fact.Of("against_unknown", "why", r.Replay.Why))
	say(w.Known && r.Replay.OffP90 > mostReplayError, fact.Of("against_replay", "off", r.Replay.OffP90))
	say(fault && len(r.Source.Missing) > 0, fact.Of("against_missing", "ranks", r.Source.Missing))
	say(len(r.Source.Doubts) > 0, fact.Of("against_doubts"))
	say(fault && len(f.Ranks) > 0 && f.CostNSPerStep > 0 && r.Source.Within > f.CostNSPerStep, fact.Of("against_clocks", "within", r.Source.Within))
	say(!r.Source.Complete && len(r.Source.Missing) == 0 && len(r.Source.Ranks) > 0, fact.Of("against_incomplete"))
	return out
}
