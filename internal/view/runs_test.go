package view

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
)

// TestRuns: without arguments the page lists the runs; one can be opened and compared with another, and its address
// restores it; runs outside the list are refused.
func TestRuns(t *testing.T) {
	root := t.TempDir()
	ids := map[string]string{}
	for _, name := range []string{"graph_work", "balanced"} {
		run, err := runs.Create(root, runs.About{Kind: "profile", Model: name, Tags: []string{evil[0], evil[1]}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		paths, _ := filepath.Glob("../../testdata/traces/" + name + "/*")
		for _, path := range paths {
			if err := run.AddFile(runs.File{Path: "traces/" + filepath.Base(path), Kind: runs.KindTrace}, path); err != nil {
				t.Fatal(err)
			}
		}
		if err := run.Finish(runs.Complete, nil); err != nil {
			t.Fatal(err)
		}
		ids[name] = run.ID()
	}
	outside := filepath.Join(t.TempDir(), "traces")
	if err := os.CopyFS(outside, os.DirFS("../../testdata/traces/graph_work")); err != nil {
		t.Fatal(err)
	}
	url := serve(t, Options{Root: root, Open: func(_ context.Context, id string) (*Capture, error) {
		dir, err := runs.Find(root, id)
		if err != nil {
			return nil, err
		}
		return captureAt(t, filepath.Join(dir, "traces"), id), nil
	}})
	tab := browsertest.Open(t, url)
	tab.Size(1280, 900)
	ready(t, tab)
	if got := tab.Eval(`[...document.querySelectorAll(".runs tbody tr")].map((r) => r.querySelector(".cut").firstChild.textContent).sort().join()`, false); got != "balanced,graph_work" {
		t.Errorf("runs: %q", got)
	}
	if got := tab.Eval(`document.querySelector(".runs").innerText.includes("onerror") + " " + document.querySelectorAll("img, script:not([src='app.js'])").length`, false); got != "true 0" {
		t.Errorf("hostile tags: %s", got)
	}
	click := func(model, text string) {
		t.Helper()
		tab.Eval(fmt.Sprintf(`[...document.querySelectorAll(".runs tbody tr")].find((r) => r.querySelector(".cut").firstChild.textContent === %q).querySelectorAll("a").forEach((a) => a.textContent === %q && a.click())`, model, text), false)
	}
	click("graph_work", "capture")
	has(t, tab, "c", ids["graph_work"])
	tab.Wait(`document.querySelector(".summary .facts")?.textContent.includes("2 ranks") === true`)
	strike(tab, strconv.Itoa(1+slices.Index(strings.Split(tab.Eval(`[...document.querySelectorAll("nav a")].map((a) => a.textContent).join()`, false), ","), "Runs")))
	has(t, tab, "tab", "runs")
	tab.Wait(`document.querySelector(".runs tbody") !== null`)
	click("balanced", "compare")
	has(t, tab, "vs", ids["balanced"])
	tab.Wait(`document.querySelector(".kernels th:nth-child(3)")?.textContent === "other"`)
	ready(t, tab)
	for _, id := range []string{outside, "../" + filepath.Base(filepath.Dir(outside)) + "/traces", root, ".", "..", "last", "%2e%2e", "nothing-like-it"} {
		res, err := http.Get(url + "/api/session?open=" + id)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d: %s", id, res.StatusCode, text)
		}
	}
}
