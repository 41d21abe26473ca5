package torch

import (
	"strings"
	"testing"
)

// TestSizes checks the sizes that a server may claim, alone and multiplied.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		name string
		info Info
		want string
	}{
		{"a large deployment", Info{TP: 16, DP: 128, PP: 8, EP: 16}, ""},
		{"DP within TP", Info{TP: 1024, DP: 1024, PP: 16, EP: 1024, DPAttention: true}, ""},
		{"unknown sizes", Info{}, ""},
		{"one size", Info{TP: 1 << 40}, "parallel size of 1099511627776"},
		{"a product", Info{TP: 4096, DP: 4096, PP: 4096, EP: 1}, "68719476736 ranks (TP 4096, DP 4096, PP 4096)"},
	} {
		err := (&member{info: c.info}).checkSizes()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
