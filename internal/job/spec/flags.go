package spec

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Flag is a command-line flag of a worker.
type Flag struct {
	Key   string
	Value any // bool, int64, float64, string, or []any of these; in the dialects M and H also nil and map[string]any
}

// Args returns the arguments of the flag: --key for true, no argument for false, --key v1 v2 for a list, and --key
// value for any other value.
func (f Flag) Args() []string {
	words := []string{"--" + f.Key}
	switch v := f.Value.(type) {
	case nil:
		return nil
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
	case nil:
		return "None"
	case map[string]any:
		if text, err := json.Marshal(v); err == nil { // srtctl writes Python syntax here, which servers refuse
			return string(text)
		}
		return ""
	case []any:
		if text, err := json.Marshal(v); err == nil {
			return string(text)
		}
		return ""
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

// Names of the flags for the tensor-parallel, pipeline-parallel and data-parallel sizes.
var (
	tpKeys = []string{"tensor-parallel-size", "tp-size", "tp"}
	ppKeys = []string{"pipeline-parallel-size", "pp-size", "pp"}
	dpKeys = []string{"data-parallel-size", "dp-size", "dp"}
)

// tp returns the tensor-parallel size that the flags set. It returns 0 if no flag sets the size, or if a sweep
// parameter does.
func tp(flags []Flag) int { return Size(flags, tpKeys...) }

// DP returns the data-parallel size that the flags set, or 0.
func DP(flags []Flag) int { return Size(flags, dpKeys...) }

// Size returns the value of the first of several flags that is set to a number, or 0.
func Size(flags []Flag, keys ...string) int {
	for _, key := range keys {
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
