package runs

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

// TestWholeLine reads lines up to the limit, and one that has no end.
func TestWholeLine(t *testing.T) {
	r := bufio.NewReaderSize(strings.NewReader("a\n"+strings.Repeat("b", 100_000)+"\n\nc"), 16)
	for _, want := range []int{1, 100_000, 0} {
		if line, err := wholeLine(r, nil); err != nil || len(line) != want {
			t.Fatalf("%d bytes, %v; want %d", len(line), err, want)
		}
	}
	if _, err := wholeLine(r, nil); err != ErrCut {
		t.Errorf("without a newline: %v", err)
	}
	if _, err := wholeLine(r, nil); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	endless := &endless{}
	if _, err := wholeLine(bufio.NewReaderSize(endless, 1<<20), nil); err == nil || !strings.Contains(err.Error(), "longer than 64 MB") {
		t.Errorf("an endless line: %v", err)
	}
	if endless.read > maxLine+4<<20 {
		t.Errorf("read %d MB of an endless line", endless.read>>20)
	}
}

type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}
