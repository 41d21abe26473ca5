package trace

import "testing"

// TestHeldStage: the name is trusted unless all steps contradict it.
func TestHeldStage(t *testing.T) {
	for _, c := range []struct {
		named       string
		steps       map[string]int
		stage, what string
	}{
		{"DECODE", map[string]int{"decode": 5}, "DECODE", ""},
		{"DECODE", map[string]int{"decode": 1, "prefill": 5}, "DECODE", ""},
		{"DECODE", map[string]int{"prefill": 1}, "prefill", "1 prefill"},
		{"decode", map[string]int{"mixed": 2, "idle": 1}, "prefill", "1 idle, 2 mixed"},
		{"EXTEND", map[string]int{"mixed": 2, "decode": 1}, "EXTEND", ""},
		{"EXTEND", map[string]int{"decode": 3}, "decode", "3 decode"},
		{"EXTEND", nil, "EXTEND", ""},
		{"DECODE", map[string]int{"other": 3}, "DECODE", ""},
		{"", map[string]int{"decode": 3}, "", ""},
	} {
		if stage, what := HeldStage(c.named, c.steps); stage != c.stage || what != c.what {
			t.Errorf("%s with %v: %s, %q", c.named, c.steps, stage, what)
		}
	}
}
