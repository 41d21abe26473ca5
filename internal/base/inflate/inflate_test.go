package inflate

import (
	"bufio"
	"bytes"
	stdflate "compress/flate"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/flate"
)

// all reads a stream by reads of size bytes, and returns the unread rest of src.
func all(src io.Reader, buffer, size int) (text, rest []byte, err error) {
	br := bufio.NewReaderSize(src, buffer)
	z := NewReader(br)
	p := make([]byte, size)
	for {
		n, err := z.Read(p)
		text = append(text, p[:n]...)
		if err == io.EOF {
			rest, err = io.ReadAll(br)
			return text, rest, err
		}
		if err != nil {
			return text, nil, err
		}
	}
}

func deflated(t testing.TB, text []byte, level int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := stdflate.NewWriter(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// texts are of many kinds: with near and far matches, without matches, with codes longer than one lookup.
func texts() map[string][]byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 200_000)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	skewed := make([]byte, 300_000)
	for i := range skewed {
		skewed[i] = byte(min(255, rnd.ExpFloat64()*3))
	}
	var far bytes.Buffer
	for range 8 {
		far.Write(noise[:32760])
	}
	var events bytes.Buffer
	for i := range 4000 {
		fmt.Fprintf(&events, "{\"name\": \"aten::op_%d\", \"ts\": %d.%03d, \"args\": [[], [], [], [], [%d, 1]]},\n", i%37, 1e12+i*17, i%1000, i*i%4096)
	}
	return map[string][]byte{
		"empty": nil, "a byte": {7}, "zeros": make([]byte, 100_000), "noise": noise, "skewed": skewed,
		"far": far.Bytes(), "events": events.Bytes(),
	}
}

func TestReader(t *testing.T) {
	for name, text := range texts() {
		for _, level := range []int{stdflate.NoCompression, stdflate.HuffmanOnly, 1, 6, 9} {
			packed := deflated(t, text, level)
			file := append(bytes.Clone(packed), "what follows"...)
			for _, size := range []int{100, 1000, 40_000, 1 << 20} {
				for _, buffer := range []int{16, 1000, 128 << 10} {
					if size == 100 && (buffer != 1000 || len(text) > 150_000) { // each read moves 32 kB
						continue
					}
					got, rest, err := all(bytes.NewReader(file), buffer, size)
					if err != nil || !bytes.Equal(got, text) || string(rest) != "what follows" {
						t.Fatalf("%s, level %d, reads of %d, buffer of %d: %d bytes of %d, %v, rest %q", name, level, size, buffer, len(got), len(text), err, rest)
					}
				}
			}
		}
	}
}

// TestCut: a truncated stream gives the text before the cut.
func TestCut(t *testing.T) {
	text := texts()["events"][:3000]
	packed := deflated(t, text, 6)
	for n := range packed {
		got, _, err := all(iotest.HalfReader(bytes.NewReader(packed[:n])), 64, 512)
		if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasPrefix(text, got) {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if want, _ := io.ReadAll(stdflate.NewReader(bytes.NewReader(packed[:n]))); len(got) < len(want) {
			t.Fatalf("%d bytes: %d bytes of text, the standard library gives %d", n, len(got), len(want))
		}
	}
	broken := errors.New("disk on fire")
	_, _, err := all(io.MultiReader(bytes.NewReader(packed[:50]), iotest.ErrReader(broken)), 64, 512)
	if !errors.Is(err, broken) {
		t.Errorf("%v, not the reader's error", err)
	}
}

func TestReset(t *testing.T) {
	a, b := deflated(t, []byte(strings.Repeat("abc", 100)), 9), deflated(t, []byte("xyz"), 9)
	br := bufio.NewReader(bytes.NewReader(append(a, b...)))
	z := NewReader(br)
	first, err := io.ReadAll(z)
	if err != nil || len(first) != 300 {
		t.Fatal(len(first), err)
	}
	z.Reset(br)
	if second, err := io.ReadAll(z); err != nil || string(second) != "xyz" {
		t.Errorf("%q, %v", second, err)
	}
	// A match must not reach into the previous stream.
	z.Reset(bufio.NewReader(bytes.NewReader([]byte{0x4b, 0x04, 0x12, 0x00})))
	if text, err := io.ReadAll(z); err != ErrCorrupt {
		t.Errorf("%q, %v; want %v", text, err, ErrCorrupt)
	}
}

// FuzzReader checks that any bytes give the standard library's result.
func FuzzReader(f *testing.F) {
	for _, text := range texts() {
		f.Add(deflated(f, text[:min(len(text), 2000)], 6), uint16(300))
	}
	f.Add([]byte{0x03, 0x00}, uint16(1))
	f.Add([]byte{0x05, 0xe0, 0x81, 0x08, 0x00, 0x00}, uint16(1000))
	f.Fuzz(func(t *testing.T, packed []byte, size uint16) {
		src := bytes.NewReader(packed)
		want, wantErr := io.ReadAll(io.LimitReader(stdflate.NewReader(src), 100_000))
		if len(want) == 100_000 {
			return
		}
		got, rest, err := all(bytes.NewReader(packed), 64, int(size)+1)
		if (err == nil) != (wantErr == nil) || err == nil && (!bytes.Equal(got, want) || len(rest) != src.Len()) {
			t.Fatalf("%d bytes, %d left, %v; the standard library: %d bytes, %d left, %v", len(got), len(rest), err, len(want), src.Len(), wantErr)
		}
		if !bytes.HasPrefix(got, want) && !bytes.HasPrefix(want, got) {
			t.Fatal("the text differs from the standard library's")
		}
	})
}

// BenchmarkInflate reads a rank file of the large capture under STEPSCOPE_DATA, or similar text, and compares with
// klauspost's reader.
func BenchmarkInflate(b *testing.B) {
	text := bytes.Repeat(texts()["events"], 40)
	packed := deflated(b, text, 6)
	if dir := os.Getenv("STEPSCOPE_DATA"); dir != "" {
		files, _ := filepath.Glob(filepath.Join(dir, "traces", "large", "*.json.gz"))
		if len(files) == 0 {
			b.Fatalf("no traces/large/*.json.gz under %s", dir)
		}
		file, err := os.ReadFile(files[0])
		if err != nil {
			b.Fatal(err)
		}
		packed = file[10+bytes.IndexByte(file[10:], 0)+1:] // after the header and the name
		if text, err = io.ReadAll(stdflate.NewReader(bytes.NewReader(packed))); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		open func(*bufio.Reader) io.Reader
	}{
		{"ours", func(r *bufio.Reader) io.Reader { return NewReader(r) }},
		{"klauspost", func(r *bufio.Reader) io.Reader { return flate.NewReader(r) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := make([]byte, 256<<10)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r := c.open(bufio.NewReaderSize(bytes.NewReader(packed), 128<<10))
				total := 0
				for {
					n, err := io.ReadFull(r, p)
					total += n
					if err != nil {
						break
					}
				}
				if total != len(text) {
					b.Fatal(total)
				}
			}
		})
	}
}
