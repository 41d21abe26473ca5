// Package jsontest inspects JSON in tests.
package jsontest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Keys returns the keys of v as a JSON object, in their order, separated by spaces.
func Keys(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	var keys []string
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil { // {
		return "", err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return "", err
		}
		keys = append(keys, fmt.Sprint(key))
		var value any
		if err := dec.Decode(&value); err != nil {
			return "", err
		}
	}
	return strings.Join(keys, " "), nil
}
