// Package hf reads directories in the Hugging Face layout: JSON configurations, and weights in one safetensors file or
// in several files with an index. It is independent of any architecture.
package hf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

const maxConfigBytes = 16 << 20

// ReadSmall reads a file of at most maxConfigBytes.
func ReadSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err == nil && len(data) > maxConfigBytes {
		err = fmt.Errorf("%s: larger than %d MiB; is it a configuration?", path, maxConfigBytes>>20)
	}
	return data, err
}

// decodeStrict decodes exactly one JSON value.
func decodeStrict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("text after the JSON value")
	}
	return nil
}
