package prep

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/stepscope/stepscope/trace"
)

// recordingOf returns a hash of the times and names of all spans. Two files have the same hash only if they contain the
// same recording.
func recordingOf(t *trace.Trace) string {
	if len(t.Spans) == 0 {
		return ""
	}
	sum := sha256.New()
	number := make([]uint32, t.Strings.Len()) // names numbered by first occurrence, from 1
	last := uint32(0)
	buf := make([]byte, 0, 1<<16)
	for i := range t.Spans {
		s := &t.Spans[i]
		buf = binary.LittleEndian.AppendUint64(buf, uint64(s.Start))
		buf = binary.LittleEndian.AppendUint64(buf, uint64(s.Dur))
		if number[s.Name] == 0 {
			last++
			number[s.Name] = last
			name := t.Strings.Get(s.Name)
			buf = binary.LittleEndian.AppendUint32(buf, 0)
			buf = binary.LittleEndian.AppendUint64(buf, uint64(len(name)))
			buf = append(buf, name...)
		}
		buf = binary.LittleEndian.AppendUint32(buf, number[s.Name])
		if len(buf) > 1<<16-1<<10 {
			sum.Write(buf)
			buf = buf[:0]
		}
	}
	sum.Write(buf)
	return string(sum.Sum(nil)[:16])
}
