package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepscope/stepscope/internal/measure/experiment"
	"github.com/stepscope/stepscope/internal/runs"
)

// findMax runs --find-max-rate.
func (c *benchServingCmd) findMax(ctx context.Context, e *env, x *experiment.Serving) error {
	res, err := x.FindMaxRate(ctx)
	if res == nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%10s  %8s  %10s  %10s  %s\n", "rate req/s", "good", "TTFT p99", "TPOT p99", "")
	for _, p := range res.Probes {
		verdict := "holds"
		if !p.Holds {
			verdict = "fails: " + p.Why
		}
		fmt.Fprintf(e.stdout, "%10.3g  %7.1f%%  %7.1f ms  %7.2f ms  %s\n", p.Rate, 100*p.Good, p.TTFT99/1e6, p.TPOT99/1e6, verdict)
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(e.stdout, "interrupted: no verdict")
	case res.Best == 0:
		fmt.Fprintf(e.stdout, "no rate down to %.3g req/s holds %s\n", res.Worst, x.SLO)
	case res.Worst == 0:
		fmt.Fprintf(e.stdout, "%.3g req/s hold %s; no higher rate was found to fail\n", res.Best, x.SLO)
	default:
		fmt.Fprintf(e.stdout, "highest rate that holds %s: %.3g req/s (%.3g does not)\n", x.SLO, res.Best, res.Worst)
	}
	if res.Best > 0 {
		fmt.Fprintf(e.stdout, "a rate holds if %.0f %% of the requests meet all objectives and the server does not fall behind\n", 100*experiment.GoodShare)
	}
	if x.Store != nil {
		status := runs.Complete
		if ctx.Err() != nil {
			status = runs.Interrupted
		}
		if e := x.Store.WriteJSON(runs.File{Path: "search.json", Kind: runs.KindSummary, Format: "json"}, res); e != nil {
			err = errors.Join(err, e)
		}
		err = errors.Join(err, x.Store.Finish(status, err))
	}
	return err
}
