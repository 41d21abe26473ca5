package chromejson

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
)

// checkPrefix compares the reading of a prefix with that of the whole text: exactly the events inside it, and an end
// that reports the cut.
func checkPrefix(t *testing.T, got, whole reading, n int) {
	t.Helper()
	want, end := 0, int64(0)
	for _, e := range whole.Events {
		if stop := e.Off + int64(len(e.Raw)); stop <= int64(n) {
			want, end = want+1, stop
		}
	}
	if len(got.Events) != want || want > 0 && !reflect.DeepEqual(got.Events, whole.Events[:want]) {
		t.Fatalf("%d bytes: %d events; want the first %d", n, len(got.Events), want)
	}
	st := got.Stats
	if st.Repaired+st.Cleaned+st.Skipped != 0 {
		t.Fatalf("%d bytes: the cut was mended: %+v", n, st)
	}
	if st.End.Complete || st.End.Reason == "" || st.End.Offset+st.End.Lost != int64(n) {
		t.Fatalf("%d bytes: %+v", n, st.End)
	}
	if want < len(whole.Events) && want > 0 && st.End.Offset != end || st.End.Offset < end {
		t.Fatalf("%d bytes: the last whole event ends at %d, not %d", n, end, st.End.Offset)
	}
}

func TestTruncatedText(t *testing.T) {
	text := string(sample(t))
	whole := collectText(t, text)
	if len(whole.Events) != 12 || !whole.Stats.End.Complete || whole.Stats.End.Offset != int64(len(text)) {
		t.Fatalf("sample: %d events, %+v", len(whole.Events), whole.Stats)
	}
	for n := range len(text) {
		checkPrefix(t, collect(t, strings.NewReader(text[:n]), tiny, false), whole, n)
		checkPrefix(t, collectText(t, text[:n]), whole, n)
	}
}

func TestTruncatedGzip(t *testing.T) {
	text := string(sample(t))
	whole := collectText(t, text)
	file := gzipped(text[:2000], text[2000:])
	for n := range len(file) {
		src, err := NewSource(io.NopCloser(strings.NewReader(file[:n])))
		if err != nil {
			if n > 1 {
				t.Fatalf("%d bytes: %v", n, err)
			}
			continue
		}
		readable, _ := io.ReadAll(src)
		src, _ = NewSource(io.NopCloser(strings.NewReader(file[:n])))
		got := collect(t, src, defaultLimits, false)
		if !bytes.HasPrefix([]byte(text), readable) {
			t.Fatalf("%d bytes: wrong text", n)
		}
		if len(readable) == len(text) { // only the checksum is cut
			if len(got.Events) != len(whole.Events) || got.Stats.End.Complete || got.Stats.End.Lost != 0 {
				t.Fatalf("%d bytes: %d events, %+v", n, len(got.Events), got.Stats)
			}
			continue
		}
		checkPrefix(t, got, whole, len(readable))
	}
}
