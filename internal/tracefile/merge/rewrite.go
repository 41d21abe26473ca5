package merge

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// rewriter edits in each event of one file the values that must be unique in the merged file, and copies the rest byte
// for byte. It edits pid, ts (if the file's clock is shifted), the ids of flows, args.correlation and args."External
// id", and args.sort_index of process rows. It removes libkineto's white space between the fields of an event.
type rewriter struct {
	prefix string // prefix of every pid, as JSON text without quotes: "[TP00] "; "": pids stay unchanged
	ids    IDMap
	index  int // index of the file
	shift  Shift
	sort   int64 // first sort index of the rank's rows, see rankOrder

	pidIn, pidOut []byte // last pid, and the text that replaces it
	edits         [maxEdits]edit
	n             int
	oddTimes      int64 // number of ts values that are not numbers; these stay unchanged
}

// Shift moves the times of a file by an offset, which grows over time if clocks drift.
type Shift struct {
	Offset  int64   // ns
	Drift   float64 // ns per ns from Since on
	Since   int64   // ns on the file's clock
	Nonzero bool
}

func (s Shift) at(ns int64) int64 {
	d := s.Offset
	if s.Drift != 0 {
		d += int64(math.Round(s.Drift * float64(ns-s.Since)))
	}
	return satAdd(ns, d)
}

const maxEdits = 16

// edit replaces raw[lo:hi].
type edit struct {
	lo, hi uint32
	what   what
}

type what uint8

const (
	dropText what = iota
	editPID
	editTS
	editFlowID
	editArgID
	editSort
	addPID // adds a pid at the end of an event without one
)

func (w *rewriter) add(lo, hi uint32, what what) {
	if w.n == maxEdits {
		return // cannot happen in practice: args never contain dozens of known ids; see event
	}
	i := w.n
	w.n++
	for ; i > 0 && w.edits[i-1].lo > lo; i-- {
		w.edits[i] = w.edits[i-1]
	}
	w.edits[i] = edit{lo, hi, what}
}

// event appends the event's new text to dst.
func (w *rewriter) event(dst []byte, e *chromejson.Event) []byte {
	raw := e.Raw
	w.n = 0
	// Add the edits in the usual order of fields, so that add need not sort them.
	kineto := bytes.HasPrefix(raw, []byte(spaceHead))
	if kineto {
		w.add(1, uint32(len(spaceHead)), dropText)
	}
	if w.prefix != "" && e.PID.Present() {
		w.add(e.PID.Lo, e.PID.Hi, editPID)
	}
	if kineto {
		w.squeeze(raw, e.TS, spaceTS)
	}
	if w.shift.Nonzero && e.TS.Present() {
		w.add(e.TS.Lo, e.TS.Hi, editTS)
	}
	if kineto {
		w.squeeze(raw, e.Args, spaceArgs)
	}
	w.addIDs(e)
	if e.Ph == 'M' && w.prefix != "" && string(e.Text(e.Name)) == "process_sort_index" {
		if at, ok := e.Arg(chromejson.ArgSortIndex); ok {
			w.add(at.Lo, at.Hi, editSort)
		}
	}
	if kineto && bytes.HasSuffix(raw, []byte(spaceTail)) {
		w.add(uint32(len(raw)-len(spaceTail)), uint32(len(raw)-1), dropText)
	}
	if w.prefix != "" && !e.PID.Present() {
		w.add(uint32(len(raw)-1), uint32(len(raw)-1), addPID)
	}
	at := uint32(0)
	for i := range w.edits[:w.n] {
		ed := &w.edits[i]
		if ed.lo < at {
			continue
		}
		dst = append(dst, raw[at:ed.lo]...)
		dst = w.apply(dst, e, ed.what, raw[ed.lo:ed.hi])
		at = ed.hi
	}
	return append(dst, raw[at:]...)
}

// White space that libkineto writes before the first key, ts and args, and at the end.
const (
	spaceHead = "{\n    "
	spaceTS   = ",\n    \"ts\": "
	spaceArgs = ",\n    \"args\": "
	spaceTail = "\n  }"
)

// squeeze removes libkineto's line break before a field's key. These line breaks make up a twentieth of all text.
func (w *rewriter) squeeze(raw []byte, f chromejson.Field, before string) {
	if lo := int(f.Lo) - len(before); lo > 0 && string(raw[lo:f.Lo]) == before {
		w.add(uint32(lo+1), uint32(lo+5), dropText)
	}
}

// addIDs maps the ids that connect events.
func (w *rewriter) addIDs(e *chromejson.Event) {
	if w.ids.Stride <= 1 {
		return
	}
	if e.ID.Present() && e.Ph != 'C' && e.Ph != 'M' {
		w.add(e.ID.Lo, e.ID.Hi, editFlowID)
	}
	for i := range e.Known {
		if k := e.Known[i].Key; k == chromejson.ArgExternalID || k == chromejson.ArgCorrelation {
			w.add(e.Known[i].At.Lo, e.Known[i].At.Hi, editArgID)
		}
	}
	w.eventSync(e)
}

// eventSync maps the correlation by which a wait on a CUDA event refers to the call that recorded it.
func (w *rewriter) eventSync(e *chromejson.Event) {
	if e.Cat.Hi-e.Cat.Lo != uint32(len(`"cuda_sync"`)) || string(e.Text(e.Cat)) != "cuda_sync" || !e.Args.Present() {
		return
	}
	const key = `"wait_on_cuda_event_record_corr_id":`
	at := bytes.Index(e.Value(e.Args), []byte(key))
	if at < 0 {
		return
	}
	lo := int(e.Args.Lo) + at + len(key)
	for lo < len(e.Raw) && e.Raw[lo] == ' ' {
		lo++
	}
	hi := lo
	for hi < len(e.Raw) && e.Raw[hi]-'0' <= 9 {
		hi++
	}
	if hi > lo {
		w.add(uint32(lo), uint32(hi), editArgID)
	}
}

func (w *rewriter) apply(dst []byte, e *chromejson.Event, what what, old []byte) []byte {
	switch what {
	case editPID:
		if !bytes.Equal(old, w.pidIn) || w.pidIn == nil {
			w.pidIn = append(w.pidIn[:0], old...)
			w.pidOut = appendPID(w.pidOut[:0], w.prefix, old)
		}
		return append(dst, w.pidOut...)
	case addPID:
		if len(bytes.TrimSpace(e.Raw[1:len(e.Raw)-1])) > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `"pid": `...)
		return appendPID(dst, w.prefix, nil)
	case editTS:
		return w.appendTS(dst, old)
	case editFlowID:
		return w.ids.append(dst, old, w.index, true)
	case editArgID:
		return w.ids.append(dst, old, w.index, false)
	case editSort:
		return strconv.AppendInt(dst, rowOrder(w.sort, e.Value(e.PID)), 10)
	}
	return dst
}

// appendPID appends prefix and the old pid as one JSON string, as SGLang's merger labels rows.
func appendPID(dst []byte, prefix string, old []byte) []byte {
	dst = append(dst, '"')
	dst = append(dst, prefix...)
	switch {
	case len(old) >= 2 && old[0] == '"':
		dst = append(dst, old[1:len(old)-1]...)
	case len(old) > 0 && (old[0] == '{' || old[0] == '['):
		text, _ := json.Marshal(string(old))
		dst = append(dst, text[1:len(text)-1]...)
	default:
		dst = append(dst, old...)
	}
	return append(dst, '"')
}

func (w *rewriter) appendTS(dst, old []byte) []byte {
	quoted := len(old) >= 2 && old[0] == '"'
	text := old
	if quoted {
		text = old[1 : len(old)-1]
	}
	ns, ok := chromejson.ParseMicros(text)
	if !ok {
		w.oddTimes++
		return append(dst, old...)
	}
	if quoted {
		dst = append(dst, '"')
	}
	dst = chromejson.AppendMicros(dst, w.shift.at(ns))
	if quoted {
		dst = append(dst, '"')
	}
	return dst
}

// rankOrder returns the first sort index of a rank's rows by SGLang's formula.
func rankOrder(r trace.Rank) int64 {
	dp, ep, pp, tp := int64(max(r.DP, 0)), int64(max(r.EP, 0)), int64(max(r.PP, 0)), int64(max(r.TP, 0))
	return dp*100_000_000 + ep*1_000_000 + pp*10_000 + tp*100
}

// rowOrder returns the sort index of a row, such that the rows of a rank stay together. The index of a device row (pid
// below 1000) is rank + pid, as in SGLang. The CPU process is sorted just before the devices. Rows that are not
// processes ("Spans") are sorted after the devices.
func rowOrder(rank int64, pid []byte) int64 {
	n, ok := chromejson.ParseInt(pid)
	switch {
	case !ok:
		return rank + 99
	case n < 1000:
		return rank + n
	}
	return rank - 1
}
