package collect

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// ErrPartial is wrapped by the error that Whole returns for a file that is truncated or still being written.
var ErrPartial = errors.New("incomplete")

// Whole reads a file to its end and checks that it is complete: each gzip member must have a trailer with a valid
// checksum, and the JSON document must be closed. A file without JSON in its name only needs to be non-empty.
func Whole(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var r io.Reader = stopping{ctx, bufio.NewReaderSize(f, 256<<10)}
	name := strings.ToLower(path)
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(r)
		if err != nil {
			return partial(ctx, err, "its gzip header cannot be read")
		}
		defer z.Close()
		r, name = z, strings.TrimSuffix(name, ".gz")
	}
	n, tail, err := end(r)
	if err != nil {
		return partial(ctx, err, "it is cut off or damaged")
	}
	if n == 0 {
		return fmt.Errorf("%w: it is empty", ErrPartial)
	}
	if !strings.HasSuffix(name, ".json") {
		return nil
	}
	if tail = bytes.TrimRight(tail, " \t\r\n"); len(tail) == 0 || tail[len(tail)-1] != '}' && tail[len(tail)-1] != ']' {
		return fmt.Errorf("%w: its JSON is not closed", ErrPartial)
	}
	return nil
}

func partial(ctx context.Context, err error, what string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %s (%v)", ErrPartial, what, err)
}

// end reads r to the end and returns the last bytes.
func end(r io.Reader) (n int64, tail []byte, err error) {
	buf := make([]byte, 128<<10)
	for {
		k, err := r.Read(buf)
		n += int64(k)
		tail = append(tail, buf[max(0, k-64):k]...)
		tail = tail[max(0, len(tail)-64):]
		if err == io.EOF {
			return n, tail, nil
		}
		if err != nil {
			return n, tail, err
		}
	}
}
