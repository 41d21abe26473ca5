package chromejson

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// gzipped compresses each part as a gzip member.
func gzipped(parts ...string) string {
	var b bytes.Buffer
	for _, p := range parts {
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(p))
		_ = w.Close()
	}
	return b.String()
}

// named returns a member whose header has every optional field.
func named(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Name, w.Comment, w.Extra = "rank 0", "of a test", []byte("more")
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	file := b.Bytes()
	file[3] |= 2 // and its checksum, which is ignored
	at := bytes.Index(file, []byte("of a test\x00")) + len("of a test\x00")
	return string(file[:at]) + "\x12\x34" + string(file[at:])
}

func zstandard(t testing.TB, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(w.EncodeAll([]byte(text), nil))
}

func TestSource(t *testing.T) {
	const text = `{"traceEvents":[{"ph":"B"},{"ph":"E"}]}`
	whole := gzipped(text)
	wrongSum := []byte(whole)
	wrongSum[len(wrongSum)-8] ^= 1
	for _, c := range []struct {
		name    string
		file    string
		format  Format
		events  int
		garbage bool
		reason  string
	}{
		{name: "plain", file: text, format: Plain, events: 2},
		{name: "gzip", file: whole, format: Gzip, events: 2},
		{name: "gzip with a long header", file: named(t, text), format: Gzip, events: 2},
		{name: "cut in a long header", file: named(t, text)[:20], format: Gzip, reason: "the compressed file is cut off"},
		{name: "another method", file: "\x1f\x8b\x07" + whole[3:], format: Gzip, reason: "the rest of the file cannot be read (not a gzip file)"},
		{name: "not deflate", file: whole[:10] + "\xff\xff" + whole[12:], format: Gzip, reason: "the rest of the file cannot be read (the deflate stream is corrupt)"},
		{name: "zstd", file: zstandard(t, text), format: Zstd, events: 2},
		{name: "members cut anywhere", file: gzipped(text[:1], text[1:20], "", text[20:]), format: Gzip, events: 2},
		{name: "trailing zeros", file: whole + "\x00\x00\x00", format: Gzip, events: 2},
		{name: "zeros between members", file: gzipped(text[:20]) + "\x00\x00" + gzipped(text[20:]), format: Gzip, events: 2},
		{name: "trailing garbage", file: whole + "this is not gzip at all", format: Gzip, events: 2, garbage: true},
		{name: "one byte of garbage", file: whole + "x", format: Gzip, events: 2, garbage: true},
		{name: "garbage after zeros", file: whole + "\x00\x00xyz", format: Gzip, events: 2, garbage: true},
		{name: "second member cut in its header", file: whole + whole[:6], format: Gzip, events: 2, reason: "the compressed file is cut off"},
		{name: "first half of the magic", file: whole + "\x1f", format: Gzip, events: 2, reason: "the compressed file is cut off"},
		{name: "header only", file: whole[:2], format: Gzip, reason: "the compressed file is cut off"},
		{name: "checksum missing", file: whole[:len(whole)-5], format: Gzip, events: 2, reason: "the compressed file is cut off"},
		{name: "wrong checksum", file: string(wrongSum), format: Gzip, events: 2, reason: "the gzip checksum does not match"},
		{name: "empty text", file: gzipped(""), format: Gzip, reason: "it contains no JSON"},
		{name: "zstd cut off", file: zstandard(t, text)[:20], format: Zstd, reason: "the compressed file is cut off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "trace")
			if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
			src, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			got := collect(t, src, defaultLimits, false)
			if src.Format != c.format || src.Garbage() != c.garbage || src.Size != int64(len(c.file)) {
				t.Errorf("format %s, garbage %v, size %d; want %s, %v, %d", src.Format, src.Garbage(), src.Size, c.format, c.garbage, len(c.file))
			}
			if src.Consumed() != src.Size {
				t.Errorf("%d bytes consumed of %d", src.Consumed(), src.Size)
			}
			if len(got.Events) != c.events || got.Stats.End.Reason != c.reason {
				t.Errorf("%d events, %+v; want %d, reason %q", len(got.Events), got.Stats, c.events, c.reason)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, file, want string }{
		{"empty", "", "empty"},
		{"zip", "PK\x03\x04", "not a trace: it begins with 50 4b 03 04"},
		{"one byte", "\x1f", "not a trace"},
	} {
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := Open(path)
		if err == nil {
			src.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
		if c.name == "empty" && !errors.Is(err, ErrEmpty) {
			t.Errorf("%v is not ErrEmpty", err)
		}
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("directory: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// failing returns some text and then an error.
type failing struct {
	text string
	err  error
}

func (f *failing) Read(p []byte) (int, error) {
	if f.text == "" {
		return 0, f.err
	}
	n := copy(p, f.text)
	f.text = f.text[n:]
	return n, nil
}

func (f *failing) Close() error { return nil }

func TestReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, c := range []struct{ name, text string }{
		{"in a plain file", `[{"ph":"B"},`},
		{"between gzip members", gzipped(`[{"ph":"B"},`)},
	} {
		src, err := NewSource(&failing{text: c.text, err: broken})
		if err != nil {
			t.Fatal(err)
		}
		got := collect(t, src, defaultLimits, false)
		if end := got.Stats.End; len(got.Events) != 1 || end.Complete || !strings.Contains(end.Reason, "disk on fire") {
			t.Errorf("%s: %d events, %+v", c.name, len(got.Events), end)
		}
		src.Close()
	}
	// A reader that makes no progress does not hang the scan.
	got := collect(t, &failing{text: "[", err: nil}, defaultLimits, false)
	if end := got.Stats.End; end.Complete || !strings.Contains(end.Reason, io.ErrNoProgress.Error()) {
		t.Errorf("no progress: %+v", end)
	}
}

// TestCloseEarly: Close returns even if most of the text is unread.
func TestCloseEarly(t *testing.T) {
	s := newScanner(strings.NewReader("["+strings.Repeat(`{"ph":"B"},`, 1000)), tiny)
	if kind, err := s.Next(); kind != EventToken || err != nil {
		t.Fatal(kind, err)
	}
	s.Close()
}
