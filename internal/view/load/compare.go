package load

import (
	"net/http"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/explain/report"
)

// compare compares the run with another run, the base, which the parameter vs names.
func (v *Views) compare(req *http.Request) (any, error) {
	base, err := v.open(req, "vs")
	if err != nil {
		return nil, err
	}
	now, err := v.open(req, "run")
	if err != nil {
		return nil, err
	}
	return report.BenchCompared(bench.Compare(base.load, now.load, bench.CompareOptions{SLO: now.slo}), report.Options{}).Page(), nil
}
