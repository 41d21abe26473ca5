package open

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/trace"
)

// Note marks a moment of the trace with a flag on Perfetto's ruler.
type Note struct {
	TS   int64 // ns of trace time: for JSON input ts·1000, without the base added
	Text string
}

// Row is the row of a rank to pin: its main stream.
type Row struct {
	Rank   string // label as in the merged trace, with or without brackets: [TP00-DP01]
	Thread string // name of the row; empty: MainStream
}

// MainStream is the name of the row of PyTorch's default stream.
const MainStream = "stream 7"

const (
	maxPins = 16 // maximum number of pin commands; if there are more ranks, several share a command
	maxNote = 80 // characters; a longer note would cover its neighbours
)

// PinRows returns the commands that arrange a merged trace for comparing ranks. The commands collapse all tracks, pin
// the rows at the top in the given order, add a row with each rank's steps below the pinned rows, and add a note at
// each finding. The most important commands come first, and findings should be sorted the same way.
func PinRows(rows []Row, findings []Note) []Command {
	// The second argument is documented as optional. But without it Perfetto prompts the user for it.
	commands := []Command{{"dev.perfetto.CollapseTracksByRegex", []string{".*", "name"}}}

	// A command pins the matching rows in the order of the trace, so ranks that share a command stay in the order of
	// the merged trace.
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

// rowPattern matches the paths of the given rows, such as "[TP00] 0 12 > stream 7  7", but not the paths of overflow
// lanes or nested rows. A path is the process name, then the thread name. Perfetto appends the pid to the process name
// and the tid to the thread name, and libkineto appends a space to the name of a stream.
func rowPattern(rows []Row) string {
	// Rows with the same thread name share the thread half of the pattern, because the length of the link is limited.
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
		// TP1 must not match TP10 or TP1-DP0, and stream 7 must not match stream 70.
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

// stepsSQL selects the steps of every rank and the servers' annotations around them. It leaves out the copies of these
// annotations on GPU rows, because those rows are pinned already. The rank is the name of the process or, in traces
// without processes, of the row's group.
var stepsSQL = `select s.ts,s.dur,s.name,coalesce(p.name,up.name,k.name,'?') rank from slice s join track k on k.id=s.track_id ` +
	`left join track up on up.id=k.parent_id left join thread_track a on a.id=k.id left join thread t using(utid) ` +
	`left join process_track b on b.id=k.id left join process p on p.upid=ifnull(t.upid,b.upid) ` +
	`where (s.name glob '` + strings.Join(trace.StepGlobs(), `' or s.name glob '`) + `') ` +
	`and ifnull(s.category,'')!='gpu_user_annotation'`

// shorten reduces a note to one line of at most maxNote characters.
func shorten(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > maxNote {
		runes = append(runes[:maxNote-1], '…')
	}
	return string(runes)
}
