package trace

import "testing"

func TestParseWorld(t *testing.T) {
	for text, want := range map[string]World{
		``:                             {Rank: -1},
		`[]`:                           {Rank: -1},
		`{}`:                           {Known: true, Rank: -1},
		`{"rank": 1, "world_size": 4}`: {Known: true, Rank: 1, Size: 4},
		`{"rank": 1, "world_size": 2, "clock": {"reference": "a", "offset_ns": 7, "rtt_ns": 90000}}`: {Known: true, Rank: 1, Size: 2, RTT: 90000},
		`{"rank": 0, "world_size": 2, "clock": "monotonic"}`:                                         {Known: true, Size: 2}, // another's
	} {
		if got := ParseWorld([]byte(text)); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}
