package device_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
)

// seen is one event of an exported window.
type seen struct {
	ph        byte
	cat, name string
	ts, dur   int64
	raw       string
}

func exported(t *testing.T, rec *device.Recording) []seen {
	t.Helper()
	var b bytes.Buffer
	if err := rec.WriteKineto(&b, device.Meta{}); err != nil {
		t.Fatal(err)
	}
	s := chromejson.NewScanner(&b)
	defer s.Close()
	var out []seen
	for {
		kind, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if kind != chromejson.EventToken {
			continue
		}
		e := &s.Event
		x := seen{ph: e.Ph, cat: string(e.Text(e.Cat)), name: string(e.Text(e.Name)), raw: string(e.Raw)}
		x.ts, _ = chromejson.ParseMicros(e.Text(e.TS))
		x.dur, _ = chromejson.ParseMicros(e.Text(e.Dur))
		out = append(out, x)
	}
	if st := s.Stats; !st.End.Complete || st.Skipped+st.Repaired+st.Cleaned > 0 {
		t.Errorf("the file is not clean: %+v", st)
	}
	return out
}

func count(events []seen, ph byte, cat, name string) (n int) {
	for _, e := range events {
		if e.ph == ph && (cat == "" || e.cat == cat) && (name == "" || e.name == name) {
			n++
		}
	}
	return n
}

func launch(s *device.Stream, name string) {
	s.Launch(device.Kernel{Name: name, Op: "aten::" + name, Run: func(int) {}})
}

// TestWindow checks that the window holds the work launched in it, whatever runs or is open at its edges, and that the
// next window holds none of it.
func TestWindow(t *testing.T) {
	noLeaks(t)
	d := open(t, device.Options{})
	h, s := d.Host(), d.Stream()
	if d.StopRecording() != nil {
		t.Error("a window is open although nobody opened one")
	}
	gate := make(chan struct{})
	s.Launch(device.Kernel{Name: "before", Run: func(int) { <-gate }})
	h.Annotate("around the start")
	if err := d.StartRecording(device.RecordOptions{CPU: true, GPU: true}); err != nil {
		t.Fatal(err)
	}
	if err := d.StartRecording(device.RecordOptions{}); err == nil {
		t.Error("two windows at once")
	}
	h.Annotate("inside")
	launch(s, "inside")
	h.End()
	h.End()
	h.Annotate("around the end")
	launch(s, "late") // runs after the window has closed
	first := d.StopRecording()
	h.End()
	launch(s, "after")
	written := make(chan []seen)
	go func() { written <- exported(t, first) }()
	select {
	case <-written:
		t.Error("written before the device had done the window's work")
	case <-time.After(20 * time.Millisecond):
	}
	close(gate)
	events := <-written
	for name, want := range map[string]int{"before": 0, "inside": 1, "late": 1, "after": 0} {
		if n := count(events, 'X', "kernel", name); n != want {
			t.Errorf("%d kernels %q; want %d", n, name, want)
		}
		if n := count(events, 'X', "cpu_op", "aten::"+name); n != want {
			t.Errorf("%d operations %q; want %d", n, name, want)
		}
	}
	for name, want := range map[string]int{"around the start": 0, "inside": 1, "around the end": 0} {
		if n := count(events, 'X', "user_annotation", name); n != want {
			t.Errorf("%d annotations %q; want %d", n, name, want)
		}
	}
	if err := d.StartRecording(device.RecordOptions{GPU: true}); err != nil {
		t.Fatal(err)
	}
	h.Op("not asked for")
	launch(s, "second")
	h.End()
	mustSync(t, d)
	events = exported(t, d.StopRecording())
	if count(events, 'X', "kernel", "") != 1 || count(events, 'X', "kernel", "second") != 1 || count(events, 'X', "cpu_op", "") != 0 ||
		count(events, 'X', "cuda_runtime", "cudaStreamSynchronize") != 1 {
		t.Errorf("second window: %+v", events)
	}
}

// TestCPUOnly checks that without GPU activities there is no device work and no runtime call.
func TestCPUOnly(t *testing.T) {
	noLeaks(t)
	d := open(t, device.Options{})
	if err := d.StartRecording(device.RecordOptions{CPU: true}); err != nil {
		t.Fatal(err)
	}
	launch(d.Stream(), "kernel")
	_ = d.Stream().Synchronize()
	mustSync(t, d)
	events := exported(t, d.StopRecording())
	if count(events, 'X', "cpu_op", "aten::kernel") != 1 || count(events, 'X', "kernel", "")+count(events, 'X', "cuda_runtime", "") != 0 {
		t.Errorf("%+v", events)
	}
}

// TestCalls checks that every runtime call of the window appears exactly once.
func TestCalls(t *testing.T) {
	noLeaks(t)
	d := open(t, device.Options{})
	s, other := d.Stream(), d.NewStream()
	buf := make([]byte, 64)
	if err := d.StartRecording(device.RecordOptions{CPU: true, GPU: true}); err != nil {
		t.Fatal(err)
	}
	launch(s, "a")
	s.Notify(func() {})
	launch(other, "b")
	_ = other.Copy(buf, buf)
	_ = other.Synchronize()
	mustSync(t, d)
	events := exported(t, d.StopRecording())
	for name, want := range map[string]int{
		"cudaLaunchKernel": 2, "cudaEventRecord": 1, "cudaMemcpyAsync": 1, "cudaStreamSynchronize": 2,
	} {
		if n := count(events, 'X', "cuda_runtime", name); n != want {
			t.Errorf("%d %s; want %d", n, name, want)
		}
	}
	if s, f := count(events, 's', "ac2g", ""), count(events, 'f', "ac2g", ""); s != 3 || f != 3 {
		t.Errorf("%d flows begin, %d end", s, f)
	}
	corr := map[string]bool{}
	for _, e := range events {
		if e.cat == "cuda_runtime" {
			_, c, _ := strings.Cut(e.raw, `"correlation": `)
			if c, _, _ = strings.Cut(c, "\n"); corr[c] {
				t.Errorf("correlation %s twice", c)
			}
			corr[c] = true
		}
	}
}

func outer(d *device.Device) { inner(d); launch(d.Stream(), "in_outer") }

//go:noinline
func inner(d *device.Device) { launch(d.Stream(), "in_inner") }

// TestStack checks that operations lie in the frames of the functions that launched them.
func TestStack(t *testing.T) {
	noLeaks(t)
	d := open(t, device.Options{})
	if err := d.StartRecording(device.RecordOptions{CPU: true, GPU: true, Stack: true}); err != nil {
		t.Fatal(err)
	}
	outer(d)
	mustSync(t, d)
	events := exported(t, d.StopRecording())
	frame := func(function string) seen {
		for _, e := range events {
			if e.cat == "python_function" && strings.HasSuffix(e.name, "): "+function) {
				return e
			}
		}
		t.Fatalf("no frame %s", function)
		return seen{}
	}
	o, i := frame("outer"), frame("inner")
	if !strings.HasPrefix(i.name, "internal/reference/engine/device_test/record_test.go(") {
		t.Errorf("frame %s", i.name)
	}
	for _, e := range events {
		in := func(f seen) bool { return f.ts <= e.ts && e.ts+e.dur <= f.ts+f.dur }
		if e.cat == "cpu_op" && (!in(o) || in(i) != (e.name == "aten::in_inner")) {
			t.Errorf("%s at %d+%d, outer %d+%d, inner %d+%d", e.name, e.ts, e.dur, o.ts, o.dur, i.ts, i.dur)
		}
		if e.cat == "python_function" && strings.Contains(e.name, "device.(*") {
			t.Errorf("a frame of the device itself: %s", e.name)
		}
	}
}

// TestBeside opens, closes and writes windows from other goroutines while two ranks run: for the race detector. Every
// window must be readable.
func TestBeside(t *testing.T) {
	noLeaks(t)
	ranks(t, 2, device.Options{Workers: 2}, func(rank int, d *device.Device, c device.Comm) {
		h, s := d.Host(), d.Stream()
		buf := make([]float32, 64)
		s.BeginCapture()
		s.Launch(device.Kernel{Name: "chunks", Chunks: 3, Run: func(int) {}})
		s.AllReduce(c, buf)
		g, err := s.EndCapture()
		if err != nil {
			t.Error(err)
			return
		}
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(stop)
			for i := range 15 {
				opt := device.RecordOptions{CPU: true, GPU: true, Memory: true, Shapes: true, Stack: i%2 == 0}
				if err := d.StartRecording(opt); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * time.Millisecond)
				exported(t, d.StopRecording())
			}
		})
		// Both ranks must make the same number of calls.
		more := []float32{1}
		for i := 0; more[0] > 0; i++ {
			h.Annotate(fmt.Sprint("step[DECODE bs=", i%7, "]"))
			h.Memory(true, 1, 16)
			s.Launch(device.Kernel{Name: "k", Op: "aten::k", Args: []device.Arg{device.Tensor(device.Float32, i)}, Run: func(int) {}})
			s.AllReduce(c, buf)
			g.Launch(s)
			more[0] = 1
			select {
			case <-stop:
				more[0] = 0
			default:
			}
			dev := []float32{more[0]}
			s.AllReduce(c, dev)
			_ = s.Copy(device.Bytes(more), device.Bytes(dev))
			if err := s.Synchronize(); err != nil {
				t.Error(err)
				break
			}
			h.End()
		}
		wg.Wait()
	})
}

// TestSendArgs checks that kernels of messages carry their sizes.
func TestSendArgs(t *testing.T) {
	noLeaks(t)
	ranks(t, 2, device.Options{}, func(rank int, d *device.Device, c device.Comm) {
		if err := d.StartRecording(device.RecordOptions{CPU: true, GPU: true}); err != nil {
			t.Error(err)
		}
		if rank == 0 {
			d.Stream().Send(c, 1, make([]float32, 5))
		} else {
			d.Stream().Recv(c, 0, make([]float32, 5))
		}
		_ = d.Stream().Synchronize()
		peer := []string{`"Collective name": "send", "In msg nelems": 5, "Out msg nelems": 0`, `"Collective name": "recv", "In msg nelems": 0, "Out msg nelems": 5`}[rank]
		found := 0
		for _, e := range exported(t, d.StopRecording()) {
			if e.cat == "kernel" && strings.Contains(e.raw, peer) {
				found++
			}
		}
		if found != 1 {
			t.Errorf("rank %d: %d kernels with the size of the message", rank, found)
		}
	})
}

// TestAnnotateStep checks that a step names its requests, and that they are queried only while a window is open.
func TestAnnotateStep(t *testing.T) {
	noLeaks(t)
	d := open(t, device.Options{})
	h := d.Host()
	asked := 0
	step := func() {
		h.AnnotateStep("step[DECODE bs=2]", func() string { asked++; return `a,"b"` })
		h.End()
	}
	if n := testing.AllocsPerRun(100, step); n != 0 || asked != 0 {
		t.Errorf("%v allocations and %d queries per step without a window", n, asked)
	}
	for _, opt := range []device.RecordOptions{{GPU: true}, {CPU: true}} {
		if err := d.StartRecording(opt); err != nil {
			t.Fatal(err)
		}
		step()
		var out bytes.Buffer
		if err := d.StopRecording().WriteKineto(&out, device.Meta{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), `"rids": "a,\"b\"", "Ev Idx"`); got != asked || opt.CPU != (asked == 1) {
			t.Errorf("%+v: asked %d times, written %d times:\n%s", opt, asked, got, &out)
		}
	}
}
