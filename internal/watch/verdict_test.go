package watch

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
)

// TestNext: a verdict ends with what to do; one that does not know why says nothing of it.
func TestNext(t *testing.T) {
	for _, c := range []struct {
		v    Verdict
		says string
	}{
		{Verdict{Kind: MoreWork, Rank: "DP01"}, "spread requests by tokens"},
		{Verdict{Kind: Slower, Rank: "DP01", Cause: result.CauseDevice}, "on the host of DP01: nvidia-smi -q"},
		{Verdict{Kind: Slower, Rank: "DP01", Cause: result.CauseDevice, Replica: &result.Replica{Held: &result.Held{Kernels: 9}}}, "on the host of DP01: nvidia-smi pmon"},
		{Verdict{Kind: Slower, Rank: "DP01", Cause: result.CauseHost}, "see what else runs on the cores of DP01"},
		{Verdict{Kind: Overload}, "more replicas"},
		{Verdict{Kind: Unclear}, ""},
	} {
		c.v.next()
		says := strings.Join(c.v.Next, "; ")
		if c.says == "" && says != "" || !strings.Contains(says, c.says) {
			t.Errorf("%s of %s: %q", c.v.Kind, c.v.Cause, says)
		}
		if lines := strings.Join(c.v.lines("dir"), "\n"); says != "" && !strings.Contains(lines, "→ "+c.v.Next[0]) {
			t.Errorf("not printed: %s", lines)
		}
	}
}
