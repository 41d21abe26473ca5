package light

import (
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// sideOf returns a side with groups of decode steps, one for each given number of rows, with the given number of steps.
func sideOf(name string, m *Model, steps int, rows ...int) *Side {
	s := &Side{Name: name, model: m, device: "H100 SXM", layout: "TP 2"}
	for _, n := range rows {
		g := group{stepKey: stepKey{"TP00", "decode", n}, beside: &beside{parts: map[string]*portion{}, kernels: 100, graphs: 100, keys: int64(steps * n * 1000)}}
		g.LightStep = result.LightStep{Rank: "TP00", Kind: "decode", Steps: steps, Told: steps, Rows: steps * n, Total: int64(steps)*1_000_000 + 1, Unpriced: int64(steps) * 700_000, Wait: int64(steps)*100_000 + 1, Idle: int64(steps) * 200_000,
			IdleBy: result.Idle{Host: int64(steps) * 150_000, Launch: int64(steps) * 50_000}, Least: int64(steps) * 300_000}
		for _, role := range []Role{QKV, Attention, Head} {
			p := g.part(string(role))
			p.ns, p.floor, p.names["kernel of "+name] = int64(steps)*200_000+1, int64(steps)*100_000, 1
		}
		s.groups = append(s.groups, g)
	}
	return s
}

// TestDiff checks the conditions of a comparison by roles, one at a time, and that the parts add up.
func TestDiff(t *testing.T) {
	m := &Model{Family: "qwen3", Layers: 24, Hidden: 4096, Weight: Format{Name: "bf16"}}
	larger := *m
	larger.Hidden = 5120
	for name, c := range map[string]struct {
		change func(a, b *Side)
		want   []string // reasons; empty: it is compared
		note   string
	}{
		"alike":                  {func(a, b *Side) {}, nil, ""},
		"other kernels":          {func(a, b *Side) { b.groups[0].parts[string(QKV)].names = map[string]int64{"other": 1} }, nil, ""},
		"another model":          {func(a, b *Side) { b.model = &larger }, []string{"light_models"}, ""},
		"an unknown side":        {func(a, b *Side) { b.why = fact.Of("light_order") }, []string{"light_side"}, ""},
		"another device":         {func(a, b *Side) { b.device = "H200" }, []string{"light_sides_devices"}, ""},
		"device and layout":      {func(a, b *Side) { b.device, b.layout = "H200", "TP 1" }, []string{"light_sides_devices", "light_layouts"}, ""},
		"stacks on one side":     {func(a, b *Side) { a.stacks = true }, []string{"light_stacks"}, ""},
		"stacks on both sides":   {func(a, b *Side) { a.stacks, b.stacks = true, true }, nil, ""},
		"graphs on one side":     {func(a, b *Side) { a.groups[0].graphs = 0 }, []string{"light_graphs"}, ""},
		"no graphs":              {func(a, b *Side) { a.groups[0].graphs, b.groups[0].graphs = 0, 0 }, nil, ""},
		"15 and 16 rows":         {func(a, b *Side) { *a = *sideOf("A", m, 5, 15) }, nil, ""},
		"14 and 16 rows":         {func(a, b *Side) { *a = *sideOf("A", m, 5, 14) }, []string{"light_rows"}, ""},
		"8 or 16 and 16 rows":    {func(a, b *Side) { *a = *sideOf("A", m, 5, 8, 16) }, nil, ""},
		"two steps":              {func(a, b *Side) { *a = *sideOf("A", m, 2, 16) }, []string{"light_few"}, ""},
		"two steps of each size": {func(a, b *Side) { *a = *sideOf("A", m, 2, 15, 16) }, nil, ""},
		"steps of another kind":  {func(a, b *Side) { a.groups[0].kind = "prefill" }, []string{"light_kinds"}, ""},
		"unknown kernels": {func(a, b *Side) {
			a.groups[0].rows, a.groups[0].Told, a.groups[0].Why = -1, 0, fact.Of("light_order")
		}, []string{"light_untold"}, ""},
		"longer contexts": {func(a, b *Side) { b.groups[0].keys *= 2 }, nil, "light_contexts"},
		"unknown contexts of the first group": {func(a, b *Side) {
			*b = *sideOf("B", m, 5, 15, 16)
			b.groups[0].keys = -1
		}, nil, "light_no_contexts"},
		"unknown contexts": {func(a, b *Side) { b.groups[0].keys = -1 }, nil, "light_no_contexts"},
		"prefill of longer contexts": {func(a, b *Side) {
			a.groups[0].kind, b.groups[0].kind = "prefill", "prefill"
			b.groups[0].keys *= 2
		}, []string{"light_contexts"}, ""},
		"a refused module": {func(a, b *Side) {
			a.groups[0].modules = []result.LightModule{{Module: string(QKV), Why: fact.Of("light_mixed")}}
		}, nil, ""},
		"no head on one side": {func(a, b *Side) { delete(a.groups[0].parts, string(Head)); a.groups[0].order = a.groups[0].order[:2] }, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := sideOf("A", m, 5, 16), sideOf("B", m, 7, 16)
			c.change(a, b)
			rows, why, notes := Diff(a, b)
			var keys []string
			for _, w := range why {
				keys = append(keys, w.Key)
			}
			if !slices.Equal(keys, c.want) || (len(rows) == 0) != (len(c.want) > 0) {
				t.Fatalf("%d rows, reasons %v, want %v", len(rows), why, c.want)
			}
			if c.note != "" && (len(notes) != 1 || notes[0].Key != c.note) || c.note == "" && len(notes) > 0 {
				t.Errorf("notes %v, want %q", notes, c.note)
			}
			var sumA, sumB int64
			parts := map[string]result.LightDiff{}
			for _, d := range rows {
				if parts[d.Part] = d; d.Part != wholeStep {
					sumA, sumB = sumA+d.A, sumB+d.B
				}
			}
			if whole := parts[wholeStep]; len(rows) > 0 && (sumA != whole.A || sumB != whole.B || whole.A/2 != 500_000 || whole.Floor != 300_000) {
				t.Errorf("the parts add up to %d and %d, the steps take %+v", sumA, sumB, whole)
			}
			_, told := parts[string(QKV)]
			if refused := name == "a refused module"; len(rows) > 0 && told == refused {
				t.Errorf("parts %v", parts)
			}
			if _, head := parts[string(Head)]; len(rows) > 0 && head == (name == "no head on one side") {
				t.Errorf("parts %v", parts)
			}
		})
	}
}

// TestAlike: groups are compared if the largest has at most a tenth more rows than the smallest, as a share of the largest.
func TestAlike(t *testing.T) {
	groups := func(rows ...int) (out []*group) {
		for _, n := range rows {
			out = append(out, &group{stepKey: stepKey{"TP00", "decode", n}, LightStep: result.LightStep{Steps: 5, Rows: 5 * n}, beside: &beside{}})
		}
		return out
	}
	for _, c := range []struct{ a, b, wantA, wantB []*group }{
		{groups(16), groups(16), groups(16), groups(16)},
		{groups(9), groups(10), groups(9), groups(10)},
		{groups(8), groups(10), nil, nil},
		{groups(1, 9, 16), groups(10, 40), groups(9), groups(10)},
		{groups(16, 17), groups(16, 32), groups(16, 17), groups(16)},
		{nil, groups(16), nil, groups(16)},
	} {
		a, b := alike(c.a, c.b, 0.1)
		if x, y := min(add(a).steps, add(b).steps), min(add(c.wantA).steps, add(c.wantB).steps); x != y || x > 0 && (len(a) != len(c.wantA) || len(b) != len(c.wantB) || a[0].rows != c.wantA[0].rows || b[0].rows != c.wantB[0].rows) {
			t.Errorf("%d and %d groups, want %d and %d", len(a), len(b), len(c.wantA), len(c.wantB))
		}
	}
}
