// Package flat writes Go values as columns: of a slice of structs first all values of
// the first field, then all of the second, whole numbers as differences to the one
// before, each text once. What it writes is small once it is compressed, and exact: it
// is read back bit by bit. It takes structs of numbers, texts, slices, arrays and maps
// by number; fields that are marked `flat:"-"` are left out.
package flat

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
)

// Schema is a sum of the shape of a value's type: names and types of all fields, and the
// names of the values of small enumerations. What was written by one shape is not read
// by another.
func Schema(v any) string {
	sum := sha256.New()
	shape(sum, reflect.TypeOf(v))
	return fmt.Sprintf("%x", sum.Sum(nil)[:8])
}

func shape(w io.Writer, t reflect.Type) {
	fmt.Fprint(w, t.Kind(), " ")
	switch t.Kind() {
	case reflect.Struct:
		for _, i := range fieldsOf(t) {
			fmt.Fprint(w, t.Field(i).Name, " ")
			shape(w, t.Field(i).Type)
		}
		fmt.Fprint(w, "end ")
	case reflect.Slice:
		shape(w, t.Elem())
	case reflect.Array:
		fmt.Fprint(w, t.Len(), " ")
		shape(w, t.Elem())
	case reflect.Map:
		shape(w, t.Key())
		shape(w, t.Elem())
	case reflect.Uint8:
		for i := range 256 {
			v := reflect.New(t).Elem()
			v.SetUint(uint64(i))
			if s, ok := v.Interface().(fmt.Stringer); ok {
				fmt.Fprintf(w, "%q ", s.String())
			}
		}
	}
}

// fieldsOf are the fields of a struct that are written.
func fieldsOf(t reflect.Type) (out []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("flat") == "-" {
			continue
		}
		if !f.IsExported() {
			panic(fmt.Sprintf("flat: %v has %s, which is not exported: mark it", t, f.Name))
		}
		out = append(out, i)
	}
	return out
}

// Marshal writes a struct.
func Marshal(v any) []byte {
	e := &encoder{number: map[string]uint64{}}
	root := reflect.ValueOf(v)
	e.column(root.Type(), 1, func(int) reflect.Value { return root })
	out := binary.AppendUvarint(nil, uint64(len(e.texts)))
	for _, s := range e.texts {
		out = binary.AppendUvarint(out, uint64(len(s)))
	}
	for _, s := range e.texts {
		out = append(out, s...)
	}
	return append(out, e.out...)
}

type encoder struct {
	out    []byte
	texts  []string
	number map[string]uint64
}

// column writes n values of one type.
func (e *encoder) column(t reflect.Type, n int, at func(i int) reflect.Value) {
	last := uint64(0)
	number := func(x uint64) {
		e.out = binary.AppendVarint(e.out, int64(x-last))
		last = x
	}
	switch t.Kind() {
	case reflect.Bool:
		for i := range n {
			b := byte(0)
			if at(i).Bool() {
				b = 1
			}
			e.out = append(e.out, b)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		for i := range n {
			number(uint64(at(i).Int()))
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		for i := range n {
			number(at(i).Uint())
		}
	case reflect.Float64:
		for i := range n {
			e.out = binary.LittleEndian.AppendUint64(e.out, math.Float64bits(at(i).Float()))
		}
	case reflect.String:
		for i := range n {
			e.out = binary.AppendUvarint(e.out, e.text(at(i).String()))
		}
	case reflect.Struct:
		for _, f := range fieldsOf(t) {
			e.column(t.Field(f).Type, n, func(i int) reflect.Value { return at(i).Field(f) })
		}
	case reflect.Array:
		for k := range t.Len() {
			e.column(t.Elem(), n, func(i int) reflect.Value { return at(i).Index(k) })
		}
	case reflect.Slice:
		var all []reflect.Value
		for i := range n {
			s := at(i)
			e.length(s.IsNil(), s.Len())
			if n == 1 { // most of all there is
				e.column(t.Elem(), s.Len(), s.Index)
				return
			}
			for k := range s.Len() {
				all = append(all, s.Index(k))
			}
		}
		e.column(t.Elem(), len(all), func(i int) reflect.Value { return all[i] })
	case reflect.Map:
		var keys, values []reflect.Value
		for i := range n {
			m := at(i)
			e.length(m.IsNil(), m.Len())
			sorted := m.MapKeys()
			slices.SortFunc(sorted, compareKeys)
			for _, k := range sorted {
				keys, values = append(keys, k), append(values, m.MapIndex(k))
			}
		}
		e.column(t.Key(), len(keys), func(i int) reflect.Value { return keys[i] })
		e.column(t.Elem(), len(values), func(i int) reflect.Value { return values[i] })
	default:
		panic(fmt.Sprintf("flat: %v cannot be written", t))
	}
}

// length writes how many elements a slice or map has; 0: it is nil.
func (e *encoder) length(none bool, n int) {
	if !none {
		n++
	}
	e.out = binary.AppendUvarint(e.out, uint64(n))
}

func (e *encoder) text(s string) uint64 {
	at, ok := e.number[s]
	if !ok {
		at = uint64(len(e.texts))
		e.number[s] = at
		e.texts = append(e.texts, s)
	}
	return at
}

func compareKeys(a, b reflect.Value) int {
	if a.CanInt() {
		return cmp.Compare(a.Int(), b.Int())
	}
	return cmp.Compare(a.Uint(), b.Uint())
}

var errShort = errors.New("it ends early")

// Unmarshal reads what Marshal wrote of a value of the same type into the struct at v.
// It takes memory in proportion to the data, whatever these say.
func Unmarshal(data []byte, v any) error {
	d := &decoder{in: data}
	n := d.count()
	lengths := make([]int, n)
	total := 0
	for i := range lengths {
		lengths[i] = d.count()
		total += lengths[i]
		if total > len(data) {
			return errShort
		}
	}
	if d.err != nil || total > len(d.in) {
		return errShort
	}
	texts := string(d.in[:total])
	d.in = d.in[total:]
	d.texts = make([]string, n)
	for i, l := range lengths {
		d.texts[i], texts = texts[:l], texts[l:]
	}
	root := reflect.ValueOf(v).Elem()
	d.column(root.Type(), 1, func(int) reflect.Value { return root })
	if d.err == nil && len(d.in) > 0 {
		return fmt.Errorf("%d bytes follow its end", len(d.in))
	}
	return d.err
}

type decoder struct {
	in    []byte
	texts []string
	err   error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.in = nil
}

func (d *decoder) uvarint() uint64 {
	x, n := binary.Uvarint(d.in)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.in = d.in[n:]
	return x
}

// count reads how many of something follow, each of a byte or more.
func (d *decoder) count() int {
	n := d.uvarint()
	if n > uint64(len(d.in)) {
		d.fail(errShort)
		return 0
	}
	return int(n)
}

// length reads how many elements a slice or map has; -1: it is nil.
func (d *decoder) length() int {
	n := d.uvarint()
	if n > uint64(len(d.in))+1 {
		d.fail(errShort)
		return -1
	}
	return int(n) - 1
}

// column reads n values of one type.
func (d *decoder) column(t reflect.Type, n int, at func(i int) reflect.Value) {
	if d.err != nil {
		return
	}
	last := uint64(0)
	number := func() uint64 {
		x, k := binary.Varint(d.in)
		if k <= 0 {
			d.fail(errShort)
			return 0
		}
		d.in = d.in[k:]
		last += uint64(x)
		return last
	}
	switch t.Kind() {
	case reflect.Bool:
		if n > len(d.in) {
			d.fail(errShort)
			return
		}
		for i := range n {
			at(i).SetBool(d.in[i] != 0)
		}
		d.in = d.in[n:]
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		for i := range n {
			x := int64(number())
			v := at(i)
			if v.OverflowInt(x) {
				d.fail(fmt.Errorf("%d is no %v", x, t))
				return
			}
			v.SetInt(x)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		for i := range n {
			x := number()
			v := at(i)
			if v.OverflowUint(x) {
				d.fail(fmt.Errorf("%d is no %v", x, t))
				return
			}
			v.SetUint(x)
		}
	case reflect.Float64:
		if n > len(d.in)/8 {
			d.fail(errShort)
			return
		}
		for i := range n {
			at(i).SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(d.in[8*i:])))
		}
		d.in = d.in[8*n:]
	case reflect.String:
		for i := range n {
			x := d.uvarint()
			if d.err != nil {
				return
			}
			if x >= uint64(len(d.texts)) {
				d.fail(fmt.Errorf("it has no text %d", x))
				return
			}
			at(i).SetString(d.texts[x])
		}
	case reflect.Struct:
		for _, f := range fieldsOf(t) {
			d.column(t.Field(f).Type, n, func(i int) reflect.Value { return at(i).Field(f) })
		}
	case reflect.Array:
		for k := range t.Len() {
			d.column(t.Elem(), n, func(i int) reflect.Value { return at(i).Index(k) })
		}
	case reflect.Slice:
		d.slices(t, n, at)
	case reflect.Map:
		d.maps(t, n, at)
	}
}

func (d *decoder) slices(t reflect.Type, n int, at func(i int) reflect.Value) {
	if n == 1 {
		if length := d.length(); length >= 0 && d.err == nil {
			s := reflect.MakeSlice(t, length, length)
			at(0).Set(s)
			d.column(t.Elem(), length, s.Index)
		}
		return
	}
	var all []reflect.Value
	for i := range n {
		length := d.length()
		if len(all)+length > len(d.in) {
			d.fail(errShort)
		}
		if d.err != nil {
			return
		}
		if length >= 0 {
			s := reflect.MakeSlice(t, length, length)
			at(i).Set(s)
			for k := range length {
				all = append(all, s.Index(k))
			}
		}
	}
	d.column(t.Elem(), len(all), func(i int) reflect.Value { return all[i] })
}

func (d *decoder) maps(t reflect.Type, n int, at func(i int) reflect.Value) {
	total := 0
	lengths := make([]int, n)
	for i := range n {
		lengths[i] = d.length()
		total += max(lengths[i], 0)
		if total > len(d.in) {
			d.fail(errShort)
		}
		if d.err != nil {
			return
		}
	}
	keys := reflect.MakeSlice(reflect.SliceOf(t.Key()), total, total)
	values := reflect.MakeSlice(reflect.SliceOf(t.Elem()), total, total)
	d.column(t.Key(), total, keys.Index)
	d.column(t.Elem(), total, values.Index)
	if d.err != nil {
		return
	}
	next := 0
	for i, length := range lengths {
		if length < 0 {
			continue
		}
		m := reflect.MakeMapWithSize(t, length)
		for range length {
			m.SetMapIndex(keys.Index(next), values.Index(next))
			next++
		}
		at(i).Set(m)
	}
}
