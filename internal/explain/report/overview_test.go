package report

import (
	"encoding/json"
	"strings"
	"testing"
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
