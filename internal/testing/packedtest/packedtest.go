// Package packedtest decompresses files of testdata, for tests.
package packedtest

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Read returns the decompressed text of a file. It detects gzip and zstd by the first bytes.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r io.Reader = bytes.NewReader(b)
	switch {
	case bytes.HasPrefix(b, []byte{0x1f, 0x8b}):
		r, err = gzip.NewReader(r)
	case bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		var z *zstd.Decoder
		if z, err = zstd.NewReader(r); err == nil {
			defer z.Close()
			r = z
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return text
}

// File decompresses a .zst file into a temporary directory of the test, and returns its path there.
func File(t testing.TB, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(path), ".zst"))
	if err := os.WriteFile(to, Read(t, path), 0o666); err != nil {
		t.Fatal(err)
	}
	return to
}
