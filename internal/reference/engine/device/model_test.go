package device_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// fakeModel is a tensor-parallel model whose kernels sleep: a few layers of a matrix product and an all-reduce, a
// sampling kernel and a copy to the host. Sleeping kernels need no core, so there can be more ranks than cores.
type fakeModel struct {
	layers, steps int
	graphs        bool
	gemm          time.Duration
	fault         func(rank int) *device.Faults
	record        device.RecordOptions
}

const (
	gemmName   = "nvjet_sm90_tst_64x16_gemm"
	argmaxName = "void at::native::reduce_kernel<512, ArgMaxOps>"
)

func (m *fakeModel) layer(d *device.Device, c device.Comm, n int, hidden []float32) {
	h, s := d.Host(), d.Stream()
	h.Annotate(fmt.Sprintf("model.layers.%d.mlp", n))
	s.Launch(device.Kernel{
		Name: gemmName, Op: "aten::linear", Grid: [3]int32{16, 1, 1}, Block: [3]int32{384, 1, 1},
		Args: []device.Arg{device.Tensor(device.BFloat16, 4, len(hidden)), device.Tensor(device.BFloat16, len(hidden), len(hidden))},
		// Two chunks: core occupancy is checked only for kernels in one piece, and a sleeping kernel has no core.
		Chunks: 2,
		Run: func(chunk int) {
			if chunk == 0 {
				time.Sleep(m.gemm)
			}
		},
	})
	s.AllReduce(c, hidden)
	h.End()
}

func (m *fakeModel) run(t *testing.T, rank int, d *device.Device, c device.Comm) {
	h, s := d.Host(), d.Stream()
	h.Bind("scheduler")
	defer h.Release()
	hidden, token := make([]float32, 4096), make([]float32, 4)
	var g *device.Graph
	if m.graphs {
		s.BeginCapture()
		for n := range m.layers {
			m.layer(d, c, n, hidden)
		}
		var err error
		if g, err = s.EndCapture(); err != nil {
			t.Error(err)
			return
		}
	}
	if err := d.StartRecording(m.record); err != nil {
		t.Error(err)
		return
	}
	h.Memory(true, 4096, 1<<20)
	for range m.steps {
		h.Annotate("step[DECODE bs=4]")
		if g != nil {
			g.Launch(s)
		} else {
			for n := range m.layers {
				m.layer(d, c, n, hidden)
			}
		}
		s.Launch(device.Kernel{Name: argmaxName, Op: "aten::argmax", Run: func(int) {}})
		_ = s.Copy(device.Bytes(token), device.Bytes(hidden[:4]))
		if err := s.Synchronize(); err != nil {
			t.Error(err)
		}
		h.End()
	}
	h.Memory(true, 4096, -1<<20)
}

// capture runs the model on n ranks and writes their files as a server does.
func (m *fakeModel) capture(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	group := device.NewGroup("0", "tp", ids, device.GroupOptions{})
	done := make(chan error, n)
	for i, c := range group {
		go func() {
			opt := device.Options{Index: i}
			if m.fault != nil {
				opt.Faults = m.fault(i)
			}
			opt.Workers = 2
			d := device.New(opt)
			m.run(t, i, d, c)
			rec := d.StopRecording()
			var b bytes.Buffer
			err := rec.WriteKineto(&b, device.Meta{
				Rank: i, World: n, Host: "testhost", TP: device.Place{Rank: i, Size: n}, Device: d.Info(),
			})
			if lost := rec.Lost(); lost.Total() > 0 {
				t.Errorf("rank %d lost %+v", i, lost)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("17000000-TP-%d.trace.json", i)), b.Bytes(), 0o600)
			}
			_ = d.Close()
			done <- err
		}()
	}
	for range n {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func readTraces(t *testing.T, dir string) []*trace.Trace {
	t.Helper()
	sets, err := set.Find([]string{dir})
	if err != nil || len(sets) != 1 {
		t.Fatal(err, len(sets))
	}
	traces, failures, err := read.ReadSet(t.Context(), sets[0], read.Options{})
	if err != nil || len(failures) > 0 {
		t.Fatal(err, failures)
	}
	return traces
}

func (m *fakeModel) analyze(t *testing.T, n int) ([]*trace.Trace, *result.Report) {
	t.Helper()
	traces := readTraces(t, m.capture(t, n))
	if len(traces) != n {
		t.Fatalf("%d traces of %d", len(traces), n)
	}
	for _, tr := range traces {
		for _, note := range tr.Notes {
			t.Errorf("%s: %s (%d)", note.Source, note.Text(), note.Count)
		}
	}
	r, err := explain.Analyze(traces, explain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return traces, r
}

var everything = device.RecordOptions{CPU: true, GPU: true, Memory: true, Stack: true, Shapes: true}

// TestTotals checks that the files record the work that ran.
func TestTotals(t *testing.T) {
	for _, graphs := range []bool{false, true} {
		t.Run(fmt.Sprintf("graphs=%v", graphs), func(t *testing.T) {
			noLeaks(t)
			m := &fakeModel{layers: 3, steps: 6, graphs: graphs, gemm: 200 * time.Microsecond, record: everything}
			traces, r := m.analyze(t, 4)
			for _, tr := range traces {
				m.checkTrace(t, tr)
			}
			if len(r.Steps) != m.steps || r.Source.StepRule != "forward annotations" {
				t.Errorf("%d steps of %d by %s", len(r.Steps), m.steps, r.Source.StepRule)
			}
			for _, s := range r.Steps {
				if len(s.Ranks) != 4 || s.Kind != "decode" || s.Batch != 4 {
					t.Errorf("step %+v", s)
				}
				for _, p := range s.Ranks {
					if p.Kernels != 2*m.layers+1 {
						t.Errorf("step %d, rank %d: %d kernels", s.Step, p.Rank, p.Kernels)
					}
				}
			}
			if len(r.Collectives) != 1 {
				t.Fatalf("collectives %+v", r.Collectives)
			}
			c := r.Collectives[0]
			calls := m.steps * m.layers
			got := [...]any{c.Op, c.Size, c.Kind, c.Count, c.Matched, c.InGraphs, c.Bytes}
			want := [...]any{kernel.AllReduce, 4, "decode", calls, calls, 0, int64(4 * 4096)}
			if graphs {
				want[5], want[6] = calls, int64(0)
			}
			if got != want {
				t.Errorf("collectives %v; want %v", got, want)
			}
			if r.CPU.Launch.Unlaunched+r.CPU.Launch.EmptyGraphs > 0 {
				t.Errorf("launches %+v", r.CPU.Launch)
			}
		})
	}
}

// checkTrace compares one rank's file with the model, and its times with the physically possible.
func (m *fakeModel) checkTrace(t *testing.T, tr *trace.Trace) {
	t.Helper()
	count := map[string]int{}
	launch := map[int64]*trace.Span{}
	host := map[int64]*trace.Span{}
	var window *trace.Span
	for i := range tr.Spans {
		s := &tr.Spans[i]
		count[s.Cat.String()+" "+tr.Strings.Get(s.Name)]++
		switch s.Cat {
		case trace.Runtime:
			launch[s.Corr] = s
		case trace.CPUOp, trace.UserAnnotation:
			host[s.Ext] = s
		case trace.Window:
			window = s
		}
	}
	const nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
	n := m.steps
	want := map[string]int{
		"user_annotation step[DECODE bs=4]": n, "gpu_user_annotation step[DECODE bs=4]": n,
		"kernel " + gemmName: n * m.layers, "kernel " + nccl: n * m.layers, "kernel " + argmaxName: n,
		"gpu_memcpy Memcpy HtoD (Pinned -> Device)": n, "cuda_runtime cudaMemcpyAsync": n, "cuda_runtime cudaStreamSynchronize": n, "cpu_op aten::argmax": n,
		"cuda_runtime cudaLaunchKernel": n, "cuda_runtime cudaGraphLaunch": n,
		"Trace PyTorch Profiler (0)": 1,
	}
	if !m.graphs {
		delete(want, "cuda_runtime cudaGraphLaunch")
		want["cuda_runtime cudaLaunchKernel"] += 2 * n * m.layers
		want["cpu_op aten::linear"], want["cpu_op record_param_comms"] = n*m.layers, n*m.layers
		for _, cat := range []string{"user_annotation ", "gpu_user_annotation "} {
			want[cat+"nccl:all_reduce"] = n * m.layers
			for l := range m.layers {
				want[fmt.Sprintf("%smodel.layers.%d.mlp", cat, l)] = n
			}
		}
	}
	for key, c := range count {
		if want[key] != c && key[:4] != "pyth" && !strings.HasPrefix(key, "no_core") { // depends on the machine
			t.Errorf("%s: %d of %q; want %d", tr.Source.Rank, c, key, want[key])
		}
	}
	if len(tr.Memory) != 2 || tr.Memory[0].Allocated != 1<<20 || tr.Memory[1].Allocated != 0 || !tr.Memory[0].GPU {
		t.Errorf("memory %+v", tr.Memory)
	}
	// Work follows its launch and is inside the window, and a stream does one thing at a time.
	var last int64
	for i := range tr.Spans {
		s := &tr.Spans[i]
		if !s.Cat.OnGPU() {
			continue
		}
		name := tr.Strings.Get(s.Name)
		l := launch[s.Corr]
		if l == nil || s.Start < l.Start || s.Start < last || s.Start < window.Start {
			t.Errorf("%s at %d after %d, launch %+v", name, s.Start, last, l)
		}
		if tr.Tracks[s.Track].Stream != 7 {
			t.Errorf("%s on stream %d", name, tr.Tracks[s.Track].Stream)
		}
		last = s.End()
		if o := host[s.Ext]; s.Ext != 0 && (o == nil || l.Ext != s.Ext || l.Start < o.Start || l.End() > o.End()) {
			t.Errorf("%s belongs to %+v, its launch is %+v", name, o, l)
		}
		if (s.Ext == 0) != (m.graphs && name != argmaxName && s.Cat == trace.Kernel) {
			t.Errorf("%s has External id %d", name, s.Ext)
		}
		if op := tr.Ops[s.Detail]; name == nccl && (op.Comm >= 0) == m.graphs {
			t.Errorf("collective %+v, graphs %v", op, m.graphs)
		}
	}
}

// TestFaults checks that the analysis names the misbehaving rank, the first step and the cause.
func TestFaults(t *testing.T) {
	const rank, from = 2, 6
	for _, c := range []struct {
		name, cause string
		fault       device.Faults
	}{
		{"slow device", result.CauseDevice, device.Faults{KernelSleep: 1500 * time.Microsecond}},
		{"more work", result.CauseWork, device.Faults{ExtraKernels: 2, ExtraTime: time.Millisecond}},
		{"stalled host", result.CauseHost, device.Faults{HostStall: 6 * time.Millisecond}},
	} {
		for _, graphs := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, graphs=%v", c.name, graphs), func(t *testing.T) {
				noLeaks(t)
				c.fault.From = from
				m := &fakeModel{
					layers: 3, steps: 16, graphs: graphs, gemm: 300 * time.Microsecond,
					record: device.RecordOptions{CPU: true, GPU: true},
					fault: func(r int) *device.Faults {
						if r == rank {
							return &c.fault
						}
						return nil
					},
				}
				// If a busy machine delays the rank just before the fault begins, that step counts as part of the
				// lateness found: retry.
				var r *result.Report
				at := -1
				for tries := 0; tries < 3 && at < 0; tries++ {
					_, r = m.analyze(t, 4)
					at = slices.IndexFunc(r.Findings, func(f result.Finding) bool {
						return f.Kind == result.Straggler && f.Cause == c.cause && f.FirstStep == from && !f.Passing && slices.Equal(f.Ranks, []int{rank})
					})
				}
				for i, f := range r.Findings {
					if i == at {
						continue
					}
					// Others may be late for a while on a busy machine, but not because of their device or their own
					// work.
					if f.Kind == result.Straggler && (f.Cause == result.CauseWork || f.Cause == result.CauseDevice) && !f.Passing {
						t.Errorf("also %s", report.Words(f.Title))
					}
				}
				if at < 0 {
					for _, f := range r.Findings {
						t.Log(f.Severity, report.Words(f.Title))
					}
					t.Errorf("rank %d is not found late since step %d by %s", rank, from, c.cause)
				}
			})
		}
	}
}
