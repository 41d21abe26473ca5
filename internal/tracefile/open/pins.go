package open

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/trace"
)

// A Note marks a moment of the trace with a flag on Perfetto's ruler.
type Note struct {
	TS   int64 // ns, trace time: for JSON input ts·1000, the base not added
	Text string
}

// A Row is the row of a rank to pin: its main stream.
type Row struct {
	Rank   string // the label as the merged trace writes it, with or without brackets: [TP00-DP01]
	Thread string // the row's name; empty: MainStream
}

// MainStream is the name of the row that PyTorch's default stream gets in a trace.
const MainStream = "stream 7"

const (
	maxPins = 16 // commands; beyond this many ranks, several share one
	maxNote = 80 // characters; a longer text would cover its neighbours
)

// PinRows returns the commands that arrange a merged trace for comparing ranks: everything collapsed, the rows on top
// in the given order, below them a row of the steps of each rank, and a note at each finding. The most important come
// first, and so should findings.
func PinRows(rows []Row, findings []Note) []Command {
	// The second argument is optional on paper; given, it keeps Perfetto from asking for it.
	commands := []Command{{"dev.perfetto.CollapseTracksByRegex", []string{".*", "name"}}}

	// A command pins what it matches in the trace's own order, so ranks that share one keep the order of the merge.
	each := max(1, (len(rows)+maxPins-1)/maxPins)
	for len(rows) > 0 {
		n := min(each, len(rows))
		commands = append(commands, Command{"dev.perfetto.PinTracksByRegex", []string{rowPattern(rows[:n]), "path"}})
		rows = rows[n:]
	}

	commands = append(commands, Command{"dev.perfetto.AddDebugSliceTrackWithPivot", []string{stepsSQL, "rank", "steps"}})
	for _, f := range findings {
		commands = append(commands, Command{"dev.perfetto.AddNoteAtTimestamp", []string{strconv.FormatInt(f.TS, 10), shorten(f.Text)}})
	}
	return commands
}

// rowPattern matches the paths, such as "[TP00] 0 12 > stream 7  7", of the given rows, and of no overflow lane or
// nested row. A path is process, then thread; Perfetto puts pid and tid behind their names, and libkineto a space
// behind the stream's.
func rowPattern(rows []Row) string {
	// Rows with the same thread name share its half of the pattern: the link is short of room.
	var threads []string
	labels := map[string][]string{}
	for _, r := range rows {
		thread := cmp.Or(strings.TrimSpace(r.Thread), MainStream)
		if labels[thread] == nil {
			threads = append(threads, thread)
		}
		labels[thread] = append(labels[thread], regexp.QuoteMeta(strings.Trim(r.Rank, "[] ")))
	}
	alternatives := make([]string, len(threads))
	for i, thread := range threads {
		// TP1 is neither TP10 nor a part of TP1-DP0, and stream 7 is not stream 70.
		alternatives[i] = `(^|[^\w-])` + group(labels[thread]) + `(?![\w-]).*> ` + regexp.QuoteMeta(thread) + `(?!\w)[ ()\d]*$`
	}
	return strings.Join(alternatives, "|")
}

func group(alternatives []string) string {
	if len(alternatives) == 1 {
		return alternatives[0]
	}
	return "(" + strings.Join(alternatives, "|") + ")"
}

// stepsSQL selects the steps of every rank, and what the servers mark around them. The copies on the GPU rows are left
// out, as those rows are pinned already. The rank is the name of the process, or of the group that holds the row where
// a trace has no processes.
var stepsSQL = `select s.ts,s.dur,s.name,coalesce(p.name,up.name,k.name,'?') rank from slice s join track k on k.id=s.track_id ` +
	`left join track up on up.id=k.parent_id left join thread_track a on a.id=k.id left join thread t using(utid) ` +
	`left join process_track b on b.id=k.id left join process p on p.upid=ifnull(t.upid,b.upid) ` +
	`where (s.name glob '` + strings.Join(trace.StepGlobs(), `' or s.name glob '`) + `') ` +
	`and ifnull(s.category,'')!='gpu_user_annotation'`

// shorten cuts a note to one line of maxNote characters.
func shorten(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > maxNote {
		runes = append(runes[:maxNote-1], '…')
	}
	return string(runes)
}
