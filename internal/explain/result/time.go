package result

import "reflect"

// Add adds the parts of o.
func (t *Time) Add(o *Time) {
	t.Total += o.Total
	t.Compute += o.Compute
	t.ExposedComm += o.ExposedComm
	t.ExposedCopy += o.ExposedCopy
	t.Idle += o.Idle
	t.HiddenComm += o.HiddenComm
	t.CommWait += o.CommWait
	t.ExposedWait += o.ExposedWait
	t.IdleBy.Add(&o.IdleBy)
	t.Waiting += o.Waiting
}

// Add adds the parts of o.
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

// First orders elements that have a property before those that have not.
func First(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// NoNil replaces nil slices in the struct v points to, and in its nested structs, by empty ones, so that JSON has []
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
