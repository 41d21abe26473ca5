package chromejson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"
)

// seen is a copied Event: values as text, "" for a missing field.
type seen struct {
	Off                               int64
	Ph                                byte
	Cat, Name, PID, TID, TS, Dur, ID  string
	Args, Raw                         string
	Known                             string
	flags                             uint8
	catAt, nameAt, pidAt, tidAt, tsAt Field
	durAt, idAt, argsAt               Field
}

// reading is the complete output of a Scanner for one text.
type reading struct {
	Events []seen
	Meta   []pair
	Stats  Stats
}

type pair struct{ Key, Value string }

func copyEvent(e *Event) seen {
	text := func(f Field) string {
		if !f.Present() {
			return ""
		}
		return string(e.Value(f))
	}
	s := seen{
		Off: e.Off, Ph: e.Ph, Raw: string(e.Raw), flags: e.flags,
		Cat: text(e.Cat), Name: text(e.Name), PID: text(e.PID), TID: text(e.TID),
		TS: text(e.TS), Dur: text(e.Dur), ID: text(e.ID), Args: text(e.Args),
		catAt: e.Cat, nameAt: e.Name, pidAt: e.PID, tidAt: e.TID, tsAt: e.TS,
		durAt: e.Dur, idAt: e.ID, argsAt: e.Args,
	}
	for _, k := range e.Known {
		s.Known += fmt.Sprintf("%d:%s@%d ", k.Key, e.Value(k.At), k.At.Lo)
	}
	return s
}

// tiny are limits under which every element of more than a few bytes crosses a block edge and exceeds the headroom.
var tiny = limits{block: 7, headroom: 5, element: defaultLimits.element, guess: defaultLimits.guess}

// collect reads a text to its end and checks the invariants of any text.
func collect(t testing.TB, r io.Reader, lim limits, general bool) reading {
	t.Helper()
	s := newScanner(r, lim)
	s.general = general
	defer s.Close()
	var got reading
	last := int64(-1)
	for {
		kind, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch kind {
		case EventToken:
			if !json.Valid(s.Event.Raw) {
				t.Fatalf("event at %d is not valid JSON: %q", s.Event.Off, s.Event.Raw)
			}
			if s.Event.Off <= last {
				t.Fatalf("event at %d after the one at %d", s.Event.Off, last)
			}
			last = s.Event.Off
			got.Events = append(got.Events, copyEvent(&s.Event))
		case MetaToken:
			if key := `"` + string(s.Key) + `"`; !json.Valid([]byte(key)) || !json.Valid(s.Value) {
				t.Fatalf("member is not valid JSON: %q: %q", key, s.Value)
			}
			got.Meta = append(got.Meta, pair{string(s.Key), string(s.Value)})
		}
	}
	got.Stats = s.Stats
	st := s.Stats
	if st.Events != int64(len(got.Events)) {
		t.Fatalf("counted %d events of %d", st.Events, len(got.Events))
	}
	if (st.Skipped > 0) != (st.FirstSkip >= 0) || st.SkippedBytes > st.Bytes {
		t.Fatalf("skips do not add up: %+v", st)
	}
	if st.End.Complete != (st.End.Reason == "") || st.End.Offset > st.Bytes || st.End.Offset+st.End.Lost > st.Bytes {
		t.Fatalf("end does not add up: %+v", st)
	}
	return got
}

func collectText(t testing.TB, text string) reading {
	t.Helper()
	return collect(t, bytes.NewReader([]byte(text)), defaultLimits, false)
}
