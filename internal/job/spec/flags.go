package spec

import (
	"math"
	"strconv"
	"strings"
)

// Flag is a command-line flag of a worker.
type Flag struct {
	Key   string
	Value any // bool, int64, float64, string, or []any of these
}

// Args returns the arguments of the flag: --key for true, no argument for false, --key v1 v2 for a list, and --key
// value for any other value.
func (f Flag) Args() []string {
	words := []string{"--" + f.Key}
	switch v := f.Value.(type) {
	case bool:
		if !v {
			return nil
		}
	case []any:
		for _, item := range v {
			words = append(words, word(item))
		}
	default:
		words = append(words, word(v))
	}
	return words
}

// word formats a value in Python syntax, because a Python program parses the flag.
func word(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		if size := math.Abs(v); size != 0 && size < 1e-4 || size >= 1e16 {
			return strings.ToLower(strconv.FormatFloat(v, 'e', -1, 64))
		}
		text := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		return text
	}
	return v.(string)
}

// tpKeys are the names of the tensor-parallel size flag.
var tpKeys = []string{"tensor-parallel-size", "tp-size", "tp"}

// tp returns the tensor-parallel size that the flags set. It returns 0 if no flag sets the size, or if a sweep
// parameter does.
func tp(flags []Flag) int {
	for _, key := range tpKeys {
		for _, f := range flags {
			if f.Key != key {
				continue
			}
			switch v := f.Value.(type) {
			case int64:
				return int(max(0, min(v, most)))
			case string:
				if n, err := strconv.Atoi(v); err == nil {
					return max(0, min(n, most))
				}
			}
		}
	}
	return 0
}
