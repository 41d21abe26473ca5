package report

import (
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
)

// TestLightBounds checks the cells of a module whose work is known within bounds, and of others.
func TestLightBounds(t *testing.T) {
	for _, c := range []struct {
		m                 result.LightModule
		floor, of, beyond string
	}{
		{result.LightModule{Time: 900e3, Floor: 200e3, OfPeak: 0.2}, "100 µs", "20.0 %", "350 µs"},
		{result.LightModule{Time: 900e3, Floor: 200e3, High: 300e3, AtLeast: true, OfPeak: 0.2, OfPeakMost: 0.3}, "100 µs … 150 µs", "20.0 … 30.0 %", "≥ 300 µs"},
		{result.LightModule{Time: 900e3, Floor: 200e3, High: 200e3, OfPeak: 0.2, OfPeakMost: 0.2}, "100 µs", "20.0 %", "350 µs"},
		{result.LightModule{Time: 900e3, Floor: 2e3, High: 300e3, AtLeast: true, OfPeakMost: 0.3}, "1.00 µs … 150 µs", "≤ 30.0 %", "≥ 300 µs"},
		{result.LightModule{Time: 900e3, Floor: 2e3, AtLeast: true}, "≥ 1.00 µs", dash, dash},
	} {
		c.m.Module, c.m.Kind, c.m.Rank = "attention", "decode", "TP00"
		r := &result.Report{Light: result.Light{Model: "llama", Modules: []result.LightModule{c.m}, Steps: []result.LightStep{{Rank: "TP00", Kind: "decode", Steps: 2, Told: 2}}}}
		table := lightModulesTable(r, 10)
		row := map[string]string{}
		for i, col := range table.cols {
			row[col.name] = table.rows[0][i].text
		}
		if row["floor"] != c.floor || row["of peak"] != c.of || row["beyond"] != c.beyond {
			t.Errorf("%+v: floor %q, of peak %q, beyond %q", c, row["floor"], row["of peak"], row["beyond"])
		}
	}
}
