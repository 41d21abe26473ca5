package load

import "bytes"

// finder finds the events of a text/event-stream incrementally. If an event lies within one read, finder returns the
// event without copying.
type finder struct {
	carry   []byte // the start of a line
	buf     []byte // the data of an event that spans several reads or lines
	pending []byte // data lines of the current event so far; points into the read, carry or buf
	has     bool
	fault   bool // the name of the event is error
	max     int
}

// next returns the data of the next event in b, and the rest of b. If b contains no further complete event, ok is false
// and all of b has been consumed. The data are valid until the next call. The result tooLong reports whether there is
// an event of more than d.max bytes.
func (d *finder) next(b []byte) (data, rest []byte, ok, tooLong bool) {
	for {
		n := bytes.IndexByte(b, '\n')
		if n < 0 {
			if d.has {
				d.buf = append(d.buf[:0], d.pending...)
				d.pending = d.buf
			}
			d.carry = append(d.carry, b...)
			return nil, nil, false, len(d.carry)+len(d.pending) > d.max
		}
		line := b[:n]
		b = b[n+1:]
		if len(d.carry) > 0 {
			d.carry = append(d.carry, line...)
			line = d.carry
			d.carry = d.carry[:0]
		}
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if len(line) == 0 {
			if d.has {
				d.has = false
				return d.pending, b, true, len(d.pending) > d.max
			}
			d.fault = false
			continue
		}
		content, isData := dataLine(line)
		if !isData {
			if name, ok := bytes.CutPrefix(line, []byte("event:")); ok {
				d.fault = string(bytes.TrimSpace(name)) == "error"
			}
			continue // also comments and ids
		}
		if !d.has {
			d.pending, d.has = content, true
			continue
		}
		d.buf = append(append(append(d.buf[:0], d.pending...), '\n'), content...)
		d.pending = d.buf
	}
}

// end is called when the body has ended. The result done reports whether the remaining data are [DONE] without a blank
// line. The result half reports whether the remaining data are an incomplete event.
func (d *finder) end() (done, half bool) {
	rest := d.pending
	if !d.has {
		if len(bytes.TrimSpace(d.carry)) == 0 {
			return false, false
		}
		var isData bool
		if rest, isData = dataLine(d.carry); !isData {
			return false, d.carry[0] != ':'
		}
	}
	if string(bytes.TrimSpace(rest)) == "[DONE]" {
		return true, false
	}
	return false, true
}

func dataLine(line []byte) ([]byte, bool) {
	content, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		return nil, false
	}
	return bytes.TrimPrefix(content, []byte{' '}), true
}
