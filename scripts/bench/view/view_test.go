// Package view measures the viewer as its users have it: a built binary, a browser, a large capture. It is a test since
// that is what drives browsers here; scripts/bench/view.sh runs it.
package view

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/view/timeline"
	"github.com/stepscope/stepscope/scripts/bench/goal"
)

var binary = flag.String("stepscope", "", "the binary to measure")

const (
	clients = 8
	frame   = 16 * time.Millisecond
	asking  = 10 * time.Second
	moves   = 1000
	// perMillion is the goal for reading a million events on two cores, in s.
	perMillion = 0.6
	// mostRows is the number of rows in a view: of more, each has one lane.
	mostRows = 48
)

func TestView(t *testing.T) {
	if *binary == "" || flag.NArg() == 0 {
		t.Skip("scripts/bench/view.sh runs this, with a binary and captures")
	}
	for _, dir := range flag.Args() {
		t.Run(filepath.Base(dir), func(t *testing.T) { measure(t, dir) })
	}
}

// judge says whether a figure is below its goal.
func judge(t *testing.T, what string, got, most float64, unit string) {
	t.Helper()
	if got > most {
		t.Fail()
	}
	goal.Say(got <= most, "view, %s: %.1f %s, goal %.0f", what, got, unit, most)
}

func say(what string, got float64, unit string) { fmt.Printf("        %s: %.1f %s\n", what, got, unit) }

// measure serves a capture, looks at it, and asks for tiles.
func measure(t *testing.T, dir string) {
	fmt.Printf("\n%s\n", dir)
	reading(t, dir)
	cmd := exec.CommandContext(t.Context(), *binary, "view", dir, "--port", "0", "--run-dir", t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Signal(os.Interrupt)
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("no address: %v", err)
	}
	address = strings.TrimSpace(address)
	say("read and explained in", time.Since(began).Seconds(), "s")
	say("CPU time for that", cpu(t, cmd.Process.Pid), "s")

	tab := browsertest.Open(t, "about:blank")
	tab.Size(1920, 1080)
	began = time.Now()
	tab.Show(address + "#tab=timeline")
	tab.Wait(`window.__stats !== undefined && window.__stats.tiles > 0 && window.__stats.missing === 0`)
	judge(t, "first picture", time.Since(began).Seconds()*1000, 1000, "ms")

	head := headOf(t, address)
	say("ranks", float64(len(head.Ranks)), "")
	say("spans", float64(head.spans), "")
	frames(t, tab)
	heap(t, tab)
	tab.Show("about:blank")
	askTiles(t, address, head)
	judge(t, "memory of the server, the most it had", peak(t, cmd.Process.Pid), 4000, "MB")
}

// reading reads the files of a capture, which is only a part of opening it.
func reading(t *testing.T, dir string) {
	began := time.Now()
	in := window.Input{Paths: []string{dir}}
	c, err := in.Open(t.Context(), &progress.Console{W: io.Discard}, "reading")
	if err != nil {
		t.Fatal(err)
	}
	took, events := time.Since(began).Seconds(), 0.0
	for _, r := range c.Traces {
		events += million(t, r.Source.Path)
	}
	judge(t, fmt.Sprintf("reading %.1f million events", events), took, perMillion*events, "s")
	debug.FreeOSMemory()
}

// million counts the events of a file, in millions.
func million(t *testing.T, path string) float64 {
	t.Helper()
	src, err := chromejson.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	s := chromejson.NewScanner(src)
	defer s.Close()
	for n := 0; ; {
		switch kind, err := s.Next(); {
		case err == io.EOF:
			return float64(n) / 1e6
		case err != nil:
			t.Fatal(err)
		case kind == chromejson.EventToken:
			n++
		}
	}
}

// cpu is the CPU time of a process, in s.
func cpu(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100 // ticks
}

type head struct {
	timeline.Head
	spans  int
	pinned []timeline.Row
}

func headOf(t *testing.T, address string) (h head) {
	t.Helper()
	if err := json.Unmarshal(get(t, address+"api/timeline/head"), &h.Head); err != nil {
		t.Fatal(err)
	}
	for _, r := range h.Rows {
		h.spans += r.Spans
		if r.Pinned {
			h.pinned = append(h.pinned, r)
		}
	}
	return h
}

func get(t *testing.T, address string) []byte {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", address, resp.Status, err, body)
	}
	return body
}

// askTiles has clients ask for whole views, all tiles of each, while they pan and zoom at random: one request at a time, and
// the next one a frame after its answer, as a page does that has drawn it.
func askTiles(t *testing.T, address string, h head) {
	for _, axis := range []string{"wall", "stretched"} {
		times := make([][]float64, clients)
		var wait sync.WaitGroup
		until := time.Now().Add(asking)
		for i := range times {
			wait.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(i), 1))
				from, length := float64(h.From), float64(h.To-h.From)
				for time.Now().Before(until) {
					length = min(max(length*[]float64{0.5, 0.8, 1, 1, 1.25, 2}[rng.IntN(6)], 2000), float64(h.To-h.From))
					from += (rng.Float64() - 0.5) * length
					from = min(max(from, float64(h.From)), float64(h.To)-length)
					level := 0
					for float64(int64(1)<<level) < length/1700 { // pixels
						level++
					}
					tile := float64(int64(timeline.Columns) << level)
					part := fmt.Sprintf("@%d_%d", int(from/tile), int((from+length)/tile))
					var parts []string
					shown, lanes := h.pinned, 6
					if len(shown) > mostRows {
						first := rng.IntN(len(shown) - mostRows)
						shown, lanes = shown[first:first+mostRows], 1
					}
					for _, r := range shown {
						parts = append(parts, fmt.Sprintf("%d-%d%s", r.Lane, r.Lane+min(r.Lanes, lanes)-1, part))
					}
					v := url.Values{"level": {strconv.Itoa(level)}, "axis": {axis}, "tiles": {strings.Join(parts, ";")}}
					began := time.Now()
					get(t, address+"api/timeline/tiles?"+v.Encode())
					times[i] = append(times[i], float64(time.Since(began).Microseconds())/1000)
					time.Sleep(frame)
				}
			})
		}
		wait.Wait()
		all := slices.Concat(times...)
		say(fmt.Sprintf("views asked for by %d clients, %s", clients, axis), float64(len(all)), "")
		slices.Sort(all)
		say("half of them within", metric.Quantile(all, 0.5), "ms")
		judge(t, "99 of 100 answers to "+axis+" views within", metric.Quantile(all, 0.99), 30, "ms")
	}
}

// frames pans and zooms for ten seconds, a move a frame.
func frames(t *testing.T, tab *browsertest.Tab) {
	var got struct {
		Script, Gaps []float64
	}
	text := tab.Eval(`(async () => {
		const el = document.querySelector(".tl-body"), box = el.getBoundingClientRect(), stats = window.__stats, gaps = [];
		stats.script.length = 0;
		const until = performance.now() + 10000;
		let last = performance.now();
		for (let i = 0; performance.now() < until; i++) {
			const near = i % 240 < 120, zoom = i % 3 !== 0;
			el.dispatchEvent(new WheelEvent("wheel", {deltaY: zoom ? (near ? -40 : 40) : 60, ctrlKey: zoom, shiftKey: !zoom, clientX: box.left + 300 + (i * 7) % (box.width - 400), clientY: box.top + 50, bubbles: true, cancelable: true}));
			await new Promise((next) => requestAnimationFrame(next));
			gaps.push(performance.now() - last);
			last = performance.now();
		}
		return JSON.stringify({script: stats.script.slice(), gaps});
	})()`, false)
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	dropped := 0
	for _, g := range got.Gaps {
		if g > 25 {
			dropped++
		}
	}
	slices.Sort(got.Script)
	say("frames of 10 s of panning and zooming", float64(len(got.Gaps)), "")
	say("of them later than 25 ms, which is not judged", float64(dropped), "")
	say("script in half of them", metric.Quantile(got.Script, 0.5), "ms")
	judge(t, "script in 95 of 100 frames", metric.Quantile(got.Script, 0.95), 8, "ms")
}

// heap moves a thousand times, and a thousand times more.
func heap(t *testing.T, tab *browsertest.Tab) {
	move := func() {
		tab.Eval(fmt.Sprintf(`(async () => {
			let seed = 7;
			const next = () => (seed = (seed * 48271) %% 2147483647) / 2147483647;
			for (let i = 0; i < %d; i++) {
				const length = 2 ** (10 + 18 * next());
				window.__stats.look((at) => { const t = at * next(); return {t0: t, t1: t + length}; });
				await new Promise((done) => requestAnimationFrame(done));
			}
		})()`, moves), false)
		tab.Wait(`window.__stats.idle() && window.__stats.missing === 0`)
	}
	used := func() float64 {
		tab.Call("HeapProfiler.enable", nil, nil)
		tab.Call("HeapProfiler.collectGarbage", nil, nil)
		var u struct{ UsedSize, BackingStorageSize float64 }
		tab.Call("Runtime.getHeapUsage", nil, &u)
		return (u.UsedSize + u.BackingStorageSize) / 1e6
	}
	move()
	move() // the first moves also fill caches
	before := used()
	move()
	after := used()
	judge(t, "heap of the page, with array buffers", after, 64, "MB")
	judge(t, fmt.Sprintf("heap more after %d moves more", moves), max(after/before-1, 0)*100, 5, "%")
}

// peak is the largest resident set that a process has had, in MB.
func peak(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("no /proc: memory of the server is not known")
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb * 1024 / 1e6
}
