package explain

import (
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/judge"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/tables"
	"github.com/stepscope/stepscope/trace"
)

// PrefillDecode explains windows of the prefill and decode servers of one system, recorded at about the same time. At
// least one server must have steps. The side without that server must have a server that has steps or was provably
// idle.
func PrefillDecode(prefill, decode []*Server) (*result.PD, error) {
	sides := tables.Usable(prefill, decode)
	ps, ds := sides[0], sides[1]
	pd := &result.PD{Prefill: tables.Side(ps, trace.Decode), Decode: tables.Side(ds, trace.Prefill)}
	for _, s := range []struct {
		role string
		side *result.PDSide
	}{{"prefill", &pd.Prefill}, {"decode", &pd.Decode}} {
		if !slices.ContainsFunc(s.side.Servers, func(s result.PDServer) bool { return s.Ranks > 0 }) {
			return nil, fmt.Errorf("the %s servers' traces name no forward steps", s.role)
		}
	}
	tables.AddQueues(pd, ps, ds)
	pd.Transfer = tables.Transfers(ps, ds)
	var limit result.Finding
	pd.Limit, limit = judge.Limits(pd)
	pd.Findings, pd.Notes = []result.Finding{limit}, judge.Caveats(pd)
	result.NoNil(pd)
	return pd, nil
}
