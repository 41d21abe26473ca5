package main

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// soak runs a server, a watch and the page of the watch for five minutes (with -short 15 seconds), while the other
// attacks run. Their memory must not grow.
func soak(a *attack) error {
	length := 5 * time.Minute
	if *short {
		length = 15 * time.Second
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
	defer load(s.url, 2, 100*time.Millisecond)()
	w := command(dir, "watch", "--url", s.url, "--for", fmt.Sprint(length+time.Minute), "--every", "100ms", "--max-captures", "0", "--no-store", "--series", "series.jsonl")
	if err := w.Start(); err != nil {
		return err
	}
	defer func() { w.Process.Signal(os.Interrupt); w.Wait() }()
	pids := map[string]int{"the server": s.cmd.Process.Pid, "watch": w.Process.Pid}
	sizes := map[string][]int64{}
	for until := time.Now().Add(length); time.Now().Before(until); time.Sleep(length / 100) {
		for what, pid := range pids {
			sizes[what] = append(sizes[what], rssOf(pid))
		}
	}
	for what, of := range sizes {
		a.try()
		early, late := median(of[len(of)/4:len(of)/2]), median(of[3*len(of)/4:])
		if late == 0 || late > early+early/5+16<<20 && !*race {
			a.fail("%s: %d MB in the second quarter of the time, %d MB in the last", what, early>>20, late>>20)
		}
	}
	return nil
}

func median(of []int64) int64 {
	if len(of) == 0 {
		return 0
	}
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}
