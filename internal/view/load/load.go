// Package load answers the viewer's requests about benchmark runs: the figures and plots of a run, individual requests,
// the waiting of requests in recorded steps, and the comparison with another run.
package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/waits"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/trace"
)

// Recorded is the recording of one server under load.
type Recorded struct {
	Name, Role string // as for waits.NewServer
	Capture    string // id of the capture in the page's addresses
	Traces     []*trace.Trace
	Report     *result.Report
}

// Views serves the runs of one directory.
type Views struct {
	Root  string            // directory of the runs; "": none
	Given *runs.Run         // a run from any other directory; nil: none
	Say   *progress.Console // receives warnings about incomplete runs
	// Recorded yields the recording of each server of a run. If a recording cannot be read, it yields the name of the
	// server and the error.
	Recorded func(ctx context.Context, run *runs.Run) iter.Seq2[Recorded, error]

	mu  sync.Mutex
	all []*opened // opened runs, the most recently used one last
}

// mostOpened is the number of runs kept in memory: the run shown, and the runs with which it is compared.
const mostOpened = 3

// Answers returns the handlers, by path below /api/. All handlers take the parameters run and rep, in addition to their
// own parameters. run is the id of the run. rep is the number of the repetition, counted from 0; the default is the
// last repetition.
func (v *Views) Answers() map[string]func(*http.Request) (any, error) {
	return map[string]func(*http.Request) (any, error){
		"load": v.page, "load/runs": v.list, "load/timeline": v.timeline, "load/requests": v.requests, "load/request": v.request, "load/steps": v.steps, "load/step": v.step, "load/compare": v.compare,
	}
}

// list returns all runs that have a load, the newest first.
func (v *Views) list(*http.Request) (any, error) {
	if v.Root == "" {
		return []runs.Entry{}, nil
	}
	all, err := runs.List(v.Root)
	return slices.DeleteFunc(all, func(e runs.Entry) bool { return !e.Load }), err
}

// opened is a run that has been read.
type opened struct {
	run  *runs.Run
	load bench.Load
	slo  bench.SLO

	mu        sync.Mutex // guards the fields below
	summaries map[int]*bench.Summary
	rows      map[int]*rows
	joined    *joined
	joinErr   error // reason that there is no join, for example that nothing was recorded
}

// open returns the run with the given name. It reads the run unless the run is in memory.
func (v *Views) open(r *http.Request, name string) (*opened, error) {
	dir, err := v.find(r.FormValue(name))
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if i := slices.IndexFunc(v.all, func(o *opened) bool { return o.run.Dir() == dir }); i >= 0 {
		o := v.all[i]
		v.all = append(slices.Delete(v.all, i, i+1), o)
		return o, nil
	}
	run, err := runs.Open(v.Root, dir)
	if err != nil {
		return nil, err
	}
	if err := run.Inside(); err != nil && (v.Given == nil || v.Given.Dir() != dir) {
		return nil, &httpguard.Error{Status: http.StatusForbidden, Message: err.Error()}
	}
	if !run.Loaded() {
		return nil, &httpguard.Error{Status: http.StatusNotFound, Message: "run " + run.ID() + " has no requests: nothing was benchmarked in it"}
	}
	o := &opened{run: run, summaries: map[int]*bench.Summary{}, rows: map[int]*rows{}}
	if o.load, err = run.Load(v.Say); err != nil {
		return nil, err
	}
	if o.slo, err = objectives(run); err != nil {
		return nil, err
	}
	if v.all = append(v.all, o); len(v.all) > mostOpened {
		v.all = v.all[1:]
	}
	return o, nil
}

// find returns the directory of the run with the given id. It does not accept paths, so other directories cannot be
// read.
func (v *Views) find(id string) (dir string, err error) {
	switch {
	case v.Given != nil && id == v.Given.ID():
		return v.Given.Dir(), nil
	case id == "" || v.Root == "":
		return "", &httpguard.Error{Status: http.StatusNotFound, Message: "give the id of a run"}
	}
	return runs.Find(v.Root, id)
}

// objectives returns the latency objectives with which the run was made.
func objectives(run *runs.Run) (bench.SLO, error) {
	var kept []bench.Summary
	if err := run.ReadJSON(runs.KindSummary, &kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for i := range kept {
		if slo := kept[i].Objectives(); slo != nil {
			return slo, nil
		}
	}
	return nil, nil
}

// rep is a repetition of a run.
type rep struct {
	*opened
	n int
	m *bench.Measured
}

// repOf returns the repetition selected by a request.
func (v *Views) repOf(r *http.Request) (*rep, error) {
	o, err := v.open(r, "run")
	if err != nil {
		return nil, err
	}
	all := int64(len(o.load.Runs))
	n, err := number(r, "rep", all-1, all)
	if err != nil {
		return nil, err
	}
	return &rep{o, int(n), &o.load.Runs[n]}, nil
}

// summary returns the summary of the repetition, with the objectives of the run.
func (r *rep) summary() *bench.Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.summaries[r.n]
	if s == nil {
		s = bench.Summarize(r.m.Records, r.m.Run, bench.Options{SLO: r.slo})
		r.summaries[r.n] = s
	}
	return s
}

// number parses a parameter with a value in [0, below). If the parameter is missing, number returns absent. If absent
// is negative, the parameter is required.
func number(r *http.Request, name string, absent, below int64) (int64, error) {
	text := r.FormValue(name)
	if text == "" && absent >= 0 {
		return absent, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n >= below {
		return 0, &httpguard.Error{Status: http.StatusBadRequest, Message: fmt.Sprintf("%s=%s: give a number from 0 to %d", name, text, below-1)}
	}
	return n, nil
}

// joined is a run joined with the steps of its servers.
type joined struct {
	*waits.Joined
	slow     *waits.Result
	lanes    []waits.Lane
	captures map[string]captured // by server name
	lacks    []string            // servers that could not be read, each with the reason
}

// captured locates a server's steps in its capture.
type captured struct {
	id     string
	origin int64 // time 0 of the capture, ns since the epoch
}

// join reads the recordings of a run and joins the requests with them, unless this has been done before. The caller
// must hold the lock.
func (v *Views) join(ctx context.Context, o *opened) (*joined, error) {
	if o.joined != nil || o.joinErr != nil {
		return o.joined, o.joinErr
	}
	if len(o.run.Traces()) == 0 || v.Recorded == nil {
		o.joinErr = &httpguard.Error{Status: http.StatusNotFound, Message: "no steps were recorded during this load: bench serving --profile records some"}
		return nil, o.joinErr
	}
	j := &joined{captures: map[string]captured{}}
	var servers []*waits.Server
	var failed error // error of the first server that could not be read
	opt := waits.Options{Host: o.run.Manifest().Machine.Host}
	for s, err := range v.Recorded(ctx, o.run) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			failed = cmp.Or(failed, err)
			j.lacks = append(j.lacks, fmt.Sprintf("%s is left out: %v", s.Name, err))
			continue
		}
		servers = append(servers, waits.NewServer(s.Name, s.Role, s.Traces))
		at := captured{id: s.Capture}
		if s.Report != nil && len(s.Traces) > 0 {
			at.origin = s.Report.Source.StartNS
			for _, l := range waits.LateSteps(s.Report, s.Traces) {
				opt.Late = append(opt.Late, l.Of(s.Name))
			}
		}
		j.captures[s.Name] = at
	}
	if len(servers) == 0 {
		o.joinErr = failed
		return nil, failed
	}
	if j.Joined, o.joinErr = waits.Join(o.load.Runs, servers, opt); o.joinErr != nil {
		return nil, o.joinErr
	}
	j.slow, j.lanes = j.Slow(), j.Lanes()
	o.joined = j
	return j, nil
}
