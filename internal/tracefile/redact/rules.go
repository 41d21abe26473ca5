package redact

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// rules holds the redaction function of each rule.
var rules [numRules]func(r *Redactor, s string) string

func init() {
	rules = [numRules]func(*Redactor, string) string{
		asNumber: form(`[\d\s,.+\[\]eE-]*|True|False|None|inf|nan`, argument), asWord: form(`[A-Za-z]{0,3}`, argument),
		asCode:  form(`[A-Za-z0-9_.:+() -]{0,64}`, argument),
		asType:  form(`[A-Za-z0-9_.:<>,*&()\[\]? -]{0,256}`, argument),
		asInput: form(`[\d\s,.+\[\]()eE-]*|True|False|None|\[(?:True|False|, )*\]|cuda(?::\d+)?|cpu|`+modulePath, argument),
		asGroup: form(`[A-Za-z0-9_.:-]{0,40}`, group),
		asCategory: form(`(?:gpu_)?user_annotation|cpu_op|python_function|(?:cuda|hip)_runtime|cuda_driver|kernel|gpu_mem(?:cpy|set)|cuda_(?:sync|event)|cpu_instant_event|overhead|`+
			`ac2g|fwdbwd|other|counter|gpu_metrics|Trace|Operator|Kernel|Memcpy|Memset|Runtime|`, category),
		asID:  form(`\d*|0x[0-9a-fA-F]+|\d+:-?\d+`, row),
		asPID: pid, asTID: pid, asSort: pid, asLabel: pid,
		asHost:     func(r *Redactor, s string) string { return r.hidden(host, s) },
		asTrace:    func(r *Redactor, s string) string { return r.hidden(recording, s) },
		asRequests: requests, asStack: stack,
		asRowLabels: form(`(?:CPU|GPU \d+)?`, row),
		asProcess:   processName, asThread: threadName,
		asMark: marks.rule, asNote: notes.rule,
		asOp: ops.rule, asKernel: func(r *Redactor, s string) string { return r.clean(s) },
		asCall:  form(`[A-Za-z_][A-Za-z0-9_]{0,80}`, call),
		asFrame: pythonFrame,
	}
	for k := range numRules { // a text in a list of objects becomes ""
		if k.members() != nil {
			rules[k] = form("", argument)
		}
	}
}

// form returns a rule that keeps texts that match the pattern, except for secrets within them, and replaces all other
// texts.
func form(pattern string, k kind) func(*Redactor, string) string {
	re := regexp.MustCompile(`^(?:` + pattern + `)$`)
	return func(r *Redactor, s string) string {
		if re.MatchString(s) {
			return r.clean(s)
		}
		if k == argument {
			r.number(k, s)
			r.now = append(r.now, k)
			return ""
		}
		return r.instead(k, s)
	}
}

// hidden replaces any text except "".
func (r *Redactor) hidden(k kind, s string) string {
	if s == "" {
		return s
	}
	return r.instead(k, s)
}

// resolve replaces asName and asRowName by the rule for the current event.
func (r *Redactor) resolve(k rule) rule {
	if k != asName && k != asRowName || r.e == nil {
		return k
	}
	e := r.e
	if k == asRowName {
		switch string(e.Text(e.Name)) {
		case "process_name":
			return asProcess
		case "thread_name":
			return asThread
		}
		return asMark
	}
	if e.Ph != 'X' && e.Ph != 'B' && e.Ph != 'E' {
		return asMark
	}
	if trace.IsCall(e.Text(e.Cat)) {
		return asCall
	}
	switch string(e.Text(e.Cat)) {
	case "cpu_op", "Operator":
		return asOp
	case "kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset":
		return asKernel
	case "python_function":
		return asFrame
	case "overhead", "Trace", "cuda_sync":
		return asMark
	}
	return asNote
}

// firstPID is the lowest id that is replaced. Lower ids are numbers of devices and streams, or of the few processes of
// a container.
const firstPID = 1000

// ofProcess reports whether the current event belongs to a process rather than a device.
func (r *Redactor) ofProcess() bool {
	if r.e == nil {
		return false
	}
	n, ok := chromejson.ParseInt(r.e.Text(r.e.PID))
	return ok && n >= firstPID
}

// ofRow reports whether a number is the process id or thread id of the current event. Rows may be sorted by that id.
func (r *Redactor) ofRow(raw []byte) bool {
	return r.ofProcess() && (bytes.Equal(raw, r.e.Text(r.e.PID)) || bytes.Equal(raw, r.e.Text(r.e.TID)))
}

// rankLabel matches the prefix of pids in a merged file.
var rankLabel = regexp.MustCompile(`^\[?((?:(?:TP|DP|PP|EP|R)\d+-?)+|Unknown|merged)( [A-Za-z_]{1,16})?( #\d+)?(?:$|\] ?)`)

var ownRows = regexp.MustCompile(`^(?:Spans|Traces|(?:Trace )?PyTorch Profiler|)$`)

// pid renumbers process and thread ids from 1000 on, because the original ids occur in the host's logs.
func pid(r *Redactor, s string) string {
	if m := rankLabel.FindString(s); m != "" {
		if len(m) == len(s) {
			return s
		}
		return m + pid(r, s[len(m):])
	}
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil && ownRows.MatchString(s):
		return s
	case err != nil:
		return r.instead(row, s)
	case n < firstPID:
		return s
	}
	r.now = append(r.now, number)
	return strconv.Itoa(firstPID + r.number(number, s))
}

// requests replaces each request id of a comma-separated list, because request ids occur in the logs of servers and
// clients.
func requests(r *Redactor, s string) string {
	if s == "" {
		return s
	}
	ids := strings.Split(s, ",")
	for i, id := range ids {
		ids[i] = r.hidden(request, id)
	}
	return strings.Join(ids, ",")
}

var (
	knownProcess = regexp.MustCompile(`^(?:python[\d.]*|sglang(?:::[A-Za-z_]\w*)?|[Vv][Ll][Ll][Mm](?:::[A-Za-z_]\w*)?|EngineCore\w*|stepscope|torchrun|nsys|GPU \d+|)$`)
	processN     = regexp.MustCompile(`^process (\d+)$`)
	kinetoThread = regexp.MustCompile(`^thread (\d+) \((.*)\)\s*$`)
	knownThread  = regexp.MustCompile(`^(?:stream -?\d+|MainThread|Thread-\d+|pt_[a-z_]+\d*|cuda-[A-Za-z]+\d*|cuda\d+|NCCL [A-Za-z ]+\d*|ProcessGroup[A-Za-z]+|jemalloc_bg_thd|)\s*$`)
)

func processName(r *Redactor, s string) string {
	if knownProcess.MatchString(s) {
		return s
	}
	if m := processN.FindStringSubmatch(s); m != nil {
		return "process " + pid(r, m[1])
	}
	return r.instead(process, s)
}

func threadName(r *Redactor, s string) string {
	if m := kinetoThread.FindStringSubmatch(s); m != nil {
		return "thread " + pid(r, m[1]) + " (" + processName(r, m[2]) + ")"
	}
	if knownThread.MatchString(s) || knownProcess.MatchString(s) {
		return s
	}
	return r.instead(thread, s)
}
