package chromejson

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// benchText returns the file named by SCAN_FILE, else the first of the large traces under STEPSCOPE_DATA, else 20 MB
// with the layout and mix of a real one.
func benchText(b *testing.B) []byte {
	b.Helper()
	path := os.Getenv("SCAN_FILE")
	if dir := os.Getenv("STEPSCOPE_DATA"); path == "" && dir != "" {
		found, _ := filepath.Glob(filepath.Join(dir, "traces", "large", "*.json.gz"))
		if len(found) == 0 {
			b.Fatalf("no traces/large/*.json.gz under %s", dir)
		}
		path = found[0]
	}
	if path == "" {
		return generated(20 << 20)
	}
	src, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	text, err := io.ReadAll(src)
	if err != nil {
		b.Fatal(err)
	}
	return text
}

// generated returns a trace of at least size bytes: per kernel an op with shapes, a launch, its flow, the kernel and
// the flow's end.
func generated(size int) []byte {
	var b bytes.Buffer
	b.WriteString("{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [")
	for i := 0; b.Len() < size; i++ {
		ts := float64(i) * 12.345
		comma := ","
		if i == 0 {
			comma = ""
		}
		fmt.Fprintf(&b, comma+`
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::op_%d", "pid": 3603, "tid": 3603,
    "ts": %.3f, "dur": 10.125,
    "args": {
      "External id": %d,"Record function id": 0, "Concrete Inputs": ["", "", "-1"], "Input type": ["c10::BFloat16", "long int", "Scalar"], "Input Strides": [[4096, 1], [512, 1], []], "Input Dims": [[%d, 4096], [16, 512], []], "Ev Idx": %d
    }
  },
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 3603, "tid": 3603,
    "ts": %.3f, "dur": 4.001,
    "args": {
      "External id": %d, "cbid": 211, "correlation": %d
    }
  },
  {
    "ph": "s", "id": %d, "pid": 3603, "tid": 3603, "ts": %.3f,
    "cat": "ac2g", "name": "ac2g"
  },
  {
    "ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, at::native::op_%d>(int, std::array<char*, 3ul>)", "pid": 0, "tid": 7,
    "ts": %.3f, "dur": 7.677,
    "args": {
      "External id": %d,      "queued": 0, "device": 0, "context": 1,      "stream": 7, "correlation": %d,      "registers per thread": 96,      "shared memory": 103808,      "blocks per SM": 0.181818,      "warps per SM": 3.090909,      "grid": [%d, 1, 1],      "block": [544, 1, 1],      "est. achieved occupancy %%": 0
    }
  },
  {
    "ph": "f", "id": %d, "pid": 0, "tid": 7, "ts": %.3f,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  }`, i%97, ts, i, i%4096, i, ts+1, i, i, i, ts+1, i%97, ts+9, i, i, i%512+1, i, ts+9)
	}
	b.WriteString("\n  ],\n  \"traceName\": \"generated\"\n}\n")
	return b.Bytes()
}

func benchScan(b *testing.B, size int, general bool, open func() io.ReadCloser) {
	b.Helper()
	var events int64
	b.SetBytes(int64(size))
	for b.Loop() {
		r := open()
		s := NewScanner(r)
		s.general = general
		for {
			if _, err := s.Next(); err == io.EOF {
				break
			}
		}
		s.Close()
		if !s.Stats.End.Complete || s.Stats.Bytes != int64(size) {
			b.Fatalf("%+v", s.Stats)
		}
		events += s.Stats.Events
		_ = r.Close()
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkScan(b *testing.B) {
	text := benchText(b)
	benchScan(b, len(text), false, func() io.ReadCloser { return io.NopCloser(bytes.NewReader(text)) })
}

func BenchmarkScanGeneral(b *testing.B) {
	text := benchText(b)
	benchScan(b, len(text), true, func() io.ReadCloser { return io.NopCloser(bytes.NewReader(text)) })
}

// BenchmarkOpenGzip reads a compressed file from disk, as the program does.
func BenchmarkOpenGzip(b *testing.B) {
	text := benchText(b)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(text)
	_ = w.Close()
	path := filepath.Join(b.TempDir(), "trace.json.gz")
	if err := os.WriteFile(path, packed.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	benchScan(b, len(text), false, func() io.ReadCloser {
		src, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		return src
	})
}
