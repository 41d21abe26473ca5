package report

import (
	"maps"
	"slices"
	"testing"
)

// linksOf returns the links of the findings of a page, each behind the id of its finding and the place of the link.
func linksOf(t *testing.T) (out []string) {
	t.Helper()
	r := straggler()
	for i := range r.Findings {
		if f := &r.Findings[i]; f.ID == "host_bound-decode" {
			f.Steps = []int{9, 10}
		}
	}
	r = Plain(r)
	p := page{R: r, HasMaps: true}
	p.tables(r, pageLimits)
	p.find(r)
	for _, f := range p.Findings {
		for _, l := range f.Chips {
			out = append(out, f.ID+" chip "+l.Href)
		}
		for _, l := range f.See {
			out = append(out, f.ID+" see "+l.Href)
		}
		for _, e := range f.Evidence {
			for _, l := range e.See {
				out = append(out, f.ID+" evidence "+l.Href)
			}
		}
	}
	return out
}

// TestLinksWithoutWords requires all links of findings to survive a change of every sentence.
func TestLinksWithoutWords(t *testing.T) {
	want := []string{
		"straggler-2-work-7 chip #ranks-3", "straggler-2-work-7 chip #step-7", "straggler-2-work-7 see #at-map-work", "straggler-2-work-7 evidence #kernels-1",
		"host_bound-decode see #idle-3", "host_bound-decode see #gaps-1",
		"host_bound-decode evidence #ops-1", "host_bound-decode evidence #gaps-1", "host_bound-decode evidence #step-10",
		"slow_step-10 chip #step-10", "data-0 see #notes",
	}
	if got := linksOf(t); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	sentences := maps.Clone(wordings)
	defer func() { wordings = sentences }()
	wordings = map[string]string{}
	for key := range sentences {
		wordings[key] = "reworded"
	}
	if got := linksOf(t); !slices.Equal(got, want) {
		t.Errorf("with other sentences: got  %q\nwant %q", got, want)
	}
}
