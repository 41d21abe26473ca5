package cli

import (
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// hardly is the smallest upper limit that messages do not mention.
const hardly = 1e6

// checkLimits checks the values of numeric flags against the tag "limits" of the flag: "1.." means 1 or more, "0..1"
// means from 0 to 1.
func checkLimits(flags []*kong.Flag) error {
	for _, f := range flags {
		limits := f.Tag.Get("limits")
		if limits == "" {
			continue
		}
		from, to, _ := strings.Cut(limits, "..")
		least, err := strconv.ParseFloat(from, 64)
		most, words := math.Inf(1), from+" or more"
		if to != "" && err == nil {
			if most, err = strconv.ParseFloat(to, 64); most < hardly {
				words = from + " to " + to
			}
		}
		if err != nil {
			panic(err) // a struct tag of a verb is invalid
		}
		values := []reflect.Value{f.Target}
		switch f.Target.Kind() {
		case reflect.Slice:
			values = values[:0]
			for i := range f.Target.Len() {
				values = append(values, f.Target.Index(i))
			}
		case reflect.Pointer: // nil: the flag was not given
			if values[0] = f.Target.Elem(); f.Target.IsNil() {
				continue
			}
		}
		for _, v := range values {
			n := 0.0
			if v.CanFloat() {
				n = v.Float()
			} else {
				n = float64(v.Int())
			}
			if !(n >= least && n <= most) { // written so that NaN is rejected
				return usagef("--%s %v: give %s", f.Name, v, words)
			}
		}
	}
	return nil
}
