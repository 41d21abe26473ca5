package record

import (
	"encoding/json"
	"io"
	"runtime"
	"strconv"
	"time"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
)

// text buffers JSON on its way to a writer.
type text struct {
	w   io.Writer
	buf []byte
	err error

	rest    func(worked time.Duration) // nil: none
	resumed time.Time
}

// flushAt is the number of bytes buffered per write. The goroutine yields after each write, so a serving thread never
// waits for the export of more than flushAt bytes.
const flushAt = 32 << 10

func (t *text) str(s string) *text {
	t.buf = append(t.buf, s...)
	return t
}

func (t *text) int(n int64) *text {
	t.buf = strconv.AppendInt(t.buf, n, 10)
	return t
}

// micros writes ns as microseconds with three decimals.
func (t *text) micros(ns int64) *text {
	t.buf = chromejson.AppendMicros(t.buf, max(ns, 0)) // like Kineto, clamp times before the base
	return t
}

// fixed writes a number with six decimals, like C++ streams.
func (t *text) fixed(x float64) *text {
	t.buf = strconv.AppendFloat(t.buf, x, 'f', 6, 64)
	return t
}

// member writes one member of the metadata.
func (t *text) member(key string, value any) {
	b, err := json.Marshal(value)
	if err != nil {
		t.err = err
		return
	}
	t.str("  \"").str(chromejson.Escape(key)).str("\": ")
	t.spaced(b)
	t.str(",\n")
}

// spaced writes JSON with blanks after commas and colons, like Python's json and most metadata in Kineto files.
func (t *text) spaced(b []byte) {
	quoted, escaped := false, false
	for _, c := range b {
		t.buf = append(t.buf, c)
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == ':'):
			t.buf = append(t.buf, ' ')
		}
	}
}

func (t *text) flush() {
	if t.err == nil && len(t.buf) > 0 {
		_, t.err = t.w.Write(t.buf)
	}
	t.buf = t.buf[:0]
	t.pause()
}

// pause ends a piece of writing.
func (t *text) pause() {
	if t.rest == nil {
		runtime.Gosched()
		return
	}
	t.rest(time.Since(t.resumed))
	t.resumed = time.Now()
}
