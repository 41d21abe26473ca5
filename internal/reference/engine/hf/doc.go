// Package hf reads directories of the Hugging Face layout: JSON configurations, and weights in safetensors files, one
// or several with an index. It knows no architecture.
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

// decodeStrict decodes one JSON value and nothing after it.
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
