package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
)

// TestOverview: findings have a place in time, parts sum up to totals, and no list is null.
func TestOverview(t *testing.T) {
	for name, r := range samples() {
		t.Run(name, func(t *testing.T) {
			r := Plain(r)
			o := NewOverview(r)
			text, err := json.Marshal(o)
			if err != nil || strings.Contains(strings.ReplaceAll(string(text), `"at":null`, ""), ":null") {
				t.Fatalf("%v %s", err, text)
			}
			if len(o.Findings) != len(r.Findings) {
				t.Errorf("%d findings of %d", len(o.Findings), len(r.Findings))
			}
			for i, f := range o.Findings {
				is := r.Findings[i].FirstStep >= 0 && len(r.Steps) > 0
				if (f.At != nil) != is || is && (f.At.Step != r.Findings[i].FirstStep || f.At.From >= f.At.To) {
					t.Errorf("%s is at %+v", f.ID, f.At)
				}
			}
			for _, row := range o.Times {
				sum := int64(0)
				for _, p := range row.Parts {
					sum += p
				}
				if sum != row.Total || len(row.Parts) != len(o.Parts) {
					t.Errorf("rank %d, %s: %d of %d ns, %d parts of %d", row.Rank, row.Kind, sum, row.Total, len(row.Parts), len(o.Parts))
				}
			}
		})
	}
}

// TestPlaceOfReplicas: a step of a rank is shown when that rank makes it, however much later a replica has one of the same number.
func TestPlaceOfReplicas(t *testing.T) {
	r := &result.Report{Steps: []result.Step{{Step: 4, Ranks: []result.StepRank{
		{Rank: 0, Start: 100, Period: 50}, {Rank: 1, Start: 110, Period: 60}, {Rank: 2, Start: 9000, Period: 50}, {Rank: 3, Start: 9040, Period: 50},
	}}}}
	for _, c := range []struct {
		rank     int
		from, to int64
	}{{0, 93, 177}, {2, 8991, 9099}} {
		if p := placeOf(r, 4, c.rank); p == nil || p.From != c.from || p.To != c.to {
			t.Errorf("rank %d: %+v", c.rank, p)
		}
	}
}
