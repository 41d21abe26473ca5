package twister

import "testing"

// TestPython compares with Python's random.Random(seed).random(), called twice.
func TestPython(t *testing.T) {
	for seed, want := range map[uint64][2]float64{
		0:             {0.8444218515250481, 0.7579544029403025},
		42:            {0.6394267984578837, 0.025010755222666936},
		1099511627776: {0.1036394562812375, 0.6705558677439764},
	} {
		r := Python(seed)
		for i := range want {
			if got := r.Float(); got != want[i] {
				t.Errorf("seed %d: %v; want %v", seed, got, want[i])
			}
		}
	}
}
