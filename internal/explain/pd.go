package explain

import (
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// PrefillDecode explains the windows of prefill and decode servers of one system,
// recorded at about the same time. It wants one at least with steps, and one of the
// other side that has some or can be seen to have had none to do.
func PrefillDecode(prefill, decode []*Server) (*PD, error) {
	sides := usable(prefill, decode)
	ps, ds := sides[0], sides[1]
	pd := &PD{Prefill: sideOf(ps, trace.Decode), Decode: sideOf(ds, trace.Prefill)}
	for _, s := range []struct {
		role string
		side *PDSide
	}{{"prefill", &pd.Prefill}, {"decode", &pd.Decode}} {
		if !slices.ContainsFunc(s.side.Servers, func(s PDServer) bool { return s.Ranks > 0 }) {
			return nil, fmt.Errorf("the %s servers' traces name no forward steps", s.role)
		}
	}
	addQueues(pd, ps, ds)
	pd.Transfer = transfers(ps, ds)
	var limit Finding
	pd.Limit, limit = limits(pd)
	pd.Findings, pd.Notes = []Finding{limit}, caveats(pd)
	NoNil(pd)
	return pd, nil
}
