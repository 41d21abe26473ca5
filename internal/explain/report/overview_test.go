package report

import (
	"encoding/json"
	"slices"
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
				gap := slices.ContainsFunc(r.Findings[i].Evidence, func(e result.Evidence) bool { return gapOf(r, &e) != nil })
				if (f.At != nil) != (is || gap) || is && f.At.Step != r.Findings[i].FirstStep || f.At != nil && f.At.From >= f.At.To {
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

// TestColours: each part above a tenth of the time is explained once, the largest first. The wait of ranks for a late
// rank is said to be that, and one that no finding explains is said to have none.
func TestColours(t *testing.T) {
	at := func(rank int, wait int64) result.StepRank {
		return result.StepRank{Rank: rank, Period: 100, Time: result.Time{Total: 100, Compute: 95 - wait, ExposedComm: wait, ExposedWait: wait, Idle: 5}}
	}
	r := &result.Report{
		Source: result.Source{Ranks: []string{"TP00", "TP01"}},
		Ranks:  []result.RankRow{{Name: "TP00", Last: 2, Collectives: 9}, {Rank: 1, Name: "TP01", Last: 7, Collectives: 9}},
		Times:  []result.TimeRow{{Rank: "all", Kind: "all", Steps: 5, Time: result.Time{Total: 1000, Compute: 550, ExposedComm: 400, ExposedWait: 400, Idle: 50}}},
	}
	for n := range 5 {
		r.Steps = append(r.Steps, result.Step{Step: n, Kind: "decode", Ranks: []result.StepRank{at(0, 60), at(1, 20)}})
	}
	late := result.Finding{Kind: result.Straggler, Ranks: []int{1}, Names: []string{"TP01"}, FirstStep: 0, LastStep: -1}
	for _, c := range []struct {
		name, wait string
		found      []result.Finding
		finding    int
		first      int64 // the wait of TP00 in the first step
	}{
		{"late", "wait, 40.0 %: collectives that have started wait for their last rank; 75.0 % of it is on the other ranks in the steps in which TP01 is late", []result.Finding{late}, 0, 60},
		{"healthy", "wait, 40.0 %: collectives that have started wait for their last rank; no late rank explains it; TP01 arrives last most often, at 7 of 9 collectives", nil, -1, 60},
		{"start", "wait, 40.0 %: collectives that have started wait for their last rank; no late rank explains it; TP01 arrives last most often, at 7 of 9 collectives; 72.9 % of it is in the first step, in which the profilers start", nil, -1, 840},
	} {
		r.Findings, r.Steps[0].Ranks[0].ExposedWait = c.found, c.first
		got := NewOverview(r).Colours
		if len(got) != 2 || got[0].Part != "compute" || got[0].Text != "compute, 55.0 %: kernels other than collectives and copies" {
			t.Fatalf("%s: %+v", c.name, got)
		}
		if w := got[1]; w.Part != "wait" || w.Text != c.wait || w.Finding != c.finding {
			t.Errorf("%s: %+v, want %s", c.name, w, c.wait)
		}
	}
}
