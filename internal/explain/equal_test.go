package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/retime"
)

// TestEquallyLate has a real capture of four ranks many times over, so that every fourth rank is late. That is one
// finding, and its worth is that of mending all these ranks.
func TestEquallyLate(t *testing.T) {
	for _, c := range []struct {
		set   string
		ranks int
		late  int // 0: none
	}{
		{"compute_skew", 16, 4},
		{"compute_skew", 64, 16},
		{"graphs", 16, 0},
	} {
		t.Run(fmt.Sprint(c.set, " ", c.ranks), func(t *testing.T) {
			r := analyzed(t, retime.Wide(realSet(t, c.set), c.ranks))
			late := said(r, result.Straggler)
			if c.late == 0 {
				if len(late) > 0 {
					t.Errorf("got a late rank, want none%s", describe(r))
				}
				return
			}
			if len(late) != 1 || len(late[0].Ranks) != c.late || late[0].Severity == "low" {
				t.Fatalf("got %d findings, want one on %d ranks%s", len(late), c.late, describe(r))
			}
			title := report.Words(late[0].Title)
			for _, want := range []string{fmt.Sprintf("%d of %d ranks (TP02, TP06, ", c.late, c.ranks), "they run 201 kernels a step, the others 117", "fixing all of them: 43.3 → 41.5 ms"} {
				if !strings.Contains(title, want) {
					t.Errorf("title lacks %q: %s", want, title)
				}
			}
		})
	}
}

// TestFasterRank: if one rank is faster than all others from the beginning, it is called faster, and the others are not
// called late. If the others become slow later, they are late.
func TestFasterRank(t *testing.T) {
	for _, c := range []struct {
		from int
		says string
	}{
		{0, "TP00 is faster than the other 3 ranks"},
		{4, "3 of 4 ranks (TP01, TP02, TP03) are late from step 4 on"},
	} {
		r := analyzed(t, retimed(t, "graphs", slowed(1.3, c.from, 1, 2, 3)))
		late := said(r, result.Straggler)
		if len(late) != 1 || !strings.HasPrefix(report.Words(late[0].Title), c.says) {
			t.Errorf("slower from step %d: got no single finding that %s%s", c.from, c.says, describe(r))
		}
	}
}
