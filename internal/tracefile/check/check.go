// Package check reads every event of a set of trace files once, and reports the contents and problems of the set. Times
// are in ns.
package check

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/clock"
	"github.com/stepscope/stepscope/internal/tracefile/merge"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// Report describes the contents of a set.
type Report struct {
	Format    int           `json:"format"` // 1
	ProfileID string        `json:"profile_id"`
	Files     []File        `json:"files"`
	Missing   []set.Missing `json:"missing"`
	Bases     []int64       `json:"bases_ns"` // distinct baseTimeNanoseconds
	Clocks    []Clock       `json:"clocks"`   // each file's clock compared with the first file's
	Notes     []trace.Note  `json:"notes"`

	ranks int // number of ranks; in a window by stage there are more files than ranks
}

// File describes the contents of one file.
type File struct {
	Path     string           `json:"path"`
	Label    string           `json:"label"`
	Stage    string           `json:"stage,omitempty"`
	Rank     *int             `json:"rank"`       // from distributedInfo; null: not given
	World    int              `json:"world_size"` // 0: not given
	Host     string           `json:"host_name,omitempty"`
	TraceID  string           `json:"trace_id,omitempty"`
	Format   string           `json:"format"`
	Bytes    int64            `json:"bytes"`
	Text     int64            `json:"json_bytes"`
	Events   int64            `json:"events"`
	Category map[string]int64 `json:"events_by_category"`
	Phase    map[string]int64 `json:"events_by_ph"`
	BaseNS   *int64           `json:"base_time_ns"` // null: times count from the epoch or from an unknown origin
	StartNS  int64            `json:"start_ns"`     // start of the earliest span or instant, with the base added
	EndNS    int64            `json:"end_ns"`
	Steps    map[string]int   `json:"steps"` // by kind, summed over all parts
	Complete bool             `json:"complete"`
	Problem  *set.Problem     `json:"problem,omitempty"`
	Odd      []Odd            `json:"odd"`
	// Parts are the files from which a merged trace was made, as recorded by the merger.
	Parts []set.Part `json:"parts,omitempty"`

	timed        bool
	notes        []trace.Note
	gpu          bool   // whether the file has GPU work
	devices      int64  // GPUs of a file that has the work of several ranks
	state        string // what the notes say about a file that is otherwise complete
	processes    int    // processes with steps: the parts of a merged file
	fewest, most int    // steps per process
}

// Clock compares the clock of a file with the clock of the first file, using collectives that both recorded.
type Clock struct {
	Label    string `json:"label"`
	Against  string `json:"against"`
	Verdict  string `json:"verdict"` // agree, disagree, unknown
	OffsetNS int64  `json:"offset_ns"`
	SpreadNS int64  `json:"spread_ns"`
	N        int    `json:"collectives"`
	Why      string `json:"why,omitempty"`
}

// Incomplete reports whether anything is missing, lost, broken or impossible.
func (r *Report) Incomplete() bool {
	lost := func(p set.Part) bool { return p.Problem != nil }
	return len(r.Missing) > 0 || slices.ContainsFunc(r.Files, func(f File) bool {
		return f.Problem != nil || f.Impossible() > 0 || f.state != "" || slices.ContainsFunc(f.Parts, lost)
	})
}

// Check reads the set. missing lists inputs that do not exist.
func Check(ctx context.Context, window set.Set, missing []string, meter *progress.Meter) (*Report, error) {
	r := &Report{Format: 1, ProfileID: window.ID, Files: make([]File, len(window.Files)), Missing: []set.Missing{}, Bases: []int64{}, Clocks: []Clock{}, Notes: []trace.Note{}}
	for _, n := range window.Notes { // other notes have been printed already
		if n.Severity() == trace.Info {
			r.Notes = append(r.Notes, n)
		}
	}
	heads := make([]*set.Head, len(window.Files))
	comms := make([]*merge.Comms, len(window.Files))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(min(runtime.GOMAXPROCS(0), 8))
	for i, f := range window.Files {
		g.Go(func() (err error) {
			comms[i] = merge.NewComms(len(window.Files), f.Name.Rank)
			heads[i], r.Files[i], err = read(gctx, f, comms[i], meter)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for i := range r.Files {
		f := &r.Files[i]
		stage, what := trace.HeldStage(f.Stage, f.Steps)
		if what != "" {
			r.Notes = append(r.Notes, trace.Note{Kind: trace.NoteStageName, Source: f.Path, Count: 1, Names: []string{f.Stage, what}})
			f.Stage, heads[i].File.Name.Stage = stage, stage
		}
	}
	labels := set.Labels(heads)
	r.ranks = len(slices.Compact(slices.Sorted(slices.Values(labels))))
	for i, l := range labels {
		r.Files[i].Label = l
		if r.ranks < len(labels) { // a window by stage: label files, not ranks
			r.Files[i].Label = strings.TrimSpace(l + " " + r.Files[i].Stage)
		}
	}
	r.Missing = append(r.Missing, set.FindMissing(window, heads)...)
	r.Missing = append(r.Missing, set.NoFiles(missing)...)
	r.parts()
	r.work(window)
	r.bases()
	r.clocks(heads, comms)
	r.twins()
	return r, nil
}

func read(ctx context.Context, f set.File, comms *merge.Comms, meter *progress.Meter) (*set.Head, File, error) {
	h := set.ReadHead(f, nil)
	out := File{
		Path: f.Path, Stage: f.Name.Stage, Bytes: f.Size, Category: map[string]int64{}, Phase: map[string]int64{},
		Steps: map[string]int{}, Odd: []Odd{}, Problem: h.Problem,
	}
	src, err := chromejson.Open(f.Path)
	if err != nil { // set.Head already reports the reason
		out.describe(h)
		return h, out, nil
	}
	defer src.Close()
	out.Format = string(src.Format)
	s := chromejson.NewScanner(src)
	defer s.Close()
	c := &counter{out: &out, comms: comms, cats: map[string]*int64{}, steps: map[string]*Steps{}, flows: map[string]*pairing{}, odd: oddness{mid: h.MidTS}, rows: merge.Rows{Most: maxPairs}}
	var read int64
	for {
		kind, err := s.Next()
		if err == io.EOF {
			break
		}
		if kind == chromejson.MetaToken {
			if s.Stats.Events > 0 {
				h.Add(s.Key, s.Value)
			}
			continue
		}
		c.event(&s.Event)
		if s.Stats.Events&0xfff == 0 {
			if ctx.Err() != nil {
				return h, out, ctx.Err()
			}
			meter.Reach(src.Consumed(), &read)
		}
	}
	if out.Problem == nil {
		out.Problem = set.EndProblem(src, &s.Stats)
	}
	c.finish(src, &s.Stats)
	out.describe(h)
	return h, out, nil
}

// describe copies the metadata in h to the file's description, and adds the file's base to the times.
func (f *File) describe(h *set.Head) {
	f.Host, f.TraceID, f.Complete = h.Host, h.TraceID, f.Problem == nil && f.Impossible() == 0
	if h.Merged != nil {
		f.Parts = h.Merged.Ranks
	} else {
		f.World = h.World.Size
	}
	if h.Merged == nil && h.World.Known && h.World.Rank >= 0 {
		f.Rank = new(h.World.Rank)
	}
	if h.HasBase && f.BaseNS == nil {
		base := h.BaseNS
		f.BaseNS = &base
		if f.timed {
			f.StartNS += base
			f.EndNS += base
		}
	}
}

// parts adds notes about data that was already missing from the inputs of merged files.
func (r *Report) parts() {
	for _, f := range r.Files {
		for _, p := range f.Parts {
			if p.Problem != nil {
				r.Notes = append(r.Notes, trace.Note{Kind: trace.NotePart, Source: f.Path, Count: 1, Names: []string{p.File, p.Problem.String()}})
			}
		}
	}
}

// work adds the notes of the files, and notes about ranks without GPU work and about files with the work of several ranks.
func (r *Report) work(window set.Set) {
	var ranks []set.Work
	for i, f := range r.Files {
		r.Notes = append(r.Notes, f.notes...)
		ranks = append(ranks, set.Work{Path: f.Path, Rank: window.Files[i].Name.Rank, Stage: f.Stage, GPU: f.gpu || f.Problem != nil})
		if f.devices > 1 {
			r.Notes = append(r.Notes, trace.Note{Kind: trace.NoteDevices, Source: f.Path, Count: f.devices})
			r.Files[i].state, r.Files[i].Complete = fmt.Sprintf("work of %d GPUs", f.devices), false
		}
	}
	for _, n := range set.WithoutWork(ranks) {
		r.Notes = append(r.Notes, n)
		i := slices.IndexFunc(r.Files, func(f File) bool { return f.Path == n.Source })
		r.Files[i].state, r.Files[i].Complete = "no GPU work", false
	}
}

func (r *Report) bases() {
	for _, f := range r.Files {
		if f.BaseNS != nil && !slices.Contains(r.Bases, *f.BaseNS) {
			r.Bases = append(r.Bases, *f.BaseNS)
		}
	}
	slices.Sort(r.Bases)
	if n := len(r.Bases); n > 1 {
		r.Notes = append(r.Notes, trace.Note{Kind: trace.NoteBases, Count: int64(n)})
	}
}

// clocks compares every file that has collectives with a reference file: the first file with collectives that has the
// same stage and works on the same batches.
func (r *Report) clocks(heads []*set.Head, comms []*merge.Comms) {
	type reference struct {
		label  string
		events []clock.Event
	}
	refs := map[string]reference{}
	for i, f := range r.Files {
		events := comms[i].Sorted(heads[i].BaseNS)
		if len(events) == 0 {
			continue
		}
		place := comms[i].Place() + f.Stage
		ref, ok := refs[place]
		if !ok {
			refs[place] = reference{f.Label, events}
			continue
		}
		c := Clock{Label: f.Label, Against: ref.label, Verdict: "agree"}
		s, err := clock.Estimate(ref.events, events)
		c.OffsetNS, c.SpreadNS, c.N = s.Offset, s.Spread, s.N
		switch {
		case err != nil && clock.Plausible(ref.events, events):
			// The two files' recordings of each collective overlap, but the exit times vary too much to estimate an
			// offset.
			c.N = len(events)
		case err != nil:
			c.Verdict, c.Why = "unknown", err.Error()
		case s.Disagree() && s.Significant():
			c.Verdict = "disagree"
		}
		r.Clocks = append(r.Clocks, c)
	}
	var wrong []string
	for _, c := range r.Clocks {
		if c.Verdict == "disagree" {
			wrong = append(wrong, c.Label)
		}
	}
	if wrong != nil {
		r.Notes = append(r.Notes, trace.Note{Kind: trace.NoteClocks, Count: int64(len(wrong)), Names: wrong})
	}
}

// twins adds notes about recordings that occur more than once in the set.
func (r *Report) twins() {
	const most = 8 // maximum number of separate notes
	first := map[string]string{}
	n := 0
	for _, f := range r.Files {
		if f.TraceID == "" {
			continue
		}
		if other, ok := first[f.TraceID]; ok {
			if n++; n > most {
				continue
			}
			r.Notes = append(r.Notes, trace.Note{Kind: trace.NoteSameRecording, Count: 1, Names: []string{other, f.Path, f.TraceID}})
			continue
		}
		first[f.TraceID] = f.Path
	}
	if n > most {
		r.Notes = append(r.Notes, trace.Note{Kind: trace.NoteMoreSame, Count: int64(n - most)})
	}
}
