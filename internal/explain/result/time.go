package result

import "reflect"

// Add adds each part of o to the same part of t.
func (t *Time) Add(o *Time) {
	t.Total += o.Total
	t.Compute += o.Compute
	t.ExposedComm += o.ExposedComm
	t.ExposedCopy += o.ExposedCopy
	t.Idle += o.Idle
	t.HiddenComm += o.HiddenComm
	t.CommWait += o.CommWait
	t.ExposedWait += o.ExposedWait
	t.Unrecorded += o.Unrecorded
	t.IdleBy.Add(&o.IdleBy)
	t.Waiting += o.Waiting
}

// Add adds each part of o to the same part of i.
func (i *Idle) Add(o *Idle) {
	i.Host += o.Host
	i.Sync += o.Sync
	i.Peers += o.Peers
	i.Launch += o.Launch
	i.Device += o.Device
	i.Profiler += o.Profiler
	i.Unknown += o.Unknown
	i.Between += o.Between
	i.None += o.None
}

// First compares two elements so that those with a property come first. a and b report whether the elements have the
// property.
func First(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// NoNil replaces nil slices by empty slices in the struct to which v points and in nested structs, so that JSON has []
// and never null.
func NoNil(v any) { noNilIn(reflect.ValueOf(v).Elem()) }

func noNilIn(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case v.Type().Field(i).Tag.Get("json") == "-":
		case f.Kind() == reflect.Slice && f.CanSet() && f.IsNil():
			f.Set(reflect.MakeSlice(f.Type(), 0, 0))
		case f.Kind() == reflect.Struct:
			noNilIn(f)
		}
	}
}
