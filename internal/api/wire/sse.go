package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Done is the last event of every stream.
const Done = "data: [DONE]\n\n"

// ContentTypeSSE is the media type of event streams.
const ContentTypeSSE = "text/event-stream"

// AppendEvent appends one event. json must be a single line, because common clients parse streams line by line.
func AppendEvent(dst, json []byte) []byte {
	return append(append(append(dst, "data: "...), json...), "\n\n"...)
}

// EventReader reads the events of a stream.
type EventReader struct {
	r    *bufio.Reader
	max  int
	data []byte
}

// NewEventReader returns a reader of events with at most max bytes of data each.
func NewEventReader(r io.Reader, max int) *EventReader {
	return &EventReader{r: bufio.NewReaderSize(r, 32<<10), max: max}
}

// Next returns the data of the next event. The bytes are valid until the next call. It returns io.EOF after [DONE], and
// io.ErrUnexpectedEOF if the stream ends without [DONE].
func (e *EventReader) Next() ([]byte, error) {
	for {
		line, err := e.line()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil, io.ErrUnexpectedEOF
			}
			return nil, err
		}
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue // the line is a comment, an event name, or the blank line between events
		}
		data = bytes.TrimSpace(data)
		if string(data) == "[DONE]" {
			return nil, io.EOF
		}
		return data, nil
	}
}

func (e *EventReader) line() ([]byte, error) {
	e.data = e.data[:0]
	for {
		part, err := e.r.ReadSlice('\n')
		e.data = append(e.data, part...)
		if len(e.data) > e.max {
			return nil, fmt.Errorf("event longer than %d bytes", e.max)
		}
		switch {
		case err == nil:
			return e.data, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(e.data) > 0:
			return e.data, nil
		default:
			return nil, err
		}
	}
}
