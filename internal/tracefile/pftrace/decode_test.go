package pftrace

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
)

// The decoder below shares nothing with the encoder: its field numbers are copied from the same .proto files.

type field struct {
	num  uint64
	val  uint64 // varint and fixed64
	data []byte // length-delimited
}

// message walks the wire format of one message.
func message(b []byte) ([]field, error) {
	var fs []field
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, fmt.Errorf("bad tag at % x", b)
		}
		b = b[n:]
		f := field{num: tag >> 3}
		switch tag & 7 {
		case 0:
			if f.val, n = binary.Uvarint(b); n <= 0 {
				return nil, fmt.Errorf("field %d: bad varint", f.num)
			}
			b = b[n:]
		case 1:
			if len(b) < 8 {
				return nil, fmt.Errorf("field %d: short fixed64", f.num)
			}
			f.val = binary.LittleEndian.Uint64(b)
			b = b[8:]
		case 2:
			l, n := binary.Uvarint(b)
			if n <= 0 || l > uint64(len(b)-n) {
				return nil, fmt.Errorf("field %d: bad length", f.num)
			}
			f.data = b[n : n+int(l)]
			b = b[n+int(l):]
		default:
			return nil, fmt.Errorf("field %d: wire type %d", f.num, tag&7)
		}
		fs = append(fs, f)
	}
	return fs, nil
}

type event struct {
	typ, track        uint64
	ts                int64
	name, cat         string
	args              []string
	flows, terminates []uint64
	value             string
}

var typeNames = map[uint64]string{1: "BEGIN", 2: "END", 3: "INSTANT", 4: "COUNTER"}

func (e event) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s track=%d", e.ts, typeNames[e.typ], e.track)
	for _, kv := range [...]struct{ k, v string }{{"name", e.name}, {"cat", e.cat}, {"value", e.value}, {"args", strings.Join(e.args, ",")}} {
		if kv.v != "" {
			fmt.Fprintf(&b, " %s=%s", kv.k, kv.v)
		}
	}
	if e.flows != nil {
		fmt.Fprintf(&b, " flows=%d", e.flows)
	}
	if e.terminates != nil {
		fmt.Fprintf(&b, " terminates=%d", e.terminates)
	}
	return b.String()
}

// decoded is the content of a trace, in file order.
type decoded struct {
	tracks []string
	clocks []string
	events []event
	resets int // generations of interned strings after the first
}

func (d *decoded) dump() string {
	var b strings.Builder
	for _, c := range d.clocks {
		fmt.Fprintln(&b, c)
	}
	for _, t := range d.tracks {
		fmt.Fprintln(&b, t)
	}
	for _, e := range d.events {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// decoder resolves interned strings, which stay valid until a packet clears them: by field of InternedData, then by
// number.
type decoder struct {
	decoded
	strings map[uint64]map[uint64]string
}

func decode(t testing.TB, b []byte) *decoded {
	t.Helper()
	var d decoder
	packets, err := message(b)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range packets {
		if p.num != 1 {
			t.Fatalf("packet %d: field %d of Trace", i, p.num)
		}
		if err := d.packet(p.data); err != nil {
			t.Fatalf("packet %d: %v", i, err)
		}
	}
	return &d.decoded
}

func (d *decoder) packet(b []byte) error {
	fs, err := message(b)
	if err != nil {
		return err
	}
	ts, seq, flags := int64(-1), uint64(0), uint64(0)
	one := map[uint64][]byte{}
	for _, f := range fs {
		switch f.num {
		case 8:
			ts = int64(f.val)
		case 10:
			seq = f.val
		case 13:
			flags = f.val
		case 6, 11, 12, 60:
			one[f.num] = f.data
		default:
			return fmt.Errorf("field %d of TracePacket", f.num)
		}
	}
	if seq == 0 {
		return fmt.Errorf("no sequence id")
	}
	if flags&1 != 0 {
		if d.strings != nil {
			d.resets++
		}
		d.strings = map[uint64]map[uint64]string{}
	}
	if d.strings == nil {
		return fmt.Errorf("state never cleared: readers skip all that needs it")
	}
	if len(one[12]) > 0 && flags&2 == 0 {
		return fmt.Errorf("interned data without SEQ_NEEDS_INCREMENTAL_STATE")
	}
	if err := d.interned(one[12]); err != nil {
		return err
	}
	if b, ok := one[60]; ok {
		return d.track(b)
	}
	if b, ok := one[6]; ok {
		return d.clock(b)
	}
	if ts < 0 {
		return fmt.Errorf("event without a time")
	}
	return d.event(one[11], ts, flags)
}

func (d *decoder) interned(b []byte) error {
	fs, err := message(b)
	if err != nil {
		return err
	}
	for _, f := range fs {
		entry, err := message(f.data)
		if err != nil {
			return err
		}
		if len(entry) != 2 || entry[0].num != 1 || entry[1].num != 2 || entry[0].val == 0 {
			return fmt.Errorf("interned entry % x", f.data)
		}
		m := d.strings[f.num]
		if m == nil {
			m = map[uint64]string{}
			d.strings[f.num] = m
		}
		if old, ok := m[entry[0].val]; ok {
			return fmt.Errorf("iid %d of field %d defined twice, first as %q", entry[0].val, f.num, old)
		}
		m[entry[0].val] = string(entry[1].data)
	}
	return nil
}

func (d *decoder) resolve(field, iid uint64) (string, error) {
	s, ok := d.strings[field][iid]
	if !ok {
		return "", fmt.Errorf("iid %d of field %d is not defined", iid, field)
	}
	return s, nil
}

func (d *decoder) event(b []byte, ts int64, flags uint64) error {
	fs, err := message(b)
	if err != nil {
		return err
	}
	e := event{ts: ts}
	refers := false
	for _, f := range fs {
		var err error
		switch f.num {
		case 9:
			e.typ = f.val
		case 11:
			e.track = f.val
		case 10:
			e.name, err = d.resolve(2, f.val)
			refers = true
		case 3:
			e.cat, err = d.resolve(1, f.val)
		case 4:
			var a string
			a, err = d.annotation(f.data)
			e.args = append(e.args, a)
		case 30:
			e.value = fmt.Sprint(int64(f.val))
		case 47:
			e.flows = append(e.flows, f.val)
		case 48:
			e.terminates = append(e.terminates, f.val)
		default:
			err = fmt.Errorf("field %d of TrackEvent", f.num)
		}
		if err != nil {
			return err
		}
	}
	if refers && flags&2 == 0 {
		return fmt.Errorf("refers to interned data without SEQ_NEEDS_INCREMENTAL_STATE")
	}
	d.events = append(d.events, e)
	return nil
}

func (d *decoder) annotation(b []byte) (string, error) {
	fs, err := message(b)
	if err != nil {
		return "", err
	}
	if len(fs) != 2 || fs[0].num != 1 {
		return "", fmt.Errorf("annotation % x", b)
	}
	name, err := d.resolve(3, fs[0].val)
	if err != nil {
		return "", err
	}
	v := fs[1]
	var text string
	switch v.num {
	case 2:
		text = fmt.Sprint(v.val != 0)
	case 3:
		text = fmt.Sprintf("%du", v.val)
	case 4:
		text = fmt.Sprint(int64(v.val))
	case 5:
		text = fmt.Sprintf("%gf", math.Float64frombits(v.val))
	case 6:
		text = fmt.Sprintf("%q", v.data)
	case 9:
		text = fmt.Sprintf("json(%s)", v.data)
	case 17:
		if text, err = d.resolve(29, v.val); err != nil {
			return "", err
		}
		text = fmt.Sprintf("interned %q", text)
	default:
		return "", fmt.Errorf("field %d of DebugAnnotation", v.num)
	}
	return name + "=" + text, nil
}

func (d *decoder) track(b []byte) error {
	fs, err := message(b)
	if err != nil {
		return err
	}
	names := map[uint64]string{1: "uuid", 2: "name", 5: "parent", 8: "counter", 11: "child_ordering", 12: "rank",
		14: "description", 15: "merge", 16: "merge_key"}
	s := "track"
	for _, f := range fs {
		n, ok := names[f.num]
		if !ok {
			return fmt.Errorf("field %d of TrackDescriptor", f.num)
		}
		switch f.num {
		case 2, 14, 16:
			s += fmt.Sprintf(" %s=%q", n, f.data)
		case 12:
			s += fmt.Sprintf(" %s=%d", n, int32(f.val))
		case 8:
			unit, err := message(f.data)
			if err != nil {
				return err
			}
			s += " " + n
			for _, u := range unit {
				s += fmt.Sprintf("(%d:%d%s)", u.num, u.val, u.data)
			}
		default:
			s += fmt.Sprintf(" %s=%d", n, f.val)
		}
	}
	d.tracks = append(d.tracks, s)
	return nil
}

func (d *decoder) clock(b []byte) error {
	fs, err := message(b)
	if err != nil {
		return err
	}
	s := "clock"
	for _, f := range fs {
		if f.num == 2 {
			s += fmt.Sprintf(" primary=%d", f.val)
			continue
		}
		c, err := message(f.data)
		if err != nil {
			return err
		}
		if f.num != 1 || len(c) != 2 || c[0].num != 1 || c[1].num != 2 {
			return fmt.Errorf("clock snapshot % x", b)
		}
		s += fmt.Sprintf(" %d:%d", c[0].val, c[1].val)
	}
	d.clocks = append(d.clocks, s)
	return nil
}
