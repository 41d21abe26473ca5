package prep

import (
	"bytes"
	"cmp"
	"encoding/gob"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/trace"
)

// Blocked holds the waits of threads for the device, in time order. Flops holds floating-point operations by index of
// the op. Both are written as lists, because gob would allocate a map of any size that a stream claims before it reads
// the entries.
type (
	Blocked map[trace.TrackID][]Interval
	Flops   map[int32]float64
)

type blockedEntry struct {
	Track trace.TrackID
	List  []Interval
}

type flopsEntry struct {
	Op    int32
	Flops float64
}

// GobEncode writes the entries in the order of their tracks.
func (b Blocked) GobEncode() ([]byte, error) {
	var list []blockedEntry
	for track, waits := range b {
		list = append(list, blockedEntry{track, waits})
	}
	sorts.By(list, func(x, y blockedEntry) int { return cmp.Compare(x.Track, y.Track) })
	return encode(list)
}

// GobDecode reads the entries.
func (b *Blocked) GobDecode(data []byte) error {
	var list []blockedEntry
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&list); err != nil {
		return err
	}
	*b = Blocked{}
	for _, e := range list {
		(*b)[e.Track] = e.List
	}
	return nil
}

// GobEncode writes the entries in the order of their ops.
func (f Flops) GobEncode() ([]byte, error) {
	var list []flopsEntry
	for op, flops := range f {
		list = append(list, flopsEntry{op, flops})
	}
	sorts.By(list, func(x, y flopsEntry) int { return cmp.Compare(x.Op, y.Op) })
	return encode(list)
}

// GobDecode reads the entries.
func (f *Flops) GobDecode(data []byte) error {
	var list []flopsEntry
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&list); err != nil {
		return err
	}
	*f = Flops{}
	for _, e := range list {
		(*f)[e.Op] = e.Flops
	}
	return nil
}

func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	err := gob.NewEncoder(&out).Encode(v)
	return out.Bytes(), err
}
