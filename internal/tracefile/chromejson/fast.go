package chromejson

// The layout of libkineto's writer (output_json.cpp) in torch 2.x:
//
//	{
//	  "ph": "X", "cat": "kernel", "name": "…", "pid": 0, "tid": 7,
//	  "ts": 4436331679556.096, "dur": 34.689,
//	  "args": {…
//	  }
//	},
//	{
//	  "ph": "f", "id": 20, "pid": 0, "tid": 7, "ts": 4436331679556.096,
//	  "cat": "ac2g", "name": "ac2g", "bp": "e"
//	},
//
// Nearly all of a file consists of these two kinds. fast expects exactly this layout, compares long runs of known bytes
// instead of examining each key, and gives up at the first difference. For every event that fast accepts, the general
// parser returns the same result.

const (
	layoutHead = "{\n    \"ph\": \""
	layoutCat  = "\", \"cat\": \""
	layoutName = ", \"name\": \""
	layoutPID  = ", \"pid\": "
	layoutTID  = ", \"tid\": "
	layoutTS   = ",\n    \"ts\": "
	layoutDur  = ", \"dur\": "
	layoutArgs = ",\n    \"args\": {"
	layoutEnd  = "\n  }"

	layoutID      = "\", \"id\": "
	layoutFlowTS  = ", \"ts\": "
	layoutFlowCat = ",\n    \"cat\": \""
	layoutBind    = ", \"bp\": \"e\""
)

func has(b []byte, i int, s string) bool { return len(b)-i >= len(s) && string(b[i:i+len(s)]) == s }

// integer reads decimal digits with an optional minus. It returns the index after the number, or 0 if there is no
// number at i or the text ends.
func integer(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	start := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i == start || i == len(b) || b[start] == '0' && i-start > 1 {
		return 0
	}
	return i
}

// decimal reads an integer with an optional fraction and returns the same results as integer.
func decimal(b []byte, i int) int {
	if i = integer(b, i); i == 0 || b[i] != '.' {
		return i
	}
	i++
	start := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i == start || i == len(b) {
		return 0
	}
	return i
}

// fast reads the event at the start of b if it has the known layout, and returns its length. It returns 0 if the
// general parser must read the event.
func (g *grammar) fast(b []byte, e *Event) int {
	if !has(b, 0, layoutHead) || len(b) < 64 {
		return 0
	}
	at := len(layoutHead)
	switch b[at] {
	case 'X':
		if has(b, at+1, layoutCat) {
			return g.fastSpan(b, at+1+len(layoutCat), e)
		}
	case 's', 'f':
		if has(b, at+1, layoutID) {
			return g.fastFlow(b, at+1+len(layoutID), e)
		}
	}
	return 0
}

func (g *grammar) fastSpan(b []byte, i int, e *Event) int {
	g.flags = 0
	cat := i - 1
	if i = g.str(b, i); i < 0 || !has(b, i, layoutName) {
		return 0
	}
	catEnd := i
	i += len(layoutName)
	name := i - 1
	if i = g.str(b, i); i < 0 || !has(b, i, layoutPID) {
		return 0
	}
	nameEnd := i
	i += len(layoutPID)
	pid := i
	if i = integer(b, i); i == 0 || !has(b, i, layoutTID) {
		return 0
	}
	pidEnd := i
	i += len(layoutTID)
	tid := i
	if i = integer(b, i); i == 0 || !has(b, i, layoutTS) {
		return 0
	}
	tidEnd := i
	i += len(layoutTS)
	ts := i
	if i = decimal(b, i); i == 0 || !has(b, i, layoutDur) {
		return 0
	}
	tsEnd := i
	i += len(layoutDur)
	dur := i
	if i = decimal(b, i); i == 0 {
		return 0
	}
	durEnd := i
	e.reset(b)
	if has(b, i, layoutArgs) {
		i += len(layoutArgs) - 1
		args := i
		if i = g.members(b, i, e, true); i < 0 {
			return 0
		}
		e.Args = Field{uint32(args), uint32(i)}
	}
	if !has(b, i, layoutEnd) {
		return 0
	}
	i += len(layoutEnd)
	e.Raw, e.Ph, e.flags = b[:i], 'X', g.flags
	e.Cat = Field{uint32(cat), uint32(catEnd)}
	e.Name = Field{uint32(name), uint32(nameEnd)}
	e.PID = Field{uint32(pid), uint32(pidEnd)}
	e.TID = Field{uint32(tid), uint32(tidEnd)}
	e.TS = Field{uint32(ts), uint32(tsEnd)}
	e.Dur = Field{uint32(dur), uint32(durEnd)}
	return i
}

func (g *grammar) fastFlow(b []byte, i int, e *Event) int {
	g.flags = 0
	id := i
	if i = integer(b, i); i == 0 || !has(b, i, layoutPID) {
		return 0
	}
	idEnd := i
	i += len(layoutPID)
	pid := i
	if i = integer(b, i); i == 0 || !has(b, i, layoutTID) {
		return 0
	}
	pidEnd := i
	i += len(layoutTID)
	tid := i
	if i = integer(b, i); i == 0 || !has(b, i, layoutFlowTS) {
		return 0
	}
	tidEnd := i
	i += len(layoutFlowTS)
	ts := i
	if i = decimal(b, i); i == 0 || !has(b, i, layoutFlowCat) {
		return 0
	}
	tsEnd := i
	i += len(layoutFlowCat)
	cat := i - 1
	if i = g.str(b, i); i < 0 || !has(b, i, layoutName) {
		return 0
	}
	catEnd := i
	i += len(layoutName)
	name := i - 1
	if i = g.str(b, i); i < 0 {
		return 0
	}
	nameEnd := i
	if has(b, i, layoutBind) {
		i += len(layoutBind)
	}
	if !has(b, i, layoutEnd) {
		return 0
	}
	i += len(layoutEnd)
	e.reset(b)
	e.Raw, e.Ph, e.flags = b[:i], b[len(layoutHead)], g.flags
	e.ID = Field{uint32(id), uint32(idEnd)}
	e.PID = Field{uint32(pid), uint32(pidEnd)}
	e.TID = Field{uint32(tid), uint32(tidEnd)}
	e.TS = Field{uint32(ts), uint32(tsEnd)}
	e.Cat = Field{uint32(cat), uint32(catEnd)}
	e.Name = Field{uint32(name), uint32(nameEnd)}
	return i
}
