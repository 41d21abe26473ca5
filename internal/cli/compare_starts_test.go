package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/runs"
)

// TestCompareStarts: the starts of a build are its samples if they are different runs of one load.
func TestCompareStarts(t *testing.T) {
	homes(t)
	root, err := runs.DefaultRoot()
	if err != nil {
		t.Fatal(err)
	}
	sides := [2][]string{}
	for i, took := range []int64{100, 130} {
		for range 4 {
			sides[i] = append(sides[i], keepLoad(t, root, 1, took).ID())
		}
	}
	a, b := strings.Join(sides[0], ","), strings.Join(sides[1], ",")
	other, repeated := keepLoad(t, root, 1, 100), keepLoad(t, root, 2, 100)
	retell(t, other, func(r *bench.Run) { r.Model = "other" })
	for _, c := range []struct {
		a, b   string
		status int
		want   string
	}{
		{a, b, exitRegression, "4 runs, 200 requests"},
		{b, a, exitOK, "no regression above 10"},
		{a, sides[1][0] + "," + b, exitUsage, "gives run " + sides[1][0] + " twice"},
		{a + "," + other.ID(), b, exitFailed, "runs " + sides[0][0] + " and " + other.ID() + " have different loads"},
		{a + "," + repeated.ID(), b, exitFailed, "run " + repeated.ID() + " has 2 repetitions"},
		{a + ",nowhere", b, exitUsage, "nowhere is no load"},
	} {
		status, out, errs := run(t, t.Context(), "compare", c.a, c.b, "--fail-on", "10%")
		if status != c.status || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s %s: status %d, want %d with %q:\n%s%s", c.a, c.b, status, c.status, c.want, out, errs)
		}
	}

	// The base of a gate is the run that is the last one before the gate loads the new build.
	gate := ciGateCmd{BaseRun: "last", Out: t.TempDir()}
	if err := gate.findBase(); err != nil || gate.BaseRun != repeated.Dir() {
		t.Errorf("%v, base %s, want %s", err, gate.BaseRun, repeated.Dir())
	}
	inside := keepLoad(t, filepath.Join(gate.Out, "runs"), 1, 100)
	gate.BaseRun = inside.ID() + "," + inside.ID()
	if err := gate.findBase(); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Error(err)
	}
	if gate.BaseRun = inside.ID(); gate.findBase() != nil || gate.BaseRun != inside.Dir() {
		t.Errorf("base %s, want %s", gate.BaseRun, inside.Dir())
	}
	status, _, errs := run(t, t.Context(), "ci", "gate", "--base-run", "nowhere", "--out", t.TempDir())
	if status != exitUsage || !strings.Contains(errs, "--base-run nowhere: no such load") {
		t.Errorf("status %d: %s", status, errs)
	}
}
