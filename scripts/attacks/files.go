package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// readers are the commands that read traces. In the arguments, FILE is replaced by the path of the input.
var readers = [][]string{
	{"analyze", "FILE"}, {"analyze", "FILE", "--html", "page.html", "--json"}, {"whatif", "FILE", "--set", "host=0.5"},
	{"trace", "check", "FILE"}, {"trace", "merge", "FILE", "-o", "out.trace.json.gz"}, {"trace", "merge", "FILE", "-o", "out.pftrace"},
	{"trace", "cut", "FILE", "--steps", "0-1", "-o", "cut.json.gz"}, {"trace", "cut", "FILE", "--redact", "-o", "redacted.json.gz"},
	{"trace", "export", "FILE", "-o", "spans.csv"}, {"trace", "export", "FILE", "-o", "spans.parquet"}, {"compare", "FILE", "FILE"},
}

func with(args []string, file string) []string {
	out := append([]string(nil), args...)
	for i := range out {
		if out[i] == "FILE" {
			out[i] = file
		}
	}
	return out
}

// event returns a valid event of a kernel.
func event(i int, name string) string {
	return fmt.Sprintf(`{"ph":"X","cat":"kernel","name":%q,"pid":0,"tid":7,"ts":%d,"dur":1,"args":{"stream":7,"correlation":%d}},`, name, i, i)
}

func document(events string) string {
	return `{"traceEvents":[` + strings.TrimSuffix(events, ",") + `]}`
}

func gzipped(text string) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	io.WriteString(z, text)
	z.Close()
	return b.Bytes()
}

// bombs tries small files that could take a long time or much memory to read.
func bombs(a *attack) error {
	zeros := func(n int) []byte { return gzipped(`{"traceEvents":[` + strings.Repeat(" ", n)) }
	var z bytes.Buffer
	zw, err := zstd.NewWriter(&z)
	if err != nil {
		return err
	}
	io.WriteString(zw, `{"traceEvents":["`+strings.Repeat("0", 200<<20))
	zw.Close()
	distinct, tiny, same := &strings.Builder{}, &strings.Builder{}, &strings.Builder{}
	for i := range some(200_000) {
		distinct.WriteString(event(i, fmt.Sprintf("void cutlass::Kernel2<cutlass_%d_tensorop_bf16_s16816gemm_%dx%d>", i, i%7, i%13)))
		fmt.Fprintf(tiny, `{"ph":"X","name":"a","ts":%d},`, i)
		same.WriteString(event(0, "k"))
	}
	sqlite := append([]byte("SQLite format 3\x00"), bytes.Repeat([]byte{0x10, 0, 1, 1}, 3000)...)
	binary.BigEndian.PutUint32(sqlite[28:], 1<<30)
	files := map[string][]byte{
		"events.json":      []byte(`{"traceEvents":[` + strings.Repeat(`{"ph":"X",`, 100_000)),
		"bare.json":        []byte(strings.Repeat(`{"ph":"X",`, 100_000)),
		"strings.json":     []byte(`{"traceEvents":[` + strings.Repeat(`{"ph":"X","name":"`, 60_000)),
		"quotes.json":      []byte(`{"traceEvents":[` + strings.Repeat(`{"name":"a"b","ph":"X"},`, 50_000)),
		"deep.json":        []byte(`{"traceEvents":[{"ph":"X","args":` + strings.Repeat("[", 1<<20)),
		"deeper.json":      []byte(`{"traceEvents":[{"ph":"X","args":` + strings.Repeat(`{"a":`, 1<<19)),
		"members.json":     []byte("{" + strings.Repeat(`"a":"`, 200_000)),
		"numbers.json":     []byte(document(strings.Repeat(`{"ph":"X","cat":"kernel","name":"k","pid":1e999,"tid":-1,"ts":9e307,"dur":-9223372036854775809},`, 1000))),
		"longname.json":    []byte(document(event(1, strings.Repeat("a<", 1<<20)))),
		"tinyevents.json":  []byte(document(tiny.String())),
		"distinct.json.gz": gzipped(document(distinct.String())),
		"same.json.gz":     gzipped(document(same.String())),
		"zeros.json.gz":    zeros(500 << 20),
		"zeros.json.zst":   z.Bytes(),
		"nested.json.gz":   gzipped(string(gzipped(string(gzipped("x"))))),
		"empty.json":       nil,
		"one.json":         []byte("{"),
		"half.json.gz":     gzipped(document(same.String()))[:100],
		"noise.json":       noise(1 << 16),
		"noise.qdrep":      noise(1 << 16),
		"noise.nsys-rep":   noise(1 << 16),
		"noise.pftrace":    noise(1 << 16),
		"noise.sqlite":     noise(1 << 16),
		"head.sqlite":      sqlite,
		"loop.ranks":       []byte("stepscope ranks 1 "),
	}
	dir, done, err := a.temp()
	if err != nil {
		return err
	}
	defer done()
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
		for i, args := range readers {
			if *short && i%4 != len(name)%4 {
				continue
			}
			a.read(dir, with(args, path))
		}
		os.Remove(path)
	}
	return nil
}

// read runs a command that reads a file, and checks that the command handles the file.
func (a *attack) read(dir string, args []string) {
	a.try()
	if _, err := run(0, dir, args...); err != nil {
		a.fail("%s: %v", strings.Join(args, " "), err)
	}
	a.left(dir, args)
}

// left records a failure if a command has left temporary files behind.
func (a *attack) left(dir string, args []string) {
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (strings.Contains(d.Name(), ".tmp") || strings.HasPrefix(d.Name(), "stepscope-spool")) {
			a.fail("%s left %s", strings.Join(args, " "), d.Name())
			os.Remove(path)
		}
		return nil
	})
}

func noise(n int) []byte {
	b, rng := make([]byte, n), draw(7)
	for i := range b {
		b[i] = byte(rng.UintN(256))
	}
	return b
}

// mutated runs the readers on real captures that were corrupted in random ways.
func mutated(a *attack) error {
	source, err := texts("testdata/traces/graph_work")
	if err != nil {
		return err
	}
	rng := draw(1)
	for range some(60) {
		dir, done, err := a.temp()
		if err != nil {
			return err
		}
		in := filepath.Join(dir, "in")
		os.Mkdir(in, 0o700)
		for name, text := range source {
			data, name := breakIt(rng, bytes.Clone(text), name)
			if err := os.WriteFile(filepath.Join(in, name), data, 0o600); err != nil {
				return err
			}
		}
		a.read(dir, with(readers[rng.IntN(len(readers))], in))
		a.read(dir, with(readers[rng.IntN(4)], in))
		done()
	}
	return nil
}

// texts returns the decompressed contents of the rank files of a capture.
func texts(dir string) (map[string][]byte, error) {
	out := map[string][]byte{}
	paths, err := filepath.Glob(filepath.Join(dir, "*.gz"))
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s: no captures: run it in the repository", dir)
	}
	for _, p := range paths {
		f, err := os.Open(p)
		if err != nil {
			return nil, err
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(z)
		f.Close()
		if err != nil {
			return nil, err
		}
		out[filepath.Base(p)] = text
	}
	return out, err
}

// breakIt corrupts a text in one way.
func breakIt(rng *rand.Rand, text []byte, name string) ([]byte, string) {
	plain := strings.TrimSuffix(name, ".gz")
	at := func() int { return rng.IntN(len(text)) }
	switch rng.IntN(8) {
	case 0: // flip bits
		for range 1 + rng.IntN(50) {
			text[at()] ^= 1 << rng.UintN(8)
		}
	case 1: // truncate
		text = text[:at()]
	case 2: // cut out a part
		from := at()
		text = append(text[:from], text[min(len(text), from+rng.IntN(1<<16)):]...)
	case 3: // duplicate a part
		from := at()
		text = append(text[:from:from], text[rng.IntN(from+1):]...)
	case 4: // change digits
		for range 2000 {
			if i := at(); text[i] >= '0' && text[i] <= '9' {
				text[i] = "0123456789-e."[rng.IntN(13)]
			}
		}
	case 5: // change quotes and braces
		for range 20 {
			text[at()] = "\"{}[]:,\\"[rng.IntN(8)]
		}
	case 6: // corrupt compressed bytes
		z := gzipped(string(text))
		for range 1 + rng.IntN(5) {
			z[rng.IntN(len(z))] ^= 0x55
		}
		return z, name
	case 7: // rename to another rank
		plain = strings.Replace(plain, "TP-0", "TP-1", 1)
	}
	return text, plain
}

// signals interrupts the readers of a large capture at random times.
func signals(a *attack) error {
	dir, done, err := a.temp()
	if err != nil {
		return err
	}
	defer done()
	// The text is so long that each command is still reading it when the interrupt arrives.
	var big strings.Builder
	for i := range 1_500_000 {
		big.WriteString(event(i, fmt.Sprintf("kernel_%d", i%100_000)))
	}
	in := filepath.Join(dir, "in")
	os.Mkdir(in, 0o700)
	if err := os.WriteFile(filepath.Join(in, "big-TP-0.trace.json.gz"), gzipped(document(big.String())), 0o600); err != nil {
		return err
	}
	rng := draw(2)
	for range some(40) {
		args := with(readers[rng.IntN(len(readers))], in)
		after := time.Duration(20+rng.IntN(2000)) * time.Millisecond
		a.try()
		r, err := run(after, dir, args...)
		switch {
		case err != nil:
			a.fail("%s, SIGINT after %v: %v", strings.Join(args, " "), after, err)
		case r.interrupted == 0: // the command finished before the interrupt
		case r.status == 130 && r.interrupted > wide(time.Second):
			a.fail("%s, SIGINT after %v: ended %v later", strings.Join(args, " "), after, r.interrupted)
		case r.status == 130:
			for _, out := range []string{"out.trace.json.gz", "out.pftrace", "cut.json.gz", "redacted.json.gz", "spans.csv", "spans.parquet", "page.html"} {
				if _, err := os.Stat(filepath.Join(dir, out)); err == nil {
					a.fail("%s, SIGINT after %v: left %s", strings.Join(args, " "), after, out)
				}
			}
		}
		a.left(dir, args)
		for _, out := range []string{"out.trace.json.gz", "out.pftrace", "cut.json.gz", "redacted.json.gz", "spans.csv", "spans.parquet", "page.html"} {
			os.RemoveAll(filepath.Join(dir, out))
		}
	}
	return nil
}

// names tries file names, kernel names and host names that contain characters which move the cursor.
func names(a *attack) error {
	evil := "a\x1b[2J\x07\u202eexe.\u2066b\x9bc=cmd|'/c calc'!A0"
	dir, done, err := a.temp()
	if err != nil {
		return err
	}
	defer done()
	var events strings.Builder
	for i := range 50 {
		events.WriteString(event(i*10, "=cmd|' /c calc'!A0\\u001b[2J\\u202e"))
	}
	path := filepath.Join(dir, evil[:strings.Index(evil, "=")]+"-TP-0.trace.json")
	if err := os.WriteFile(path, []byte(strings.Replace(document(events.String()), `{"traceEvents"`, `{"host_name":"\u001b]0;x\u0007","traceEvents"`, 1)), 0o600); err != nil {
		return err
	}
	broken := filepath.Join(dir, "\x1b[31mbroken.json")
	if err := os.WriteFile(broken, []byte("{nonsense"), 0o600); err != nil {
		return err
	}
	for _, in := range []string{path, broken, dir, filepath.Join(dir, "\x1b[2Jnot there")} {
		for _, args := range readers {
			a.try()
			r, err := run(0, dir, with(args, in)...)
			if err != nil {
				a.fail("%s of a hostile name: %v", args[0], err)
			} else if c := control(r.out); c != "" && !slices.Contains(args, "--json") { // JSON is only for programs
				a.fail("%s of a hostile name: stdout has %s", strings.Join(args, " "), c)
			}
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "spans.csv")); err == nil && bytes.Contains(text, []byte(",=cmd")) {
		a.fail("trace export: a cell of the CSV is a formula")
	}
	return nil
}
