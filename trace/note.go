package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity grades a Note.
type Severity uint8

// Info is for information only, Warning casts doubt on some figures, and Loss means that part of the recording is
// missing.
const (
	Info Severity = iota
	Warning
	Loss
)

func (s Severity) String() string { return [...]string{"info", "warning", "loss"}[min(s, 2)] }

// Note reports data that could not be used or had to be repaired. The fields hold the facts, and Text renders them as a
// sentence.
type Note struct {
	Kind   NoteKind
	Source string // file; "" if the note concerns no single file
	Count  int64  // number of items that the note is about
	// Names are the names or texts that the note mentions, such as other files, ranks, or a message of the recording
	// program.
	Names []string
	// Offset, FileOffset and Lost describe a truncated file. Offset is the number of valid bytes of decompressed text.
	// FileOffset is the corresponding position in the file. Lost is the number of lost bytes of text.
	Offset, FileOffset, Lost int64
	// From and To bound the part of a capture that is read, and End is the end of the capture. In some kinds of note,
	// End is a distance instead. All three are in ns.
	From, To, End int64
}

// NoteKind is the subject of a note.
type NoteKind uint8

// Note kinds. The comment beside a kind describes the note, and its Names if it has any.
const (
	NoNote NoteKind = iota

	// The following kinds report inputs that package set left out.
	NoteGivenTwice
	NoteExportRead   // a report was left out; Names[0] is its newer export
	NoteReportRead   // an export was left out; Names[0] is the newer report from which it was made
	NoteNotReadable  // not a regular file, or no permission
	NoteMergedFile   // a merged file was left out because its parts are present as well
	NoteGraphCapture // a capture of CUDA graphs, made before serving
	NoteNoRank       // a trace of a process without a rank
	NoteCopy         // byte for byte the file of another rank, Names[0]
	NoteRepeat       // the events of another file of the window, Names[0]
	NoteNoWork       // no GPU work, unlike other ranks
	NoteOtherRank    // the name gives the rank Names[0], but distributedInfo gives the rank Count
	NotePlainName    // a trace without a rank in its name, in a folder with traces that have one
	NoteTogether     // Count files without any sign of their rank

	// The following kinds are problems found by the readers of Chrome JSON. Reports list them in this order.
	NoteEndsEarly     // Names[0] gives the reason; Offset, FileOffset and Lost give the position
	NoteBrokenEvents  // broken events were skipped; Lost is their size, Offset is the position of the first
	NoteQuotes        // unescaped quotes, repaired
	NoteCleaned       // NaN, control characters, broken UTF-8
	NoteTrailingBytes // bytes after the last gzip member
	NoteBase          // baseTimeNanoseconds is not a plausible time
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

	// The following kinds are problems and remarks of the reader of Nsight Systems' exports.
	NoteThreadsLeft
	NoteProcessesLeft
	NoteRowBackwards
	NoteRowTime
	NoteNsysLost // Names[0] is nsys's message
	NoteNsysSaid // Names[0] is nsys's message
	NoteNoEpoch
	NoteSchema     // Names[0] is the version of the schema
	NoteTooLong    // From, To: the part read; End: the end of the requested part
	NoteGraphs     // CUDA graphs recorded as a whole
	NoteOpenRanges // NVTX ranges still open at the end
	NoteGuestsLeft
	NoteNoGPU
	NoteApart // recorded End ns apart from the report Names[0]

	// The following kinds come from a merge.
	NoteCategories // Names: the categories kept
	NoteNoPython
	NoteNoBase
	NoteNotAligned // Names[0] gives the reason
	NoteDisagree
	NoteAligned
	NoteClamped

	NoteRunsOn  // Count GPU ops that end after a later op of their stream
	NoteCross   // Count spans cross another span of their thread
	NoteSetBack // Count events come before an event with a lower correlation id; End is the largest distance, ns, or 0
	NoteLateOps // Count GPU ops that end after the synchronisation that waited for them
	NoteLostOps // Count launches out of Lost have no GPU op
	NoteBeforeLaunch
	NoteTwice        // Count GPU ops are recorded more than once
	NoteUnpaired     // more than Count launches
	NoteTwiceUnknown // more than Count GPU ops
	NoteDevices      // one file has kernels of Count GPUs

	// Names: the stage in the file's name, and the file's steps of the other stage
	NoteStageName
	NoteUneven // Count steps

	// The following kinds are findings of a check.
	NotePart          // Names: a part of a merged file, and the problem with that part
	NoteBases         // the files have Count different bases
	NoteClocks        // Names: the ranks with impossible clocks
	NoteSameRecording // Names: two files, and the trace_id they have in common
	NoteMoreSame

	numNoteKinds
)

// noteKinds holds the severity and the text of each kind; args returns the arguments of the text.
var noteKinds = [numNoteKinds]struct {
	severity Severity
	text     string
	args     func(Note) []any
}{
	NoNote: {Info, "", nil},

	NoteGivenTwice:   {Warning, "given twice, read once", nil},
	NoteExportRead:   {Info, "left out: its export %s is read instead", Note.names},
	NoteReportRead:   {Info, "left out: older than the report %s", Note.names},
	NoteNotReadable:  {Warning, "left out: not a readable file", nil},
	NoteMergedFile:   {Info, "left out: a merged file; its parts are read instead", nil},
	NoteGraphCapture: {Info, "left out: a CUDA graph capture, not a serving window", nil},
	NoteNoRank:       {Info, "left out: no rank, no steps and no GPU work (vLLM's API process writes such traces)", nil},
	NoteCopy:         {Loss, "left out: a copy of %s under another rank's name", Note.names},
	NoteRepeat:       {Info, "left out: a copy of %s", Note.names},
	NoteNoWork:       {Loss, "no GPU work in the file, unlike the files of other ranks", nil},
	NoteOtherRank: {Warning, "its name says %s, but its distributedInfo says rank %d: findings use the name", func(n Note) []any {
		return []any{n.name(), n.Count}
	}},
	NotePlainName: {Info, "left out: a trace, but its name gives no rank, unlike the others here; give it by its path", nil},
	NoteTogether:  {Warning, "%d files without a rank in their names begin within a second of each other: treated as the ranks of one window", Note.count},

	NoteEndsEarly: {Loss, "%s: readable up to byte %d of the text (byte %d of the file), %d bytes after it lost", func(n Note) []any {
		return []any{n.name(), n.Offset, n.FileOffset, n.Lost}
	}},
	NoteBrokenEvents: {Loss, "broken events skipped (%d bytes), the first at byte %d of the text", func(n Note) []any {
		return []any{n.Lost, n.Offset}
	}},
	NoteQuotes:         {Info, "events with unescaped quotes repaired", nil},
	NoteCleaned:        {Info, "values with NaN, control characters or broken UTF-8 replaced", nil},
	NoteTrailingBytes:  {Info, "bytes after the last gzip member ignored", nil},
	NoteBase:           {Warning, "baseTimeNanoseconds is not a time in this century, taken as 0", nil},
	NoteNeverEnded:     {Warning, "B events without an E, length taken as 0", nil},
	NoteNeverBegun:     {Warning, "E events without a B", nil},
	NoteDaysAway:       {Loss, "events days away from the rest dropped", nil},
	NotePhaseUnknown:   {Warning, "events of unknown ph %s", Note.names},
	NotePhaseMissing:   {Warning, "events without ph", nil},
	NoteMemoryTime:     {Warning, "memory events without a usable ts", nil},
	NoteNegative:       {Loss, "negative durations: GPU work left out, other spans taken as 0", nil},
	NoteDaysLong:       {Loss, "spans longer than 7 days dropped", nil},
	NoteDaysLongNested: {Warning, "spans longer than 7 days taken as 0", nil},
	NoteNoDur:          {Loss, "spans without a usable dur", nil},
	NoteNoTime:         {Loss, "spans without a usable ts", nil},

	NoteThreadsLeft:   {Warning, "NVTX ranges of threads without steps left out", nil},
	NoteProcessesLeft: {Info, "events of processes without GPU work left out", nil},
	NoteRowBackwards:  {Loss, "rows that end before they start", nil},
	NoteRowTime:       {Loss, "rows with impossible times", nil},
	NoteNsysLost:      {Loss, "nsys: %s", Note.names},
	NoteNsysSaid:      {Info, "nsys: %s", Note.names},
	NoteNoEpoch:       {Warning, "the report does not say when it began: its times count from 1970", nil},
	NoteSchema:        {Warning, "unknown export schema %s (known: 3.x): tables and columns that it renamed are missing", Note.names},
	NoteTooLong: {Loss, "too long to hold in memory: %.3f s to %.3f s of the capture are read, the rest up to %.3f s is left out; choose another window with --from and --to",
		func(n Note) []any { return []any{seconds(n.From), seconds(n.To), seconds(n.End)} }},
	NoteGraphs:     {Warning, "CUDA graphs recorded as a whole: their kernels, including collectives, are not in the report; capture with --cuda-graph-trace=node", nil},
	NoteOpenRanges: {Info, "NVTX ranges still open at the end of the capture: treated as ending there", nil},
	NoteGuestsLeft: {Warning, "events of processes without steps left out: they use little of a GPU that another process drives", nil},
	NoteNoGPU:      {Warning, "no GPU work in the report: only NVTX ranges and host calls can be shown", nil},
	NoteApart: {Warning, "%.1f s apart from %s: two windows, treated as ranks of one because they were given together or because of their names; compare them instead",
		func(n Note) []any { return []any{seconds(n.End), n.name()} }},

	NoteCategories: {Info, "only events of these categories: %s", Note.list},
	NoteNoPython:   {Info, "without events of category python_function", nil},
	NoteNoBase:     {Warning, "has no baseTimeNanoseconds and its times do not count from 1970: left unchanged", nil},
	NoteNotAligned: {Warning, "clock not aligned: %s", Note.names},
	NoteDisagree:   {Warning, "the clocks of the ranks disagree and were not aligned: write to a file, or give --align always", nil},
	NoteAligned:    {Info, "clocks aligned: the files name no hosts, and most collectives ended on one rank before they began on another", nil},
	NoteClamped:    {Warning, "%d events before the trace's base moved to it", Note.count},

	NoteStageName: {Warning, "its name says %s, but it holds %s: the content decides", Note.names},
	NoteRunsOn:    {Loss, "GPU ops that end after a later op of their stream: cut at its start", nil},
	NoteCross:     {Loss, "host spans that cross on one thread, since the clock was set back while recording: times around them are wrong", nil},
	NoteSetBack:   {Loss, "events out of order, since the clock was set back while recording: times around them are wrong", nil},
	NoteLateOps:   {Loss, "GPU ops that end after the synchronisation that waited for them: times of GPU work are wrong", nil},
	NoteLostOps: {Loss, "no GPU record of %d of %d kernel and graph launches: figures of GPU work are too low", func(n Note) []any {
		return []any{n.Count, n.Lost}
	}},
	NoteBeforeLaunch: {Loss, "launches whose GPU work begins before them: the clocks of host and GPU disagree, and waits and idle times are wrong", nil},
	NoteTwice:        {Loss, "repeated records of GPU ops: each op counts once", nil},
	NoteUnpaired:     {Info, "more than %d launches or copies: not compared with their GPU work", Note.count},
	NoteTwiceUnknown: {Info, "more than %d GPU ops: repeated records not looked for", Note.count},
	NoteDevices:      {Loss, "kernels of %d GPUs in one file count as one rank: write one file per rank to compare ranks", Note.count},
	NoteUneven:       {Warning, "steps where one stage ends or the next begins left out: another rank did not record them", nil},

	NotePart:          {Loss, "part %s: %s", Note.names},
	NoteBases:         {Warning, "%d different baseTimeNanoseconds: times cannot be compared until they are converted to a common base", Note.count},
	NoteClocks:        {Warning, "the clocks of %s cannot be right: most collectives end there before another rank begins them", Note.list},
	NoteSameRecording: {Warning, "%s and %s are the same recording (trace_id %s)", Note.names},
	NoteMoreSame:      {Warning, "and %d more duplicate another recording", Note.count},
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

// Severity returns the severity of the note's kind.
func (n Note) Severity() Severity { return noteKinds[n.Kind].severity }

// Text renders the note without its source and usually without its count.
func (n Note) Text() string {
	k := &noteKinds[n.Kind]
	if k.args == nil {
		return k.text
	}
	return fmt.Sprintf(k.text, k.args(n)...)
}

// SaysCount reports whether the text contains the count.
func (n Note) SaysCount() bool {
	switch n.Kind {
	case NoteTogether, NoteOtherRank, NoteClamped, NoteBases, NoteMoreSame, NoteDevices, NoteLostOps, NoteNsysLost, NoteUnpaired, NoteTwiceUnknown:
		return true
	}
	return false
}

// String returns the source, if any, and the text.
func (n Note) String() string {
	if n.Source == "" {
		return n.Text()
	}
	return n.Source + ": " + n.Text()
}

// MarshalText encodes a note in JSON as one line of text.
func (n Note) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// Tally counts irregularities over many events, by kind and, for some kinds, by name.
type Tally map[Oddity]int64

// Oddity is the key of a Tally.
type Oddity struct {
	Kind NoteKind
	Name string
}

// Add counts n irregularities of a kind.
func (t Tally) Add(kind NoteKind, n int64) { t[Oddity{Kind: kind}] += n }

// Notes returns the counts as notes, in the order of the kinds.
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
