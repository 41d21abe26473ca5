package chromejson

// Field is a value's position in Event.Raw, including quotes. Hi is 0 if the event does not have the field.
type Field struct{ Lo, Hi uint32 }

// Present reports whether the event has the field.
func (f Field) Present() bool { return f.Hi != 0 }

// Event is one element of traceEvents. Its slices are valid until the next call of Scanner.Next.
type Event struct {
	Raw []byte // text of the whole object, always well-formed JSON
	Off int64  // offset in the decompressed file, bytes
	Ph  byte   // 0 when missing

	Cat, Name, PID, TID, TS, Dur, ID, Args Field

	// Known holds the members of args that this package knows, in file order.
	Known []Arg

	// Shape is equal for events of one Scanner that differ only in time, duration and varying numbers. Varying numbers
	// are External id, correlation, Seq, Python's ids and an unknown number at the end of args. Results that a reader
	// computes from the other fields of one event apply to all events of the same shape. 0 means that the shape is
	// unknown.
	Shape int

	flags uint8
}

// Arg is one known member of an event's args.
type Arg struct {
	Key ArgKey
	At  Field
}

// Value returns a field's text as written, including quotes.
func (e *Event) Value(f Field) []byte { return e.Raw[f.Lo:f.Hi] }

// Text returns a field's text without quotes, still escaped.
func (e *Event) Text(f Field) []byte {
	if f.Hi-f.Lo >= 2 && e.Raw[f.Lo] == '"' {
		return e.Raw[f.Lo+1 : f.Hi-1]
	}
	return e.Raw[f.Lo:f.Hi]
}

// Arg finds a known member of args.
func (e *Event) Arg(k ArgKey) (Field, bool) {
	for i := range e.Known {
		if e.Known[i].Key == k {
			return e.Known[i].At, true
		}
	}
	return Field{}, false
}

// Int parses a field as an integer, which may be quoted.
func (e *Event) Int(f Field) (int64, bool) {
	if !f.Present() {
		return 0, false
	}
	return ParseInt(e.Text(f))
}

// ArgInt parses a known member of args as an integer.
func (e *Event) ArgInt(k ArgKey) (int64, bool) {
	f, ok := e.Arg(k)
	if !ok {
		return 0, false
	}
	return e.Int(f)
}

// ArgKey identifies a member of args that some reader needs. All other members are passed on without being read.
type ArgKey uint8

// Known keys. argKey lists the spelling that Kineto uses.
const (
	_ ArgKey = iota
	ArgCorrelation
	ArgExternalID
	ArgStream
	ArgDevice
	ArgGrid
	ArgBlock
	ArgBytes
	ArgCollective
	ArgInElems
	ArgOutElems
	ArgDType
	ArgGroupSize
	ArgGroupName
	ArgGroupRanks
	ArgSeq
	ArgInputDims
	ArgInputType
	ArgTotalAllocated
	ArgTotalReserved
	ArgDeviceType
	ArgDeviceID
	ArgName
	ArgSortIndex
	ArgRequests
	ArgRoom
	ArgConnection // this key and the next four are of Ascend traces
	ArgTaskType
	ArgCount
	ArgFromRank
	ArgToRank
	ArgPythonID // this key and the next are needed only by Counts
	ArgPythonParent
)

// argKey returns the ArgKey of a member's raw key, or 0 for an unknown key. The switch on length and bytes compiles to
// a few comparisons.
func argKey(k []byte) ArgKey {
	switch string(k) {
	case "External id":
		return ArgExternalID
	case "correlation":
		return ArgCorrelation
	case "stream":
		return ArgStream
	case "device":
		return ArgDevice
	case "grid":
		return ArgGrid
	case "block":
		return ArgBlock
	case "bytes", "Bytes":
		return ArgBytes
	case "Collective name":
		return ArgCollective
	case "In msg nelems":
		return ArgInElems
	case "Out msg nelems":
		return ArgOutElems
	case "dtype", "data_type":
		return ArgDType
	case "Group size":
		return ArgGroupSize
	case "Process Group Name", "Process Group ID":
		return ArgGroupName
	case "Process Group Ranks":
		return ArgGroupRanks
	case "Seq":
		return ArgSeq
	case "Input Dims":
		return ArgInputDims
	case "Input type":
		return ArgInputType
	case "Total Allocated":
		return ArgTotalAllocated
	case "Total Reserved":
		return ArgTotalReserved
	case "Device Type":
		return ArgDeviceType
	case "Device Id":
		return ArgDeviceID
	case "name":
		return ArgName
	case "sort_index":
		return ArgSortIndex
	case "rids":
		return ArgRequests
	case "room":
		return ArgRoom
	case "connection_id":
		return ArgConnection
	case "Task Type":
		return ArgTaskType
	case "count":
		return ArgCount
	case "src rank":
		return ArgFromRank
	case "dst rank":
		return ArgToRank
	case "Python id":
		return ArgPythonID
	case "Python parent id":
		return ArgPythonParent
	}
	return 0
}

// topKey stores the position of a top-level value. The first of duplicate keys wins.
func (e *Event) topKey(k []byte, at Field) {
	var f *Field
	switch string(k) {
	case "ph":
		if e.Ph == 0 && at.Hi-at.Lo == 3 && e.Raw[at.Lo] == '"' {
			e.Ph = e.Raw[at.Lo+1]
		}
		return
	case "ts":
		f = &e.TS
	case "dur":
		f = &e.Dur
	case "cat":
		f = &e.Cat
	case "pid":
		f = &e.PID
	case "tid":
		f = &e.TID
	case "id":
		f = &e.ID
	case "name":
		f = &e.Name
	case "args":
		f = &e.Args
	default:
		return
	}
	if !f.Present() {
		*f = at
	}
}

// Reset sets e to the event with the text raw, which must be well-formed JSON. It returns false if raw is not an
// object.
func (e *Event) Reset(raw []byte) bool {
	var g grammar
	if g.fast(raw, e) == len(raw) && len(raw) > 0 {
		return true
	}
	return len(raw) > 0 && raw[0] == '{' && g.event(raw, e) == len(raw)
}
