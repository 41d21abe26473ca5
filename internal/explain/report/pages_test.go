package report

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/gate"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
)

var (
	screenshots = flag.String("screenshots", "", "write pictures of pages to this directory, at three widths, light and dark, and printed")
	pageFile    = flag.String("page", "", "hold this page, too")
)

// The widths of a phone, a laptop and a large screen.
var widths = []int{390, 1280, 2560}

// fits holds that a page can be read at each width, in both schemes, and by everybody: axe-core finds no serious fault.
func fits(t *testing.T, name, page string) {
	tab := show(t, page)
	for _, width := range widths {
		tab.Size(width, 900)
		tab.Eval(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))`, false) // plots follow their size
		for _, what := range tab.Misfits() {
			t.Errorf("at %d px: %s", width, what)
		}
		for _, scheme := range []string{"light", "dark"} {
			tab.Scheme(scheme)
			if *screenshots != "" {
				keep(t, name+"-"+strconv.Itoa(width)+"-"+scheme+".png", tab.Picture(true))
			}
			if width == 390 && scheme == "dark" || width == 1280 && scheme == "light" {
				for _, what := range tab.Barriers() {
					t.Errorf("%s: axe finds %s", scheme, what)
				}
			}
		}
	}
	printed(t, tab)
	quiet(t, tab)
	if *screenshots != "" {
		keep(t, name+".pdf", tab.PDF())
	}
}

// printed holds that paper, 190 mm of it, takes every table whole, and that what is folded is open.
func printed(t *testing.T, tab *browsertest.Tab) {
	t.Helper()
	tab.Size(718, 1000)
	tab.Call("Emulation.setEmulatedMedia", map[string]any{"media": "print"}, nil)
	tab.Eval(`dispatchEvent(new Event("beforeprint"))`, false)
	for _, what := range tab.Told(`[...document.querySelectorAll(".scroll table, .finding, figure, pre")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => "cut off at " + e.getBoundingClientRect().right + ": " + e.textContent.trim().slice(0, 60))
		.concat([...document.querySelectorAll("details:not([open])")].map((e) => "folded: " + e.textContent.trim().slice(0, 60)))
		.concat(getComputedStyle(document.body).backgroundColor === "rgb(255, 255, 255)" ? [] : ["not on white"])`) {
		t.Errorf("printed: %s", what)
	}
	tab.Eval(`dispatchEvent(new Event("afterprint"))`, false)
	tab.Scheme("light")
}

func pageBy(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func keep(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(*screenshots, name), content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestPagesFit holds each page at the widths of a phone, a laptop and a large screen.
func TestPagesFit(t *testing.T) {
	pages := map[string]func(*testing.T) string{}
	for name, b := range benchSamples() {
		pages[name] = func(t *testing.T) string { return benchPageOf(t, b) }
	}
	for name, r := range samples() {
		pages["sample-"+name] = func(t *testing.T) string { return pageOf(t, r) }
	}
	pages["light"] = func(t *testing.T) string { return pageOf(t, lit()) }
	pages["sweep"] = func(t *testing.T) string {
		return pageBy(t, func(w io.Writer) error { return SweepHTML(w, sampleSweep()) })
	}
	pages["prefill-decode"] = func(t *testing.T) string {
		return pageBy(t, func(w io.Writer) error { return PDHTML(w, apart(), []Page{{"prefill-0", "all-prefill-0.html"}}) })
	}
	pages["compare"] = func(t *testing.T) string {
		v := BenchCompared(benchComparison(1.25, bench.CompareOptions{Limits: gate.Limits{{By: 0.1}}}), Options{Full: true})
		v.WithCaptures(Compared(comparison(), Options{Full: true}))
		return pageBy(t, v.HTML)
	}
	// A late rank, a real server, Python frames; for pictures all there are.
	captures := []string{"compute_skew", "sglang_stops", "stacks"}
	if *screenshots != "" {
		captures, _ = filepath.Glob("../../../testdata/traces/*")
	}
	for _, dir := range captures {
		pages[filepath.Base(dir)] = func(t *testing.T) string {
			in := window.Input{Paths: []string{filepath.Join("../../../testdata/traces", filepath.Base(dir))}}
			capture, err := in.Open(t.Context(), &progress.Console{W: io.Discard}, "")
			if err != nil {
				t.Fatal(err)
			}
			r, err := capture.Prepare(nil).Analyze(capture.Options())
			if err != nil {
				t.Fatal(err)
			}
			return pageOf(t, r)
		}
	}
	if *pageFile != "" {
		page, err := os.ReadFile(*pageFile)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(*pageFile)] = func(*testing.T) string { return string(page) }
	}
	for name, page := range pages {
		t.Run(name, func(t *testing.T) { fits(t, name, page(t)) })
	}
}
