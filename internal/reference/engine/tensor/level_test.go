package tensor

import (
	"strings"
	"testing"
)

func TestStartLevel(t *testing.T) {
	cases := []struct {
		wish string
		best Level
		want Level
		note string // part of it
	}{
		{"", AVX512, AVX512, ""},
		{"generic", AVX512BF16, Generic, ""},
		{"AVX2", AVX512, AVX2, ""},
		{"avx512bf16", AVX512BF16, AVX512BF16, ""},
		{"avx512", AVX2, AVX2, "at most avx2"},
		{"sse9", AVX2, AVX2, "want one of generic, avx2"},
	}
	for _, c := range cases {
		got, note := startLevel(c.wish, c.best)
		if got != c.want || !strings.Contains(note, c.note) || (note == "") != (c.note == "") {
			t.Errorf("%s=%q with best %s: %s, note %q; want %s, note with %q", EnvLevel, c.wish, c.best, got, note, c.want, c.note)
		}
	}
}

func TestParseLevel(t *testing.T) {
	for l := Generic; l <= AVX512BF16; l++ {
		if got, err := ParseLevel(l.String()); err != nil || got != l {
			t.Errorf("%s parses as %s, %v", l, got, err)
		}
	}
	if _, err := ParseLevel("level(4)"); err == nil {
		t.Error("parsed an invalid level")
	}
}

func TestUseAboveBest(t *testing.T) {
	defer Use(Current())
	defer func() {
		if recover() == nil {
			t.Error("used a level that does not exist")
		}
	}()
	Use(Best() + 1)
}
