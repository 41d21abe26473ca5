package job_test

import (
	"net"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/job"
	"github.com/stepscope/stepscope/internal/job/spec"
)

// TestReserve checks that ports of other programs and jobs are left alone, and reported if a worker needs one.
func TestReserve(t *testing.T) {
	j, _, err := spec.Parse("torch.yaml", []byte(read(t, "testdata/torch.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	busy := l.Addr().(*net.TCPAddr).Port
	plan := func() *job.Plan {
		p := job.NewPlan(j, "stepscope", true)
		p.Shift(busy - p.Workers[0].Port)
		return p
	}
	first, second := plan(), plan()
	release := first.Reserve()
	defer second.Reserve()()
	seen := []int{busy}
	for _, w := range slices.Concat(first.Workers, second.Workers) {
		for _, port := range []int{w.Port, w.Dist} {
			if slices.Contains(seen, port) || port < min(busy, w.Dist) {
				t.Errorf("port %d of %s, with %v in use", port, w.Name(), seen)
			}
			seen = append(seen, port)
		}
	}
	release()
	third := plan()
	defer third.Reserve()()
	if third.Workers[0].Port != first.Workers[0].Port {
		t.Errorf("port %d is not assigned again: %d", first.Workers[0].Port, third.Workers[0].Port)
	}
	h, err := job.Prepare(t.TempDir(), "token", "", "", []int{third.Workers[0].Port, busy})
	if err != nil || !slices.Equal(h.Busy, []int{busy}) {
		t.Errorf("%+v, %v", h, err)
	}
}
