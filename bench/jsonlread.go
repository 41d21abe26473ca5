package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// ReadJSONL reads the lines that SGLang's bench_serving or WriteJSONL appended to
// a file. Numbers are float64; Infinity and NaN, which Python writes and JSON
// does not have, are what they say. A line that is cut short is an error, after
// the lines before it.
func ReadJSONL(r io.Reader) ([]map[string]any, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	var out []map[string]any
	for n := 1; ; n++ {
		text, err := b.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return out, err
		}
		if len(bytes.TrimSpace(text)) > 0 {
			m, bad := parseLine(text)
			if bad != nil {
				return out, fmt.Errorf("line %d: %w", n, bad)
			}
			out = append(out, m)
		}
		if err != nil {
			return out, nil
		}
	}
}

func parseLine(text []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(strict(text)))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("no benchmark record: %w", err)
	}
	if d.More() {
		return nil, errors.New("more than one value in the line")
	}
	if m == nil {
		return nil, errors.New("no benchmark record: want an object")
	}
	return numbers(m).(map[string]any), nil
}

// Numbers that stand for what JSON has no words for. No writer makes them.
const (
	plusInf  = "9E+99999"
	minusInf = "-9E+99999"
	notANum  = "-0E-99999"
)

// strict replaces Python's words for numbers outside of strings.
func strict(text []byte) []byte {
	if !bytes.Contains(text, []byte("Infinity")) && !bytes.Contains(text, []byte("NaN")) {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if quoted {
			out = append(out, c)
			if c == '\\' && i+1 < len(text) {
				i++
				out = append(out, text[i])
			}
			quoted = c != '"'
			continue
		}
		rest := text[i:]
		switch {
		case bytes.HasPrefix(rest, []byte("-Infinity")):
			out, i = append(out, minusInf...), i+len("-Infinity")-1
		case bytes.HasPrefix(rest, []byte("Infinity")):
			out, i = append(out, plusInf...), i+len("Infinity")-1
		case bytes.HasPrefix(rest, []byte("NaN")):
			out, i = append(out, notANum...), i+len("NaN")-1
		default:
			quoted = c == '"'
			out = append(out, c)
		}
	}
	return out
}

func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if v == notANum {
			return math.NaN()
		}
		f, _ := strconv.ParseFloat(v.String(), 64) // out of range is ±Inf, as in Python
		return f
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	}
	return v
}
