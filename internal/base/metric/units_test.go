package metric

import (
	"math"
	"testing"
)

func TestUnits(t *testing.T) {
	tests := []struct{ got, want string }{
		{Duration(0), "0 ns"},
		{Duration(7), "7 ns"},
		{Duration(1.5), "1.50 ns"},
		{Duration(417), "417 ns"},
		{Duration(417_000), "417 µs"},
		{Duration(999_499), "999 µs"},
		{Duration(999_600), "1.00 ms"},
		{Duration(1_960_000), "1.96 ms"},
		{Duration(-1_960_000), "-1.96 ms"},
		{Duration(9_996_000), "10.0 ms"},
		{Duration(99_960_000), "100 ms"},
		{Duration(int64(12_300_000_000)), "12.3 s"},
		{Duration(int64(1_234_000_000_000)), "1,234 s"},
		{Duration(0.25), "0.250 ns"},
		{Duration(math.NaN()), "n/a"},
		{Bytes(0), "0 B"},
		{Bytes(512), "512 B"},
		{Bytes(4096), "4.10 kB"},
		{Bytes(int64(359_000_000)), "359 MB"},
		{Rate(348e9), "348 GB/s"},
		{Rate(3.35e12), "3.35 TB/s"},
		{Rate(math.Inf(1)), "n/a"},
		{PythonFloat(2), "2.0"},
		{PythonFloat(0.1), "0.1"},
		{PythonFloat(1e6), "1000000.0"},
		{PythonFloat(9.5e15), "9500000000000000.0"},
		{PythonFloat(1e16), "1e+16"},
		{PythonFloat(1e-5), "1e-05"},
		{PythonFloat(math.Inf(1)), "inf"},
		{PythonFloat(math.Inf(-1)), "-inf"},
		{PythonFloat(math.NaN()), "nan"},
		{Percent(0.123), "12.3 %"},
		{Percent(1), "100 %"},
		{Percent(0.74), "74.0 %"},
		{Percent(0.0005), "0.0500 %"},
		{Percent(0), "0 %"},
		{Percent(math.NaN()), "n/a"},
		{Tenths(0.123), "12.3 %"},
		{Tenths(1), "100.0 %"},
		{Tenths(0.0004), "<0.1 %"},
		{Tenths(-0.001), "-0.1 %"},
		{Tenths(0), "0"},
		{Tenths(math.NaN()), "n/a"},
		{PercentChange(0.0321), "+3.21 %"},
		{PercentChange(-0.123), "-12.3 %"},
		{PercentChange(0), "0 %"},
		{Count(0), "0"},
		{Count(999), "999"},
		{Count(1000), "1,000"},
		{Count(-1000), "-1,000"},
		{Count(1_037_098), "1,037,098"},
		{Count(int64(math.MinInt64)), "-9,223,372,036,854,775,808"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
