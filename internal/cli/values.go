package cli

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// values are the mappers that parse flag values. kong's own errors read "expected a valid 64 bit int". The errors of
// these mappers state the expected value, with an example.
var values = kong.OptionFunc(func(k *kong.Kong) error {
	for _, o := range []kong.Option{
		kong.KindMapper(reflect.Int, mapper(wholeNumber)), kong.KindMapper(reflect.Int64, mapper(wholeNumber)),
		kong.KindMapper(reflect.Float64, mapper(number)), kong.TypeMapper(reflect.TypeFor[time.Duration](), mapper(duration)),
	} {
		if err := o.Apply(k); err != nil {
			return err
		}
	}
	return nil
})

// mapper returns a mapper that sets a flag from text with set. example is a valid value, which error messages show.
func mapper(set func(text, example string, to reflect.Value) error) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, to reflect.Value) error {
		t, err := ctx.Scan.PopValue("value")
		if err != nil {
			return err
		}
		return set(fmt.Sprint(t.Value), strings.TrimLeft(ctx.Value.Default, "-0."), to)
	}
}

func wholeNumber(text, example string, to reflect.Value) error {
	n, err := strconv.ParseInt(text, 0, to.Type().Bits())
	if err != nil {
		if example == "" || strings.Contains(example, ",") {
			example = "8"
		}
		return fmt.Errorf("%q is not a whole number: give one such as %s", text, example)
	}
	to.SetInt(n)
	return nil
}

func number(text, example string, to reflect.Value) error {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		if example == "" {
			example = "0.5"
		}
		return fmt.Errorf("%q is not a number: give one such as %s", text, example)
	}
	to.SetFloat(x)
	return nil
}

func duration(text, example string, to reflect.Value) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return fmt.Errorf("%q has no unit: give a time such as %ss", text, text)
		}
		if example == "" {
			example = "30s"
		}
		return fmt.Errorf("%q is not a time: give one such as %s", text, example)
	}
	to.SetInt(int64(d))
	return nil
}
