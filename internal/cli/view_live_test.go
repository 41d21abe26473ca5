package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
)

// viewing starts "view" and gives the address that it prints; stop ends it.
func viewing(t *testing.T, args ...string) (address string, errs *syncBuffer, stop func() int) {
	t.Helper()
	errs = &syncBuffer{}
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() {
		e := newEnv(strings.NewReader(""), w, errs)
		e.reach = time.Minute // the machine may be busy
		done <- e.main(ctx, append([]string{"view"}, args...))
		w.Close()
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("status %d: %s", <-done, errs)
	}
	return strings.TrimSpace(line), errs, func() int { cancel(); return <-done }
}

// TestViewLive: the page shows each rank of a server that runs, records a window of all of them when its button is pressed,
// and opens what was recorded.
func TestViewLive(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	url, log, stop := serving(t, "serve", "--model", "builtin:llama-tiny", "--port", "0", "--dp-size", "2", "--max-total-tokens", "8192")
	defer func() {
		if status := stop(); status != exitOK {
			t.Errorf("the server ended with %d:\n%s", status, log)
		}
	}()
	address, errs, end := viewing(t, "--url", url, "--run-dir", home, "--output-dir", t.TempDir())
	defer func() {
		if status := end(); status != exitInterrupted && status != exitOK {
			t.Errorf("view ended with %d: %s", status, errs)
		}
	}()
	tab := browsertest.Open(t, address+"#tab=live&steps=6", "--window-size=1280,900")

	loading, enough := context.WithCancel(t.Context())
	var load sync.WaitGroup
	defer load.Wait()
	defer enough()
	for range 4 {
		load.Go(func() {
			for loading.Err() == nil {
				r, err := http.NewRequestWithContext(loading, "POST", url+"/generate", strings.NewReader(`{"text": "ranks side by side", "sampling_params": {"max_new_tokens": 64, "ignore_eos": true}}`))
				if err != nil {
					t.Error(err)
					return
				}
				if resp, err := http.DefaultClient.Do(r); err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
		})
	}
	tab.Wait(`document.querySelectorAll(".ranks tbody tr").length === 2`)
	if got := tab.Eval(`[...document.querySelectorAll(".ranks tbody th")].map((c) => c.textContent).join()`, false); got != "DP00,DP01" {
		t.Errorf("the ranks are %s", got)
	}
	tab.Wait(`[...document.querySelectorAll(".ranks tbody b")].filter((b) => b.closest("td").dataset.title.startsWith("tokens/s")).some((b) => Number(b.textContent.replace(/,/g, "")) > 0)`)
	tab.Eval(`document.querySelector(".shot button").click()`, true)
	tab.Wait(`document.querySelector(".shot button")?.textContent === "Stop" || !location.hash.includes("tab=live")`)
	tab.Wait(`location.hash.startsWith("#tab=summary&c=")`)
	entries, err := runs.List(home)
	if err != nil || len(entries) != 1 || entries[0].Traces != 2 || tab.Eval(`new URLSearchParams(location.hash.slice(1)).get("c")`, false) != entries[0].ID {
		t.Errorf("%v: %+v", err, entries)
	}
	for _, line := range tab.Console() {
		t.Errorf("console: %s", line)
	}
}

// TestViewRouter: of a router its workers are shown, a server that is not there yet as it was given, and each by the name
// that it was given.
func TestViewRouter(t *testing.T) {
	t.Parallel()
	args := []string{"route", "--port", "0", "--policy", "round_robin", "--worker-urls"}
	for range 2 {
		url, _, stop := serving(t, "serve", "--model", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "4096")
		defer stop()
		args = append(args, url)
	}
	alone, _, stop := serving(t, "serve", "--model", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "4096")
	defer stop()
	router, log, stop := serving(t, args...)
	defer stop()
	workersUp(t, log, 2)
	address, errs, end := viewing(t, "--url", router, "--url", "here="+alone, "--url", "later=http://127.0.0.1:9", "--run-dir", t.TempDir())
	defer end()
	res, err := http.Get(address + "api/live")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
	}
	var first struct{ Servers []struct{ Name string } }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(lines.Text(), "data: ")), &first); err != nil {
		t.Fatalf("%v: %s", err, errs)
	}
	var names []string
	for _, s := range first.Servers {
		names = append(names, s.Name)
	}
	want := append([]string{"here", "later"}, args[6:]...)
	if slices.Sort(names); !slices.Equal(names, slices.Sorted(slices.Values(want))) {
		t.Errorf("%q are shown, want %q", names, want)
	}
}

// TestViewLog: where there is a log its batch lines tell how the ranks stand, and nothing can be recorded.
func TestViewLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "server.log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	address, errs, end := viewing(t, "--log", path, "--run-dir", t.TempDir())
	defer end()
	res, err := http.Get(address + "api/live")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for said := 0; lines.Scan(); {
		text := lines.Text()
		switch {
		case strings.Contains(text, `"records":true`):
			t.Error("there is a button that can record nothing")
		case strings.Contains(text, `"dp":1,"running":7,"queued":2,`) && strings.Contains(text, `"usage":0.25`):
			return
		case strings.HasPrefix(text, "data: ") && said < 1000: // it is read from where it ended when the viewer began
			said++
			fmt.Fprintln(log, "[2026-11-22 10:15:32 DP1 TP0] Decode batch, #running-req: 7, #token: 1280, token usage: 0.25, gen throughput (token/s): 2112.24, #queue-req: 2")
		}
	}
	t.Errorf("the log's lines are not shown: %v, %s", lines.Err(), errs)
}
