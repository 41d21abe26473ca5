package main

import (
	"cmp"
	"slices"
)

// span is where a value stands in the bytes of its event.
type span struct{ start, end int }

func (s span) none() bool             { return s.end == 0 }
func (s span) of(event []byte) []byte { return event[s.start:s.end] }

// fields is what repeat needs to know of one event.
type fields struct {
	ph, cat, name, pid string
	ts, dur            span
	ids                []span
	stretch            span // a length that grows to cover all copies
}

type editKind int

const (
	editTime editKind = iota
	editID
	editLength
)

type edit struct {
	span
	what editKind
}

// edits lists the numbers that a copy changes, in the order in which they stand.
func (f fields) edits() []edit {
	var list []edit
	if !f.ts.none() {
		list = append(list, edit{f.ts, editTime})
	}
	if !f.stretch.none() {
		list = append(list, edit{f.stretch, editLength})
	}
	for _, id := range f.ids {
		list = append(list, edit{id, editID})
	}
	slices.SortFunc(list, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	return list
}

// isID names the args by which events of one rank find each other, and the flow id beside them. They are told apart
// from the sizes and counts around them by name alone.
func isID(depth int, key []byte) bool {
	if depth == 1 {
		return string(key) == "id"
	}
	switch string(key) {
	case "correlation", "External id", "Ev Idx", "Python id", "Python parent id", "wait_on_cuda_event_record_corr_id":
		return depth == 2
	}
	return false
}

// scan finds the fields of one whole event.
func scan(event []byte) fields {
	var f fields
	depth := 0
	var key []byte
	behindKey := false
	for i := 0; i < len(event); i++ {
		start := i
		switch c := event[i]; c {
		case '{', '[':
			depth++
			behindKey = false
			continue
		case '}', ']':
			depth--
			continue
		case ' ', '\t', '\r', '\n':
			continue
		case ':':
			behindKey = true
			continue
		case ',':
			behindKey = false
			continue
		case '"':
			i += stringEnd(event[i:]) - 1
			if !behindKey {
				key = event[start+1 : i]
				continue
			}
		default:
			for i+1 < len(event) && !isDelimiter(event[i+1]) {
				i++
			}
		}
		if behindKey {
			f.note(depth, key, event, span{start, i + 1})
		}
		behindKey = false
	}
	return f
}

// isDelimiter says where a bare word ends. A quote is among them so that strings are found where objectEnd finds them,
// in broken text too.
func isDelimiter(c byte) bool {
	switch c {
	case ',', ':', '{', '}', '[', ']', '"', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

// note keeps one value if it is of use.
func (f *fields) note(depth int, key []byte, event []byte, at span) {
	if isID(depth, key) && event[at.start] != '"' {
		f.ids = append(f.ids, at)
		return
	}
	if depth != 1 {
		return
	}
	switch string(key) {
	case "ts":
		f.ts = at
	case "dur":
		f.dur = at
	case "ph":
		f.ph = unquoted(event, at)
	case "cat":
		f.cat = unquoted(event, at)
	case "name":
		f.name = unquoted(event, at)
	case "pid":
		f.pid = unquoted(event, at)
	}
}

func unquoted(event []byte, at span) string {
	if event[at.start] == '"' {
		return string(event[at.start+1 : at.end-1])
	}
	return string(at.of(event))
}
