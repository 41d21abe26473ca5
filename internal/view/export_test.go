package view

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/browsertest"
)

// exported writes a capture as a page of at most so many bytes, and returns its address.
func exported(t *testing.T, c *Capture, most int) (url string, out *Exported) {
	t.Helper()
	var page bytes.Buffer
	out, err := Export(t.Context(), &page, c, "1.2.3", most)
	if err != nil {
		t.Fatal(err)
	}
	if page.Len() > most {
		t.Errorf("the page has %d bytes, of %d", page.Len(), most)
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, page.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s within %d: %d bytes, left out: %s", c.Title(), most, page.Len(), strings.Join(out.LeftOut, " "))
	return "file://" + path, out
}

// TestExport: a standalone page shows its views from a file, without a server or a request; a finding leads to its
// step, a kernel there has counterparts, and the address holds the state.
func TestExport(t *testing.T) {
	url, _ := exported(t, captureOf(t, "compute_skew", "0"), 20_000_000)
	tab := browsertest.Open(t, url)
	tab.Size(1280, 900)
	ready(t, tab)
	foreign := func() {
		t.Helper()
		if got := tab.Eval(`performance.getEntriesByType("resource").map((e) => e.name).join()`, false); got != "" {
			t.Errorf("the page asks for %s", got)
		}
	}
	foreign()
	if got := tab.Eval(`[...document.querySelectorAll("nav a")].map((a) => a.textContent).join()`, false); got != "Summary,Timeline,Kernels,What if" {
		t.Errorf("the tabs are %s", got)
	}
	if got := tab.Eval(`document.querySelector(".exported").textContent`, false); !strings.Contains(got, "Benchmark runs") || !strings.Contains(got, "stepscope 1.2.3") {
		t.Errorf("missing content: %s", got)
	}

	tab.Eval(`document.querySelector(".finding .go a").click()`, false)
	tab.Wait(`location.hash.includes("tab=timeline") && document.querySelector(".tl") !== null && window.__stats.idle()`)
	ready(t, tab)
	if step := param(tab, "step"); step != "7" {
		t.Errorf("the finding is at step %q", step)
	}
	if s := selected(t, tab); s.Rank != "2" || !s.Seen {
		t.Errorf("the finding selects %+v", s)
	}
	show(t, tab, url+"#tab=timeline&step=7")
	tab.Wait(`window.__stats.idle()`)
	if c := stats(t, tab); c.DrawImage == 0 || c.FillRect < 50 {
		t.Errorf("drew %d strips and %d rectangles", c.DrawImage, c.FillRect)
	}
	// The first span drawn in the first rank's compute row.
	var left, top, width float64
	fmt.Sscan(tab.Eval(`(() => { const b = document.querySelector(".tl canvas.overlay").getBoundingClientRect(); return [b.left, b.top, b.width].join(" ") })()`, false), &left, &top, &width)
	for x := left + 5; x < left+width && param(tab, "sel") == ""; x += 5 {
		mouse(tab, "mouseMoved", x, top+24)
		mouse(tab, "mousePressed", x, top+24)
		mouse(tab, "mouseReleased", x, top+24)
	}
	ready(t, tab)
	panel := tab.Eval(`document.querySelector(".tl-panel").innerText`, false)
	if !strings.Contains(panel, "The same on every rank") || !strings.Contains(panel, "TP03") {
		t.Errorf("%s selects %q", param(tab, "sel"), panel)
	}
	address := tab.Eval(`location.href`, false)
	show(t, tab, address)
	if again := tab.Eval(`document.querySelector(".tl-panel").innerText`, false); again != panel {
		t.Errorf("opened again, %s shows %q", address, again)
	}

	// A click on a step sums it up, and ranks are aligned by collectives, as with a server.
	show(t, tab, url+"#tab=timeline")
	tab.Eval(`{ const s = window.__stats.step(9); location.hash = "#tab=timeline&step=9&r0=" + s.start_ns + "&r1=" + s.end_ns }`, false)
	tab.Wait(`document.querySelectorAll(".tl-range tbody tr").length > 10`)
	press(t, tab, "A", "A")
	if got := param(tab, "align"); got != "collective" {
		t.Errorf("A aligns by %q", got)
	}
	if got := tab.Eval(`document.querySelector(".tl-gutter").innerText`, false); !strings.Contains(got, "moved") {
		t.Errorf("rows aligned by a collective: %q", got)
	}
	if got := tab.Eval(`document.querySelector(".tl-panel").innerText`, false); !strings.Contains(got, "sums up steps by the wall clock") {
		t.Errorf("message for a range of aligned ranks: %q", got)
	}
	press(t, tab, "A")
	if got := param(tab, "align"); got != "" {
		t.Errorf("after collectives A aligns by %q", got)
	}
	show(t, tab, url+"#tab=kernels&by=op&rank=2")
	if rows := tab.Eval(`String(document.querySelectorAll("tbody tr").length)`, false); rows == "0" {
		t.Error("there are no kernels")
	}
	show(t, tab, url+"#tab=whatif&set=class%3Agemm%3D0.5")
	if got := tab.Eval(`document.querySelector(".outcome").innerText`, false); !strings.Contains(got, "class:gemm") || !strings.Contains(got, "→") {
		t.Errorf("what if matrix products were twice as fast: %s", got)
	}
	foreign()
}

// TestExportFits: a page stays within its size limit, reports omitted content, and shows the rest; views of omitted
// content say so.
func TestExportFits(t *testing.T) {
	url, out := exported(t, captureOf(t, "compute_skew", "0"), 2_000_000)
	if said := strings.Join(out.LeftOut, " "); strings.Contains(said, "are drawn individually") || !strings.Contains(said, "spans have details") {
		t.Errorf("left out: %s", said)
	}
	tab := browsertest.Open(t, url+"#tab=timeline&step=9&rank=0&sel=9999999")
	tab.Size(1280, 900)
	ready(t, tab)
	if c := stats(t, tab); c.DrawImage == 0 {
		t.Errorf("drew %d strips", c.DrawImage)
	}
	if got := tab.Eval(`document.querySelector(".tl-panel").innerText`, false); !strings.Contains(got, "An exported page does not have this") {
		t.Errorf("message for an omitted span: %q", got)
	}
}
