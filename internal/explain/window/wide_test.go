package window

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/internal/tracefile/kineto"
)

// writeWide writes files of n ranks, copies of real ones with different times; the host of rank late is late from step 4
// on.
func writeWide(t testing.TB, n, late int) (dir string) {
	t.Helper()
	in := Input{Paths: []string{filepath.Join("..", "..", "..", "testdata", "traces", "graphs")}}
	c, err := in.Open(t.Context(), &progress.Console{W: &bytes.Buffer{}}, "reading")
	if err != nil {
		t.Fatal(err)
	}
	ranks, err := retime.Straggler(c.Traces, n, late, 4, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, r := range ranks {
		if err := kineto.WriteFile(filepath.Join(dir, r.Source.Path), r); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestWide: 64 ranks summarised by eight hosts give the same reports as 64 files, with the late rank found.
func TestWide(t *testing.T) {
	const n, late, hosts = 64, 37, 8
	dir := writeWide(t, n, late)
	in := Input{Paths: []string{dir}}
	var says, saysToo bytes.Buffer
	c, err := in.Open(t.Context(), &progress.Console{W: &says}, "reading")
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Prepare(nil).Analyze(c.Options())
	if err != nil {
		t.Fatal(err)
	}
	found := slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
		return f.Kind == result.Straggler && slices.Equal(f.Ranks, []int{late}) && f.Cause == result.CauseHost && f.FirstStep == 4
	})
	if len(r.Ranks) != n || !found {
		t.Errorf("got %d ranks, findings without rank %d late by its host from step 4 on: %v", len(r.Ranks), late, r.Findings)
	}
	want := said(t, c, says.String())
	var parts []*Part
	for files := range slices.Chunk(c.Set.Files, n/hosts) {
		var paths []string
		for _, f := range files {
			paths = append(paths, f.Path)
		}
		var stream bytes.Buffer
		if err := (&Input{Paths: paths}).Summarize(t.Context(), &progress.Console{W: &saysToo}, &stream, nil); err != nil {
			t.Fatal(err)
		}
		p, err := ReadPart(strings.Join(paths, " "), &stream)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	slices.Reverse(parts)
	joined, err := JoinParts(&progress.Console{W: &saysToo}, parts)
	if err != nil {
		t.Fatal(err)
	}
	if got := said(t, joined, saysToo.String()); got != want {
		t.Errorf("from summaries of 8 hosts: %s", difference(got, want))
	}
}
