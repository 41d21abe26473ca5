package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// clock sets the wall clock of one process. libfaketime cannot do this: a Go program reads the clock from the page that
// the kernel maps into each process (vDSO), not from libc. So the function in this page is replaced.
type clock struct {
	mem *os.File
	at  int64 // address of the offset in seconds
}

// stub is clock_gettime(id, ts): it calls the kernel, and adds the offset behind it if the id is CLOCK_REALTIME.
var stub = []byte{
	0xb8, 0xe4, 0, 0, 0, // mov eax, 228
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi
	0x75, 0x0a, // jne ret
	0x48, 0x8b, 0x15, 6, 0, 0, 0, // mov rdx, [offset]
	0x48, 0x01, 0x16, // add [rsi], rdx
	0xc3,                         // ret
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // offset, aligned to 8 bytes
}

// newClock replaces the function in a process that is stopped before its first instruction.
func newClock(pid int) (*clock, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	var from, to int64
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			fmt.Sscanf(line, "%x-%x", &from, &to)
		}
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	image := make([]byte, to-from)
	if _, err := mem.ReadAt(image, from); err != nil {
		return nil, err
	}
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			at := from + int64(s.Value)
			_, err := mem.WriteAt(stub, at)
			return &clock{mem, at + 24}, err
		}
	}
	return nil, fmt.Errorf("the vDSO has no clock_gettime")
}

// set sets the offset of the clock.
func (c *clock) set(by time.Duration) error {
	_, err := c.mem.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(int64(by/time.Second))), c.at)
	return err
}

// jumping runs a command whose clock jumps each 700 ms. It returns the output.
func jumping(dir string, jumps []time.Duration, args ...string) (r result, err error) {
	runtime.LockOSThread() // only the thread that started a traced process can release it
	defer runtime.UnlockOSThread()
	cmd := command(dir, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &limited{b: &out}, &limited{b: &errs}
	if err := cmd.Start(); err != nil {
		return r, err
	}
	var ws syscall.WaitStatus
	if _, err = syscall.Wait4(cmd.Process.Pid, &ws, 0, nil); err != nil {
		return r, err
	}
	c, err := newClock(cmd.Process.Pid)
	if detached := syscall.PtraceDetach(cmd.Process.Pid); err == nil {
		err = detached
	}
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return r, err
	}
	defer c.mem.Close()
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	late := time.After(wide(60 * time.Second))
	for i := 0; ; i++ {
		select {
		case <-ended:
			r.out, r.errs, r.status = out.Bytes(), errs.Bytes(), cmd.ProcessState.ExitCode()
			return r, r.sane()
		case <-late:
			cmd.Process.Kill()
			<-ended
			return r, fmt.Errorf("still runs after a minute")
		case <-time.After(700 * time.Millisecond):
			_ = c.set(jumps[i%len(jumps)]) // fails if the process has just ended
		}
	}
}

// clocks runs bench, watch and profile while their wall clock jumps, forward and back.
func clocks(a *attack) error {
	if runtime.GOARCH != "amd64" {
		return nil // stub is machine code for amd64
	}
	dir, done, err := a.temp()
	if err != nil {
		return err
	}
	defer done()
	s, err := serving(dir, "serve", "--model-path", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "4096", "--enable-metrics")
	if err != nil {
		return err
	}
	defer s.stop(a)
	defer load(s.url, 2, 20*time.Millisecond)()
	verbs := [][]string{
		{"bench", "serving", "--base-url", s.url, "--backend", "sglang", "--dataset-name", "random-ids", "--num-prompts", "40", "--request-rate", "10", "--random-input", "8",
			"--random-output", "8", "--model", "m", "--output-file", "out.jsonl", "--no-store"},
		{"watch", "--url", s.url, "--for", "6s", "--max-captures", "1", "--itl", "1us", "--hold", "1s", "--num-steps", "3", "--no-store"},
		{"profile", "--url", s.url, "--num-steps", "3", "-o", "traces"},
	}
	var all sync.WaitGroup
	for _, jumps := range [][]time.Duration{
		{time.Hour, 0}, {-time.Hour, 0}, {10 * 365 * 24 * time.Hour, -40 * 365 * 24 * time.Hour}, {time.Second, 2 * time.Second, -time.Second, 0},
	} {
		for i, args := range verbs {
			if !*short || i == len(jumps)%3 {
				all.Go(func() { a.jump(dir, jumps, args) })
			}
		}
		all.Wait()
	}
	return nil
}

// jump runs a command while its clock jumps, and checks the figures of a benchmark.
func (a *attack) jump(dir string, jumps []time.Duration, args []string) {
	a.try()
	what := fmt.Sprintf("%s, clock jumps by %v", args[0], jumps)
	r, err := jumping(dir, jumps, args...)
	if err == nil && r.status != 0 && r.status != 3 {
		err = fmt.Errorf("status %d: %s", r.status, tail(r.errs))
	}
	if err != nil {
		a.fail("%s: %v", what, err)
		return
	}
	if args[0] != "bench" {
		return
	}
	out := filepath.Join(dir, "out.jsonl")
	defer os.Remove(out)
	var figures struct {
		Duration  float64 `json:"duration"`
		Completed int     `json:"completed"`
		TTFT      float64 `json:"mean_ttft_ms"`
	}
	text, err := os.ReadFile(out)
	if err == nil {
		err = json.Unmarshal(text, &figures)
	}
	if err != nil || figures.Completed != 40 || figures.Duration <= 1 || figures.Duration > 60 || figures.TTFT <= 0 || figures.TTFT > 30e3 {
		a.fail("%s: %v: %+v", what, err, figures)
	}
}
