package read

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// reader distributes the events of one file to builders, one per rank: a plain file has one rank, and a merged file has
// one rank for each label in its pids.
type reader struct {
	file     set.File
	plain    *builder
	byLabel  map[string]*builder
	order    []*builder
	lastPID  []byte // pid of the last event; consecutive events mostly have the same label
	last     *builder
	metaText map[string]json.RawMessage
	merged   set.Merged // our merger's metadata about the parts of a merged file
}

// keptMeta are the top-level members that a Source uses.
var keptMeta = []string{"baseTimeNanoseconds", "distributedInfo", "deviceProperties", "trace_id", "host_name", "with_stack", set.Key}

func (r *reader) meta(key, value []byte) {
	if k := string(key); slices.Contains(keptMeta, k) && r.metaText[k] == nil {
		r.metaText[k] = bytes.Clone(value)
	}
}

// builderFor returns the builder of the rank that an event's pid names.
func (r *reader) builderFor(pid []byte) *builder {
	if len(pid) < 2 || pid[0] != '[' {
		if r.plain == nil {
			r.plain = newBuilder()
			r.order = append(r.order, r.plain)
		}
		return r.plain
	}
	if r.last != nil && bytes.Equal(pid, r.lastPID) {
		return r.last
	}
	label, _, ok := strings.Cut(string(pid[1:]), "] ")
	if !ok {
		label = strings.TrimSuffix(string(pid[1:]), "]")
	}
	b := r.byLabel[label]
	if b == nil {
		if r.byLabel == nil {
			r.byLabel = map[string]*builder{}
		}
		b = newBuilder()
		b.label = label
		r.byLabel[label] = b
		r.order = append(r.order, b)
	}
	r.lastPID, r.last = append(r.lastPID[:0], pid...), b
	return b
}

// finish finishes all builders and returns their traces in rank order.
func (r *reader) finish(src *chromejson.Source, stats chromejson.Stats) []*trace.Trace {
	base, oddBase := int64(0), int64(0)
	if v := r.metaText["baseTimeNanoseconds"]; v != nil {
		base, _ = chromejson.ParseInt(bytes.Trim(v, `" `))
		if base < 0 || base > farthest {
			base, oddBase = 0, 1
		}
	}
	_ = json.Unmarshal(r.metaText[set.Key], &r.merged)
	var out []*trace.Trace
	for _, b := range r.order {
		if len(r.order) > 1 && b.spans.n == 0 {
			continue // the label occurs only in names of rows
		}
		t := b.finish(base)
		t.Source = trace.Source{
			Path: r.file.Path, Rank: r.file.Name.Rank, Stage: r.file.Name.Stage, BaseNS: base,
			Complete: stats.End.Complete, Bytes: stats.Bytes, Events: b.events,
			WithStack: r.metaText["with_stack"] != nil,
		}
		t.Source.TraceID = chromejson.String(r.metaText["trace_id"])
		t.Source.Host = chromejson.String(r.metaText["host_name"])
		dist := r.metaText["distributedInfo"]
		if b.label != "" {
			dist = r.labelled(b.label, t)
		}
		t.Source.World = trace.ParseWorld(dist)
		t.Stretches = trace.FindStretches(t)
		r.stage(t)
		device(r.metaText["deviceProperties"], b.mainDevice(), &t.Source)
		r.notes(t, src, stats)
		checkInvariants(t, b.odd, true)
		if n := b.busyDevices(); n > 1 {
			t.Notes = append(t.Notes, trace.Note{Kind: trace.NoteDevices, Source: r.file.Path, Count: int64(n)})
		}
		if oddBase > 0 {
			t.Notes = append(t.Notes, trace.Note{Kind: trace.NoteBase, Source: r.file.Path, Count: 1})
		}
		out = append(out, t)
	}
	sorts.Stable(out, func(a, b *trace.Trace) int {
		return cmp.Or(a.Source.Rank.Compare(b.Source.Rank), cmp.Compare(a.Source.Stage, b.Source.Stage))
	})
	return out
}

// labelled sets the source of one rank of a merged file.
func (r *reader) labelled(label string, t *trace.Trace) (dist json.RawMessage) {
	rank, stage, _ := strings.Cut(label, " ")
	if at, ok := trace.ParseRank(rank); ok {
		t.Source.Rank, t.Source.Stage = at, stage
	}
	parts := 0 // number of parts with this label: several if the rank has stages
	for _, m := range r.merged.Ranks {
		if m.Label != label {
			continue
		}
		if parts++; parts == 1 {
			t.Source.TraceID, t.Source.Host, t.Source.Complete, dist = m.TraceID, m.Host, m.Complete, m.Info
		}
		t.Source.Complete = t.Source.Complete && m.Complete
	}
	return dist
}

// stage drops a stage label that the trace's steps contradict.
func (r *reader) stage(t *trace.Trace) {
	named := t.Source.Stage
	if named == "" {
		return
	}
	steps := map[string]int{}
	passes, _ := trace.Passes(t)
	for _, p := range passes {
		steps[p.Step.Kind.String()]++
	}
	stage, what := trace.HeldStage(named, steps)
	if t.Source.Stage = stage; what != "" {
		t.Notes = append(t.Notes, trace.Note{Kind: trace.NoteStageName, Source: r.file.Path, Count: 1, Names: []string{named, what}})
	}
}

func (r *reader) notes(t *trace.Trace, src *chromejson.Source, stats chromejson.Stats) {
	add := func(n trace.Note) {
		if n.Source = r.file.Path; n.Count > 0 {
			t.Notes = append(t.Notes, n)
		}
	}
	if end := stats.End; !end.Complete {
		add(trace.Note{Kind: trace.NoteEndsEarly, Names: []string{end.Reason}, Count: 1, Offset: end.Offset, FileOffset: src.Consumed(), Lost: end.Lost})
	}
	add(trace.Note{Kind: trace.NoteBrokenEvents, Count: stats.Skipped, Offset: stats.FirstSkip, Lost: stats.SkippedBytes})
	add(trace.Note{Kind: trace.NoteQuotes, Count: stats.Repaired})
	add(trace.Note{Kind: trace.NoteCleaned, Count: stats.Cleaned})
	if src.Garbage() {
		add(trace.Note{Kind: trace.NoteTrailingBytes, Count: 1})
	}
}

// device stores in src what the file's deviceProperties say of the device with the given id.
func device(raw json.RawMessage, id int32, src *trace.Source) {
	var devices []struct {
		ID   int32  `json:"id"`
		Name string `json:"name"`
		UUID any    `json:"uuid"`
		PCI  any    `json:"pciBusId"`
	}
	if raw == nil || json.Unmarshal(raw, &devices) != nil {
		return
	}
	src.HasGPU, src.Visible = len(devices) > 0, len(devices)
	for _, d := range devices {
		if d.ID == id && (d.Name != "" || src.Device == "") { // a merged file lists a device several times
			src.Device = d.Name
			src.UUID, _ = d.UUID.(string)
			src.PCI, _ = d.PCI.(string)
		}
	}
}
