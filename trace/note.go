package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity grades a Note.
type Severity uint8

// Info is worth knowing, Warning casts doubt on some figures, Loss means that
// part of the recording is not there.
const (
	Info Severity = iota
	Warning
	Loss
)

func (s Severity) String() string { return [...]string{"info", "warning", "loss"}[min(s, 2)] }

// Note is something that could not be used or had to be repaired. It is a fact
// with its figures; Text alone says it in words.
type Note struct {
	Kind   NoteKind
	Source string // file; "": of none, or of all
	Count  int64  // of what the kind counts
	// Names are what the kind speaks of: other files, ranks, the words of the
	// program that recorded.
	Names []string
	// Of a file that cannot be read to its end: bytes of decompressed text that
	// are good, where that is in the file, and bytes of text that are lost.
	Offset, FileOffset, Lost int64
	// What part of a capture is read, and where it ends; or how far apart two
	// are. In ns.
	From, To, End int64
}

// NoteKind says what a note is about.
type NoteKind uint8

// The kinds. Names of a note are said where a kind has any.
const (
	NoNote NoteKind = iota

	// What package set leaves out.
	NoteGivenTwice
	NoteExportRead   // a report: Names[0] is its export, and newer
	NoteReportRead   // an export: Names[0] is the report that it is of, and newer
	NoteNotReadable  // no regular file, or without permission
	NoteMergedFile   // its parts are there, too
	NoteGraphCapture // of CUDA graphs, before serving
	NoteNoRank       // of a process that has no rank
	NoteTogether     // Count files of which nothing tells the rank

	// What the readers of Chrome JSON could not use. Those that stand between
	// the first and the last are listed in this order.
	NoteEndsEarly     // Names[0] says why; Offset, FileOffset and Lost say where
	NoteBrokenEvents  // skipped; Lost is their size, Offset that of the first
	NoteQuotes        // unescaped ones, repaired
	NoteCleaned       // NaN, control characters, broken UTF-8
	NoteTrailingBytes // after the last gzip member
	NoteBase          // baseTimeNanoseconds is no time
	NoteNeverEnded
	NoteNeverBegun
	NoteDaysAway
	NotePhaseUnknown // Names[0] is the phase, in quotes
	NotePhaseMissing
	NoteMemoryTime
	NoteNegative
	NoteDaysLong
	NoteDaysLongNested
	NoteNoDur
	NoteNoTime

	// What the reader of Nsight Systems' exports could not use, or tells.
	NoteThreadsLeft
	NoteProcessesLeft
	NoteRowBackwards
	NoteRowTime
	NoteNsysLost // Names[0] is what nsys says
	NoteNsysSaid // Names[0] is what nsys says
	NoteNoEpoch
	NoteSchema     // Names[0] is its version
	NoteTooLong    // From, To: what is read; End: the end of what was asked for
	NoteGraphs     // CUDA graphs recorded as a whole
	NoteOpenRanges // NVTX ranges that were open at the end
	NoteGuestsLeft
	NoteNoGPU
	NoteApart // by End ns from the report Names[0]

	// What a merge did.
	NoteCategories // Names: those that are kept
	NoteNoPython
	NoteNoBase
	NoteNotAligned // Names[0] says why
	NoteDisagree
	NoteAligned
	NoteClamped

	// Names: the stage in a file's name, and the steps of the other one that it holds.
	NoteStageName
	NoteUneven // Count steps

	// What a check found.
	NotePart          // Names: a part of a merged file, and its problem
	NoteBases         // Count different ones
	NoteClocks        // Names: the ranks whose clocks cannot be right
	NoteSameRecording // Names: two files, and their trace_id
	NoteMoreSame

	numNoteKinds
)

// noteKinds says how bad each kind is, and words it; args are its figures.
var noteKinds = [numNoteKinds]struct {
	severity Severity
	text     string
	args     func(Note) []any
}{
	NoNote: {Info, "", nil},

	NoteGivenTwice:   {Warning, "given twice, read once", nil},
	NoteExportRead:   {Info, "left out: its export is read instead, %s", Note.names},
	NoteReportRead:   {Info, "left out: older than the report, %s", Note.names},
	NoteNotReadable:  {Warning, "left out: not a readable file", nil},
	NoteMergedFile:   {Info, "left out: a merged file, its parts are read instead", nil},
	NoteGraphCapture: {Info, "left out: a CUDA graph capture, not a serving window", nil},
	NoteNoRank:       {Info, "left out: it names no rank and has no steps and no GPU work (vLLM's API process writes such a trace)", nil},
	NoteTogether:     {Warning, "%d files that name no ranks begin within a second of each other: taken for the ranks of one window", Note.count},

	NoteEndsEarly: {Loss, "%s: readable up to byte %d of the text (byte %d of the file), %d bytes after it lost", func(n Note) []any {
		return []any{n.name(), n.Offset, n.FileOffset, n.Lost}
	}},
	NoteBrokenEvents: {Loss, "broken events skipped (%d bytes), the first at byte %d of the text", func(n Note) []any {
		return []any{n.Lost, n.Offset}
	}},
	NoteQuotes:         {Info, "events with unescaped quotes repaired", nil},
	NoteCleaned:        {Info, "values with NaN, control characters or broken UTF-8 replaced", nil},
	NoteTrailingBytes:  {Info, "bytes after the last gzip member ignored", nil},
	NoteBase:           {Warning, "baseTimeNanoseconds is not a time of this century, taken as 0", nil},
	NoteNeverEnded:     {Warning, "B events without an E, length taken as 0", nil},
	NoteNeverBegun:     {Warning, "E events without a B", nil},
	NoteDaysAway:       {Loss, "events days away from the rest dropped", nil},
	NotePhaseUnknown:   {Warning, "events of unknown ph %s", Note.names},
	NotePhaseMissing:   {Warning, "events without ph", nil},
	NoteMemoryTime:     {Warning, "memory events without a usable ts", nil},
	NoteNegative:       {Warning, "negative durations taken as 0", nil},
	NoteDaysLong:       {Loss, "spans longer than 7 days dropped", nil},
	NoteDaysLongNested: {Warning, "spans longer than 7 days taken as 0", nil},
	NoteNoDur:          {Loss, "spans without a usable dur", nil},
	NoteNoTime:         {Loss, "spans without a usable ts", nil},

	NoteThreadsLeft:   {Warning, "NVTX ranges of threads without steps left out", nil},
	NoteProcessesLeft: {Info, "events of processes without GPU work left out", nil},
	NoteRowBackwards:  {Warning, "rows that end before they start", nil},
	NoteRowTime:       {Warning, "rows with impossible times", nil},
	NoteNsysLost:      {Loss, "nsys: %s", Note.names},
	NoteNsysSaid:      {Info, "nsys: %s", Note.names},
	NoteNoEpoch:       {Warning, "the report does not say when it began: its times count from 1970", nil},
	NoteSchema:        {Warning, "schema %s of the export is not known here (known: 3.x): what it renamed is missing", Note.names},
	NoteTooLong: {Loss, "too long to hold at once: %.3f s to %.3f s of the capture are read, up to %.3f s are left out; choose another window with --from and --to",
		func(n Note) []any { return []any{seconds(n.From), seconds(n.To), seconds(n.End)} }},
	NoteGraphs:     {Warning, "CUDA graphs recorded as a whole: their kernels, collectives among them, are not in the report; capture with --cuda-graph-trace=node", nil},
	NoteOpenRanges: {Info, "NVTX ranges open at the end of the capture: taken to last until then", nil},
	NoteGuestsLeft: {Warning, "events of processes without steps left out: they use little of a GPU that another process drives", nil},
	NoteNoGPU:      {Warning, "no GPU work in the report: only NVTX ranges and host calls can be shown", nil},
	NoteApart: {Warning, "%.1f s apart from %s: two windows, treated as ranks of one window since they were given together, or by their names; compare them instead",
		func(n Note) []any { return []any{seconds(n.End), n.name()} }},

	NoteCategories: {Info, "only events of these categories: %s", Note.list},
	NoteNoPython:   {Info, "without events of category python_function", nil},
	NoteNoBase:     {Warning, "has no baseTimeNanoseconds and its times do not count from 1970: left as they are", nil},
	NoteNotAligned: {Warning, "clock not aligned: %s", Note.names},
	NoteDisagree:   {Warning, "the clocks of the ranks disagree and were not aligned: write to a file, or give --align always", nil},
	NoteAligned:    {Info, "clocks aligned: the files name no hosts, and most collectives ended on one rank before they began on another", nil},
	NoteClamped:    {Warning, "%d events before the trace's base moved to it", Note.count},

	NoteStageName: {Warning, "its name says %s, but it holds %s: it is taken for what it holds", Note.names},
	NoteUneven:    {Warning, "steps where one stage ends or the next begins left out: another rank did not record them", nil},

	NotePart:          {Loss, "its part %s: %s", Note.names},
	NoteBases:         {Warning, "%d different baseTimeNanoseconds: times cannot be compared before they are converted to a common base", Note.count},
	NoteClocks:        {Warning, "the clocks of %s cannot be right: most collectives end there before another rank begins them", Note.list},
	NoteSameRecording: {Warning, "%s and %s are the same recording (trace_id %s)", Note.names},
	NoteMoreSame:      {Warning, "and %d more are the same recording as another", Note.count},
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

func (n Note) name() string {
	if len(n.Names) == 0 {
		return ""
	}
	return n.Names[0]
}

func (n Note) names() (args []any) {
	for _, s := range n.Names {
		args = append(args, s)
	}
	return args
}

func (n Note) list() []any  { return []any{strings.Join(n.Names, ", ")} }
func (n Note) count() []any { return []any{n.Count} }

// Severity grades the note: it follows from the kind.
func (n Note) Severity() Severity { return noteKinds[n.Kind].severity }

// Text says the note in words, without its source and, mostly, its count.
func (n Note) Text() string {
	k := &noteKinds[n.Kind]
	if k.args == nil {
		return k.text
	}
	return fmt.Sprintf(k.text, k.args(n)...)
}

// String is the text after the source.
func (n Note) String() string {
	if n.Source == "" {
		return n.Text()
	}
	return n.Source + ": " + n.Text()
}

// MarshalText makes a line of a note where JSON shows it.
func (n Note) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// Tally counts what is odd about many events: by kind and, where that has
// one, name.
type Tally map[Oddity]int64

// Oddity is what a Tally counts.
type Oddity struct {
	Kind NoteKind
	Name string
}

// Add counts n of a kind.
func (t Tally) Add(kind NoteKind, n int64) { t[Oddity{Kind: kind}] += n }

// Notes are the counts, in the order of the kinds.
func (t Tally) Notes(source string) (notes []Note) {
	for o, count := range t {
		n := Note{Kind: o.Kind, Source: source, Count: count}
		if o.Name != "" {
			n.Names = []string{o.Name}
		}
		notes = append(notes, n)
	}
	slices.SortFunc(notes, func(a, b Note) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), slices.Compare(a.Names, b.Names)) })
	return notes
}
