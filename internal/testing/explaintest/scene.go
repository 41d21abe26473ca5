package explaintest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Scene is a rank's file, event by event, with times in µs.
type Scene struct {
	Head   string // of the file, without its events
	events []string
	corr   int
}

// Span adds a span of the host, with the members of its arguments as JSON.
func (s *Scene) Span(cat, name string, ts, dur int, args string) {
	s.events = append(s.events, fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":9,"tid":1,"ts":%d,"dur":%d,"args":{%s}}`, cat, name, ts, dur, args))
}

// Mark adds an annotation.
func (s *Scene) Mark(name string, ts, dur int) { s.Span("user_annotation", name, ts, dur, "") }

// Kernel adds a kernel with its launch time, start and duration.
func (s *Scene) Kernel(name string, launched, ts, dur int) {
	s.corr++
	s.Span("cuda_runtime", "cudaLaunchKernel", launched, 2, fmt.Sprintf(`"correlation":%d`, s.corr))
	s.events = append(s.events, fmt.Sprintf(
		`{"ph":"X","cat":"kernel","name":%q,"pid":0,"tid":7,"ts":%d,"dur":%d,"args":{"device":0,"stream":7,"correlation":%d}}`, name, ts, dur, s.corr))
}

// Write writes the file under a server's file name.
func (s *Scene) Write(t *testing.T, dir, name string) {
	t.Helper()
	text := `{"baseTimeNanoseconds":1700000000000000000,` + s.Head + `"traceEvents":[` + strings.Join(s.events, ",\n") + `]}`
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Pipeline adds a request: encoding of 100 µs, four steps of 100 µs each, and decoding of the given length.
func (s *Scene) Pipeline(at, decoding int) {
	const allReduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
	s.Mark("STAGE TextEncodingStage", at, 100)
	s.Kernel("gemm", at+5, at+10, 60)
	s.Mark("STAGE denoising_stage", at+100, 400)
	for i := range 4 {
		from := at + 100 + 100*i
		s.Mark(fmt.Sprintf("denoising_step_%d_t%d", i, 1000-10*i), from, 99)
		s.Kernel("gemm", from+2, from+10, 50)
		s.Kernel(allReduce, from+5, from+60, 20)
	}
	s.Mark("STAGE decoding_stage", at+500, decoding)
	s.Mark("stage_decoding_stage", at+501, decoding-2) // the range of the layer-wise markers, inside the stage
	s.Kernel("conv", at+510, at+520, decoding-50)
}
