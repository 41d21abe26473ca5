// Package summary encodes prepared ranks, so that they can be analysed on a different host than the host that stores
// the traces. The format is a stream of trace files, each with its ranks. The format is not meant for storage: only the
// version of stepscope that wrote a stream can read the stream.
package summary

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// Window describes the window to which the files of a host belong.
type Window struct {
	ID        string
	Newest    int64 // modification time of the newest file, ns since the epoch
	Reference []trace.Reference
	GPUs      []trace.GPUState // samples of the GPUs
}

// File is the summary of one trace file.
type File struct {
	Of set.File
	// The fields below come from the head of the file: its process group, whether the file is merged, and the ranks
	// missing from the merge. If the head could not be read, Problem is the reason.
	World   trace.World
	Merged  bool
	Missing []set.Missing
	Problem string

	Error string // reason that nothing could be read; "": Ranks are valid
	Ranks []prep.Rank
}

// NewFile returns a File with only the data of the file's head.
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

// Head returns the head given to NewFile, limited to the data that determines missing ranks.
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

// magic is the beginning of a stream. The number is the version of the framing.
const magic = "stepscope ranks 2 "

// schema identifies the types of all values in a stream.
var schema = schemaOf(struct {
	Window Window
	File   File
}{})

// Is reports whether head begins a stream, written by this or any other version.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte("stepscope ranks ")) }

// Writer writes a stream.
type Writer struct {
	w io.Writer
	z *zstd.Encoder
}

// NewWriter writes the beginning of a stream to w.
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
func (s *Writer) File(f *File) error {
	bare := *f
	bare.Ranks = slices.Clone(f.Ranks)
	for i := range bare.Ranks {
		bare.Ranks[i].Ranges = nil // the reader recomputes the ranges (prep.FindMarkers)
	}
	return s.frame(bare)
}

// Close ends the stream. A stream without the end mark counts as truncated.
func (s *Writer) Close() error {
	_, err := s.w.Write([]byte{0})
	return err
}

// frame writes a value as a frame: the length of the rest of the frame, the uncompressed length of the value, and the
// compressed value.
func (s *Writer) frame(v any) error {
	var plain bytes.Buffer
	if err := gob.NewEncoder(&plain).Encode(v); err != nil {
		return err
	}
	body := s.z.EncodeAll(plain.Bytes(), binary.AppendUvarint(nil, uint64(plain.Len())))
	_, err := s.w.Write(append(binary.AppendUvarint(nil, uint64(len(body))), body...))
	return err
}

// ErrVersion means that another version of stepscope wrote the stream.
var ErrVersion = errors.New("summaries of another version of stepscope: use the same on all hosts")

// Limits on memory when reading.
const (
	mostBytes  = 256 << 20 // maximum size of a frame, both compressed and uncompressed
	mostRatio  = 100       // maximum ratio of uncompressed to compressed size, for the bytes beyond leastFrame
	leastFrame = 16 << 20
	growth     = 1 << 20 // memory allocated before more of a frame has arrived
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

// Next reads the next file. After the last file, the error is io.EOF.
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

// Close frees the decoder.
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
	// The buffer grows with the data received, so a frame that claims a large length does not exhaust memory.
	var body bytes.Buffer
	body.Grow(int(min(n, growth)))
	if _, err := io.CopyN(&body, s.r, int64(n)); err != nil {
		return noEnd(err)
	}
	length, k := binary.Uvarint(body.Bytes())
	if k <= 0 || length > mostBytes || length > leastFrame+mostRatio*n {
		return damaged(fmt.Errorf("a part of %d bytes", length))
	}
	plain, err := s.z.DecodeAll(body.Bytes()[k:], nil)
	if err == nil && uint64(len(plain)) != length {
		err = fmt.Errorf("a part has %d bytes, not %d", len(plain), length)
	}
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(plain)).Decode(v)
	}
	if err != nil {
		return damaged(err)
	}
	return nil
}

func damaged(err error) error { return fmt.Errorf("the summaries are damaged: %w", err) }

// noEnd returns the error of a truncated stream.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the summaries break off")
	}
	return err
}
