package torch

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/trace"
)

// TestRanks checks the expected files of a layout, by SGLang's rules.
func TestRanks(t *testing.T) {
	for _, c := range []struct {
		name string
		info Info
		want string
	}{
		{"one", Info{TP: 1, DP: 1, PP: 1, EP: 1}, "TP00"},
		{"TP", Info{TP: 2, DP: 1, PP: 1, EP: 1}, "TP00 TP01"},
		{"replicas", Info{TP: 2, DP: 2, PP: 1, EP: 1}, "TP00-DP00 TP01-DP00 TP00-DP01 TP01-DP01"},
		{"attention in DP within TP", Info{TP: 4, DP: 2, PP: 1, EP: 1, DPAttention: true}, "TP00-DP00 TP01-DP00 TP02-DP01 TP03-DP01"},
		{"stages of a pipeline", Info{TP: 1, DP: 1, PP: 2, EP: 1}, "TP00-PP00 TP00-PP01"},
		{"experts", Info{TP: 4, DP: 1, PP: 1, EP: 2}, "TP00-EP00 TP01-EP00 TP02-EP01 TP03-EP01"},
		{"unknown size", Info{}, ""},
	} {
		var got []string
		for _, r := range c.info.ranks() {
			got = append(got, r.String())
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
	}
}

// TestMissing checks which files represent which ranks.
func TestMissing(t *testing.T) {
	for _, c := range []struct {
		name  string
		m     *member
		files string
		want  string
	}{
		{"all", &member{info: Info{TP: 2, DP: 1, PP: 1, EP: 1}}, "9-TP-0 9-TP-1", ""},
		{"a merged trace is not a rank", &member{info: Info{TP: 1, DP: 1, PP: 1, EP: 1}}, "merged-9", "TP00"},
		{"a stage", &member{info: Info{TP: 1, DP: 1, PP: 1, EP: 1}, w: Window{ByStage: true}}, "9-TP-0-EXTEND", "TP00 decode"},
		{"a stage that was not requested", &member{info: Info{TP: 1, DP: 1, PP: 1, EP: 1}, w: Window{ByStage: true, Stages: []string{"prefill"}}}, "9-TP-0-EXTEND", ""},
		{"a decode server has no prefill", &member{Target: Target{Role: api.Decode}, info: Info{TP: 1, DP: 1, PP: 1, EP: 1}, w: Window{ByStage: true}}, "9-TP-0-DECODE", ""},
		{"with rpd one rank writes", &member{info: Info{TP: 2, DP: 1, PP: 1, EP: 1}, w: Window{Activities: []string{"CPU", "RPD"}}}, "rpd-9-TP-0", ""},
		{"no traces", &member{info: Info{TP: 2, DP: 1, PP: 1, EP: 1}, w: Window{Activities: []string{"MEM"}}}, "", ""},
		{"DP", &member{info: Info{TP: 1, DP: 2, PP: 1, EP: 1}}, "9-TP-0-DP-1", "TP00-DP00"},
	} {
		var have []trace.FileName
		for base := range strings.FieldsSeq(c.files) {
			name, _ := trace.ParseFileName(base + ".trace.json.gz")
			have = append(have, name)
		}
		var got []string
		for _, f := range missing(c.m.expected(), have) {
			got = append(got, label(f))
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: missing %q, want %q", c.name, text, c.want)
		}
	}
}
