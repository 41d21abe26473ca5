package chromejson

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// Source is the decompressed text of one trace file. The format is determined from the first bytes, never from the
// file's name.
type Source struct {
	file    io.ReadCloser
	counted *countingReader
	text    io.Reader
	zstd    *zstd.Decoder
	gzip    *members
	Format  Format
	Size    int64 // file size in bytes; 0 if not a regular file
}

// Format is the compression of a file.
type Format string

// Formats that Open reads.
const (
	Plain Format = "json"
	Gzip  Format = "gzip"
	Zstd  Format = "zstd"
)

// ErrEmpty is the error for a file without any text.
var ErrEmpty = errors.New("the file is empty")

// Open opens a trace file: JSON, gzip with any number of members, or zstd.
func Open(path string) (*Source, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = fmt.Errorf("read %s: is a directory", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	s, err := NewSource(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	if st.Mode().IsRegular() {
		s.Size = st.Size()
	}
	return s, nil
}

// NewSource reads a trace from r. Close closes r.
func NewSource(r io.ReadCloser) (*Source, error) {
	s := &Source{file: r, counted: &countingReader{r: r}}
	br := bufio.NewReaderSize(s.counted, 128<<10)
	head, err := br.Peek(4)
	if len(head) == 0 {
		if err == io.EOF {
			return nil, ErrEmpty
		}
		return nil, err
	}
	switch {
	case len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b:
		s.Format, s.gzip = Gzip, &members{src: br}
		s.text = s.gzip
	case len(head) == 4 && string(head) == "\x28\xb5\x2f\xfd":
		s.Format = Zstd
		// Decode in one goroutine, and accept windows up to the largest that zstd accepts by default (--long=27).
		s.zstd, err = zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, err
		}
		s.text = s.zstd
	case bytes.IndexByte([]byte("{[ \t\r\n\xef"), head[0]) >= 0: // "\xef" starts a byte order mark
		s.Format, s.text = Plain, br
	default:
		return nil, fmt.Errorf("not a trace: it begins with % x, neither JSON nor gzip nor zstd", head)
	}
	return s, nil
}

// Read reads the decompressed text.
func (s *Source) Read(p []byte) (int, error) { return s.text.Read(p) }

// Consumed returns the number of file bytes read so far. It is safe to call while another goroutine reads.
func (s *Source) Consumed() int64 { return s.counted.n.Load() }

// Garbage reports whether the last gzip member is followed by bytes that are not a gzip member.
func (s *Source) Garbage() bool { return s.gzip != nil && s.gzip.garbage }

// Close releases the decoder and the file.
func (s *Source) Close() error {
	if s.zstd != nil {
		s.zstd.Close()
	}
	return s.file.Close()
}

type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
