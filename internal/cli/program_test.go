package cli

import (
	"runtime/debug"
	"testing"
)

// TestProgram: commands to type next begin with what was typed.
func TestProgram(t *testing.T) {
	t.Setenv("GOCACHE", "/cache/of/go")
	of := func(version string) *debug.BuildInfo {
		return &debug.BuildInfo{Path: "example.com/stepscope/cmd/stepscope", Main: debug.Module{Version: version}}
	}
	for _, c := range []struct {
		exe, called string
		info        *debug.BuildInfo
		here        bool
		want        string
	}{
		{"/home/me/stepscope/bin/stepscope", "bin/stepscope", of("(devel)"), true, "bin/stepscope"},
		{"/home/me/my tools/stepscope", "/home/me/my tools/stepscope", of("v1.2.3"), false, "'/home/me/my tools/stepscope'"},
		{"/tmp/go-build12/b001/exe/stepscope", "/tmp/go-build12/b001/exe/stepscope", of("(devel)"), true, "go run ./cmd/stepscope"},
		{"/home/me/.cache/go-build/ab/abc-d/stepscope", "/home/me/.cache/go-build/ab/abc-d/stepscope", of("(devel)"), true, "go run ./cmd/stepscope"},
		{"/cache/of/go/ab/abc-d/stepscope", "/cache/of/go/ab/abc-d/stepscope", of("v1.2.3"), false, "go run example.com/stepscope/cmd/stepscope@v1.2.3"},
		{"/tmp/go-build12/b001/exe/stepscope", "/tmp/go-build12/b001/exe/stepscope", of(""), false, "go run example.com/stepscope/cmd/stepscope"},
	} {
		if got := calledAt(c.exe, c.called, c.info, c.here); got != c.want {
			t.Errorf("%s: %s, want %s", c.exe, got, c.want)
		}
	}
	if got := howCalled(); got != "stepscope" { // of a test it is none
		t.Error(got)
	}
}
