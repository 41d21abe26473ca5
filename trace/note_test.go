package trace

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestNoteKinds checks that each kind has a text of its own that uses the fields of the kind.
func TestNoteKinds(t *testing.T) {
	said := map[string]NoteKind{}
	for k := NoNote + 1; k < numNoteKinds; k++ {
		n := Note{Kind: k, Count: 2, Names: []string{"a", "b", "c"}[:names(k)]}
		text := n.Text()
		if text == "" || strings.Contains(text, "%!") {
			t.Errorf("kind %d: %q", k, text)
		}
		text = n.Severity().String() + ": " + text // nsys messages have two kinds: loss or not
		if other, ok := said[text]; ok {
			t.Errorf("kinds %d and %d both say %q", other, k, text)
		}
		said[text] = k
	}
}

// names returns the number of names that a kind mentions.
func names(k NoteKind) int {
	switch k {
	case NotePart, NoteStageName:
		return 2
	case NoteSameRecording:
		return 3
	}
	return 1
}

func TestNoteText(t *testing.T) {
	for _, c := range []struct {
		note Note
		want string
	}{
		{Note{Kind: NoteGivenTwice, Source: "a.json", Count: 1}, "a.json: given twice, read once"},
		{Note{Kind: NoteEndsEarly, Source: "a.json", Names: []string{"cut off"}, Offset: 10, FileOffset: 7, Lost: 3},
			"a.json: cut off: readable up to byte 10 of the text (byte 7 of the file), 3 bytes after it lost"},
		{Note{Kind: NoteTooLong, To: 1500e6, End: 4e9},
			"too long to hold in memory: 0.000 s to 1.500 s of the capture are read, the rest up to 4.000 s is left out; choose another window with --from and --to"},
		{Note{Kind: NoteClocks, Names: []string{"TP00", "TP01"}}, "the clocks of TP00, TP01 cannot be right: most collectives end there before another rank begins them"},
		{Note{Kind: NoteSameRecording, Names: []string{"a", "b", "7"}}, "a and b are the same recording (trace_id 7)"},
	} {
		line, err := json.Marshal(c.note)
		if want, _ := json.Marshal(c.want); err != nil || string(line) != string(want) {
			t.Errorf("%s, %v\nwant %s", line, err, want)
		}
	}
}

func TestTally(t *testing.T) {
	odd := Tally{}
	odd.Add(NoteNoTime, 1)
	odd.Add(NoteNeverEnded, 2)
	odd.Add(NoteNoTime, 1)
	odd[Oddity{NotePhaseUnknown, "'y'"}]++
	odd[Oddity{NotePhaseUnknown, "'x'"}]++
	var got []string
	for _, n := range odd.Notes("f") {
		got = append(got, n.String())
	}
	want := "f: B events without an E, length taken as 0; f: events of unknown ph 'x'; f: events of unknown ph 'y'; f: spans without a usable ts"
	if s := strings.Join(got, "; "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}
