package device_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/device/comm"
)

// noLeaks fails the test if goroutines outlive it.
func noLeaks(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for range 200 {
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		buf := make([]byte, 1<<16)
		t.Errorf("%d goroutines more than before:\n%s", runtime.NumGoroutine()-before, buf[:runtime.Stack(buf, true)])
	})
}

func open(t *testing.T, opt device.Options) *device.Device {
	t.Helper()
	d := device.New(opt)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func mustSync(t *testing.T, d *device.Device) {
	t.Helper()
	if err := d.Stream().Synchronize(); err != nil {
		t.Fatal(err)
	}
}

// push queues a kernel that appends x to list, which one stream owns.
func push(s *device.Stream, list *[]int, x int) {
	s.Launch(device.Kernel{Name: "push", Run: func(int) { *list = append(*list, x) }})
}

func TestOrder(t *testing.T) {
	noLeaks(t)
	for name, opt := range map[string]device.Options{
		"plain": {}, "no spinning": {Spin: -1}, "short queue": {Queue: 2},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, opt)
			var got, want []int
			for i := range 5000 {
				push(d.Stream(), &got, i)
				want = append(want, i)
			}
			mustSync(t, d)
			if !slices.Equal(got, want) {
				t.Errorf("%d kernels ran, or out of order", len(got))
			}
		})
	}
}

// TestAsynchronous checks that launching does not wait until the queue is full.
func TestAsynchronous(t *testing.T) {
	noLeaks(t)
	d := open(t, device.Options{Queue: 8})
	gate := make(chan struct{})
	s := d.Stream()
	s.Launch(device.Kernel{Name: "block", Run: func(int) { <-gate }})
	var ran []int
	for i := range 7 {
		push(s, &ran, i)
	}
	if len(ran) > 0 {
		t.Error("kernels ran before the one ahead of them was done")
	}
	full := make(chan struct{})
	go func() {
		push(s, &ran, 7) // the ninth
		close(full)
	}()
	select {
	case <-full:
		t.Error("a launch into a full queue returned")
	case <-time.After(20 * time.Millisecond):
	}
	close(gate)
	<-full
	mustSync(t, d)
	if len(ran) != 8 {
		t.Errorf("%d kernels ran", len(ran))
	}
}

// TestNotify checks that the host is called when all earlier launches are done.
func TestNotify(t *testing.T) {
	noLeaks(t)
	d := open(t, device.Options{})
	s := d.Stream()
	gate := make(chan struct{})
	var order []string
	for range 3 {
		s.Launch(device.Kernel{Name: "a", Run: func(int) { <-gate; order = append(order, "a") }})
		s.Notify(func() { order = append(order, "b") })
	}
	close(gate)
	mustSync(t, d)
	if got := strings.Join(order, ""); got != "ababab" {
		t.Errorf("order %s", got)
	}
}

func TestChunks(t *testing.T) {
	noLeaks(t)
	for _, workers := range []int{1, 2, 5} {
		d := open(t, device.Options{Workers: workers})
		s := d.Stream()
		for round := range 300 {
			n := 1 + round%40
			count := make([]atomic.Int32, n)
			s.Launch(device.Kernel{Name: "chunks", Chunks: n, Run: func(c int) { count[c].Add(1) }})
			s.Launch(device.Kernel{Name: "check", Run: func(int) {
				for c := range count {
					if got := count[c].Load(); got != 1 {
						t.Errorf("workers %d, round %d: chunk %d ran %d times", workers, round, c, got)
					}
				}
			}})
		}
		mustSync(t, d)
	}
}

// TestChunksSideBySide checks that helpers take part, and that two streams do not wait for each other's helpers.
func TestChunksSideBySide(t *testing.T) {
	noLeaks(t)
	d := open(t, device.Options{Workers: 3})
	var wg sync.WaitGroup
	wg.Add(3)
	d.Stream().Launch(device.Kernel{Name: "meet", Chunks: 3, Run: func(int) { wg.Done(); wg.Wait() }})
	mustSync(t, d)
	other := d.NewStream()
	for range 200 {
		d.Stream().Launch(device.Kernel{Name: "a", Chunks: 4, Run: func(int) {}})
		other.Launch(device.Kernel{Name: "b", Chunks: 4, Run: func(int) {}})
	}
	mustSync(t, d)
	if err := other.Synchronize(); err != nil {
		t.Fatal(err)
	}
}

func TestCopies(t *testing.T) {
	noLeaks(t)
	d := open(t, device.Options{})
	s := d.Stream()
	src, dev, out := []float32{1, 2, 3}, make([]float32, 3), make([]float32, 3)
	if err := s.Copy(comm.Bytes(dev), comm.Bytes(src)); err != nil {
		t.Fatal(err)
	}
	s.Launch(device.Kernel{Name: "double", Run: func(int) {
		for i := range dev {
			dev[i] *= 2
		}
	}})
	if err := s.Copy(comm.Bytes(out), comm.Bytes(dev)); err != nil {
		t.Fatal(err)
	}
	mustSync(t, d)
	if !slices.Equal(out, []float32{2, 4, 6}) {
		t.Errorf("got %v", out)
	}
}

func TestGraph(t *testing.T) {
	noLeaks(t)
	d := open(t, device.Options{Workers: 2})
	s := d.Stream()
	x, y := make([]float32, 4), make([]float32, 4)
	step := float32(1)
	s.BeginCapture()
	s.Launch(device.Kernel{Name: "add", Chunks: 4, Run: func(c int) { x[c] += step }})
	_ = s.Copy(comm.Bytes(y), comm.Bytes(x))
	s.Launch(device.Kernel{Name: "clear", Run: func(int) { x[0] = 0 }})
	g, err := s.EndCapture()
	if err != nil {
		t.Fatal(err)
	}
	if x[1] != 0 {
		t.Error("captured work ran")
	}
	g.Launch(s)
	mustSync(t, d)
	step = 10 // replays see the current values of captured memory
	g.Launch(s)
	mustSync(t, d)
	if !slices.Equal(x, []float32{0, 11, 11, 11}) || !slices.Equal(y, []float32{10, 11, 11, 11}) {
		t.Errorf("x %v, y %v", x, y)
	}
}

func TestCaptureRefuses(t *testing.T) {
	noLeaks(t)
	d := open(t, device.Options{})
	s := d.Stream()
	if _, err := s.EndCapture(); err == nil {
		t.Error("ended a capture that had not begun")
	}
	s.BeginCapture()
	g, _ := s.EndCapture()
	for name, f := range map[string]func(){
		"call of the host": func() { s.Notify(func() {}) },
		"graph":            func() { g.Launch(s) },
	} {
		s.BeginCapture()
		f()
		if _, err := s.EndCapture(); err == nil {
			t.Errorf("%s was captured", name)
		}
	}
}

// TestPanic checks that a kernel that panics stops its device, with the kernel's name in the error.
func TestPanic(t *testing.T) {
	for name, k := range map[string]device.Kernel{
		"alone":  {Name: "bad_kernel", Run: func(int) { panic("index 7") }},
		"chunks": {Name: "bad_kernel", Chunks: 8, Run: func(c int) { panic("index 7") }},
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			d := open(t, device.Options{Workers: 2})
			ran := false
			d.Stream().Launch(k)
			d.Stream().Launch(device.Kernel{Name: "next", Run: func(int) { ran = true }})
			err := d.Stream().Synchronize()
			if err == nil || !strings.Contains(err.Error(), "bad_kernel") || !strings.Contains(err.Error(), "index 7") {
				t.Errorf("error %v", err)
			}
			if ran || d.Err() == nil {
				t.Error("work continued after the failure")
			}
		})
	}
}

// ranks runs f for each rank of a group, with one device and one goroutine each.
func ranks(t *testing.T, n int, opt device.Options, f func(rank int, d *device.Device, c device.Comm)) {
	t.Helper()
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	group := device.NewGroup("0", "tp", ids, device.GroupOptions{})
	var wg sync.WaitGroup
	for i, c := range group {
		wg.Go(func() {
			opt := opt
			opt.Index = i
			d := device.New(opt)
			defer d.Close()
			f(i, d, c)
		})
	}
	wg.Wait()
}

func TestCollectives(t *testing.T) {
	noLeaks(t)
	ranks(t, 3, device.Options{}, func(rank int, d *device.Device, c device.Comm) {
		s := d.Stream()
		me := float32(rank)
		sum := []float32{me, 1}
		all, part := make([]float32, 3), []float32{me}
		msg := []float32{me + 10}
		s.AllReduce(c, sum)
		s.AllGather(c, all, part)
		if rank > 0 {
			s.Recv(c, rank-1, msg)
		}
		if rank < 2 {
			s.Send(c, rank+1, msg)
		}
		s.AllReduce(c, nil) // none leaves before all have arrived
		if err := s.Synchronize(); err != nil {
			t.Error(err)
			return
		}
		for _, x := range []struct{ got, want []float32 }{{sum, []float32{3, 3}}, {all, []float32{0, 1, 2}}, {msg, []float32{10}}} {
			if !slices.Equal(x.got, x.want) {
				t.Errorf("rank %d: %v; want %v", rank, x.got, x.want)
			}
		}
	})
}

// TestCollectiveInGraph checks that all ranks can replay, each with its own graph.
func TestCollectiveInGraph(t *testing.T) {
	noLeaks(t)
	ranks(t, 4, device.Options{}, func(rank int, d *device.Device, c device.Comm) {
		s := d.Stream()
		buf := make([]float32, 1000)
		s.BeginCapture()
		s.Launch(device.Kernel{Name: "fill", Run: func(int) {
			for i := range buf {
				buf[i] = 1
			}
		}})
		s.AllReduce(c, buf)
		s.AllReduce(c, buf)
		g, err := s.EndCapture()
		if err != nil {
			t.Error(err)
			return
		}
		for range 20 {
			g.Launch(s)
		}
		if err := d.Stream().Synchronize(); err != nil || buf[999] != 16 {
			t.Errorf("rank %d: %v, %v", rank, buf[999], err)
		}
	})
}

// TestLostPeer checks that a rank that fails or leaves ends the waits of the others.
func TestLostPeer(t *testing.T) {
	noLeaks(t)
	ranks(t, 3, device.Options{}, func(rank int, d *device.Device, c device.Comm) {
		s := d.Stream()
		s.AllReduce(c, make([]float32, 8))
		if rank == 1 {
			s.Launch(device.Kernel{Name: "bad", Run: func(int) { panic("broken") }})
		}
		s.AllReduce(c, make([]float32, 8))
		err := d.Stream().Synchronize()
		if rank == 1 && (err == nil || !strings.Contains(err.Error(), "broken")) ||
			rank != 1 && (!errors.Is(err, comm.ErrAborted) || !strings.Contains(err.Error(), "broken")) {
			t.Errorf("rank %d: %v", rank, err)
		}
	})
	ranks(t, 3, device.Options{}, func(rank int, d *device.Device, c device.Comm) {
		d.Stream().AllReduce(c, make([]float32, 8))
		if rank == 1 {
			_ = d.Stream().Synchronize()
			return // closes the device
		}
		d.Stream().AllReduce(c, make([]float32, 8))
		if err := d.Stream().Synchronize(); !errors.Is(err, comm.ErrAborted) {
			t.Errorf("rank %d: %v", rank, err)
		}
	})
}

// TestClose ends a device whose work would wait for ever, and its host.
func TestClose(t *testing.T) {
	noLeaks(t)
	group := device.NewGroup("0", "tp", []int{0, 1}, comm.Options{})
	d := device.New(device.Options{Queue: 4})
	host := make(chan error)
	go func() {
		for range 10 {
			d.Stream().AllReduce(group[0], make([]float32, 1)) // rank 1 never arrives
		}
		host <- d.Stream().Synchronize()
	}()
	time.Sleep(10 * time.Millisecond)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if err := <-host; !errors.Is(err, device.ErrClosed) {
		t.Errorf("host: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error("second close:", err)
	}
	if err := d.StartRecording(device.RecordOptions{}); !errors.Is(err, device.ErrClosed) {
		t.Error(err)
	}
}
