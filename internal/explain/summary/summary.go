// Package summary is the form in which what explaining a window takes of its ranks goes
// from where their traces are to where they are joined: a stream of files, each with the
// ranks in it. It is no format to keep: it is read by the version that wrote it.
package summary

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/stepscope/stepscope/internal/base/flat"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// Window is what a host says of the window that it has files of.
type Window struct {
	ID        string
	Newest    int64 // when the last of its files was written, ns
	Reference []trace.Reference
}

// File is what came of one file of traces.
type File struct {
	Of set.File
	// Of its head: what it says of the world, that it is merged and of ranks that were
	// missing then, and why it could not be read.
	World   trace.World
	Merged  bool
	Missing []set.Missing
	Problem string

	Error string // why nothing could be read; "": Ranks are there
	Ranks []prep.Rank
}

// NewFile is a file with nothing read yet but its head.
func NewFile(h *set.Head) *File {
	f := &File{Of: h.File, World: h.World, Merged: h.Labels || h.Merged != nil}
	if h.Merged != nil {
		f.Missing = h.Merged.Missing
	}
	if h.Problem != nil {
		f.Problem = h.Problem.String()
	}
	return f
}

// Head is the head that NewFile was given, as far as missing ranks are told by it.
func (f *File) Head() *set.Head {
	h := &set.Head{File: f.Of, World: f.World, Labels: f.Merged}
	if f.Missing != nil {
		h.Merged = &set.Merged{Missing: f.Missing}
	}
	if f.Problem != "" {
		h.Problem = &set.Problem{Reason: f.Problem}
	}
	return h
}

// magic begins a stream; the number says what its frames are.
const magic = "stepscope ranks 1 "

// schema is of all that is written.
var schema = flat.Schema(struct {
	Window Window
	File   File
}{})

// Is tells by its first bytes what was written by this or another version.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte("stepscope ranks ")) }

// Writer writes a stream.
type Writer struct {
	w io.Writer
	z *zstd.Encoder
}

// NewWriter begins a stream.
func NewWriter(w io.Writer, window *Window) (*Writer, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(w, magic+schema+"\n"); err != nil {
		return nil, err
	}
	s := &Writer{w, z}
	return s, s.frame(*window)
}

// File writes one file.
func (s *Writer) File(f *File) error { return s.frame(*f) }

// Close ends the stream: without that it counts as broken off.
func (s *Writer) Close() error {
	_, err := s.w.Write([]byte{0})
	return err
}

// frame writes a value: the length of what follows, that of the value, and the value
// compressed.
func (s *Writer) frame(v any) error {
	plain := flat.Marshal(v)
	body := s.z.EncodeAll(plain, binary.AppendUvarint(nil, uint64(len(plain))))
	_, err := s.w.Write(append(binary.AppendUvarint(nil, uint64(len(body))), body...))
	return err
}

// ErrVersion means that another version wrote a stream.
var ErrVersion = errors.New("summaries of another version of stepscope: use the same on all hosts")

// Limits of what is read.
const (
	mostBytes = 1 << 30 // of one file, compressed and not
	growth    = 1 << 20 // what is taken before more of a frame is there
)

// Reader reads a stream.
type Reader struct {
	Window Window
	r      *bufio.Reader
	z      *zstd.Decoder
}

// NewReader reads the beginning of a stream.
func NewReader(r io.Reader) (*Reader, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostBytes))
	if err != nil {
		return nil, err
	}
	s := &Reader{r: bufio.NewReader(r), z: z}
	head := make([]byte, len(magic)+len(schema)+1)
	n, err := io.ReadFull(s.r, head)
	switch {
	case string(head) == magic+schema+"\n":
	case Is(head[:n]) && err == nil:
		return nil, ErrVersion
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, err
	case n == 0:
		return nil, errors.New("no summaries: nothing came")
	default:
		return nil, errors.New("these are no summaries of ranks")
	}
	if err := s.frame(&s.Window); err != nil {
		return nil, noEnd(err)
	}
	return s, nil
}

// Next reads the next file; the error is io.EOF after the last.
func (s *Reader) Next() (*File, error) {
	f := &File{}
	if err := s.frame(f); err != nil {
		return nil, err
	}
	for i := range f.Ranks {
		if err := f.Ranks[i].Check(); err != nil {
			return nil, fmt.Errorf("the summary of %s is damaged: %w", f.Of.Path, err)
		}
	}
	return f, nil
}

// Close frees what reading took.
func (s *Reader) Close() { s.z.Close() }

func (s *Reader) frame(v any) error {
	n, err := binary.ReadUvarint(s.r)
	if err != nil {
		return noEnd(err)
	}
	if n == 0 {
		return io.EOF
	}
	if n > mostBytes {
		return damaged(fmt.Errorf("a part of %d bytes", n))
	}
	// What is taken grows with what comes, whatever is promised.
	var body bytes.Buffer
	body.Grow(int(min(n, growth)))
	if _, err := io.CopyN(&body, s.r, int64(n)); err != nil {
		return noEnd(err)
	}
	length, k := binary.Uvarint(body.Bytes())
	if k <= 0 || length > mostBytes {
		return damaged(fmt.Errorf("a part of %d bytes", length))
	}
	plain, err := s.z.DecodeAll(body.Bytes()[k:], nil)
	if err == nil && uint64(len(plain)) != length {
		err = fmt.Errorf("a part has %d bytes, not %d", len(plain), length)
	}
	if err == nil {
		err = flat.Unmarshal(plain, v)
	}
	if err != nil {
		return damaged(err)
	}
	return nil
}

func damaged(err error) error { return fmt.Errorf("the summaries are damaged: %w", err) }

// noEnd is the error of a stream that ends too soon.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the summaries break off")
	}
	return err
}
