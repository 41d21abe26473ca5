package view

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/internal/tracefile/kineto"
)

// manyRanks writes a capture of n ranks, eight to a node, and returns its folder. Rank late is late.
func manyRanks(t *testing.T, n, late int) string {
	t.Helper()
	in := window.Input{Paths: []string{filepath.Join("..", "..", "testdata", "traces", "graphs")}}
	read, err := in.Open(t.Context(), &progress.Console{W: io.Discard}, "reading")
	if err != nil {
		t.Fatal(err)
	}
	ranks, err := retime.Straggler(read.Traces, n, late, 4, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i, r := range ranks {
		r.Source.Host = fmt.Sprintf("node-%02d", i/8)
		if err := kineto.WriteFile(filepath.Join(dir, filepath.Base(r.Source.Path)), r); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// names returns the names of the ranks and groups beside the lanes, from top to bottom.
func names(tab *browsertest.Tab) string {
	return tab.Eval(`[...document.querySelectorAll(".tl-rank")].sort((a, b) => a.offsetTop - b.offsetTop).map((e) => e.firstElementChild.innerText.replace(/[▸▾]/, "").trim()).join()`, false)
}

// TestManyRanks: of 64 ranks at least 20 are seen at once. The late one leads the list by a key, is named at its folded
// group, and stays visible in the group's row of the map. Groups open by click and key.
func TestManyRanks(t *testing.T) {
	tab, _ := openTimeline(t, manyRanks(t, 64, 33), "")
	if seen := tab.Eval(`{const b = document.querySelector(".tl-body").getBoundingClientRect();
		String([...document.querySelectorAll(".tl-line")].filter((e) => {const r = e.getBoundingClientRect(); return r.top >= b.top - 1 && r.bottom <= b.bottom + 1;}).length)}`, false); len(seen) < 2 {
		t.Errorf("%s ranks are seen", seen)
	}
	press(t, tab, "o")
	if got := names(tab); !strings.HasPrefix(got, "TP33,") || param(tab, "order") != "late" {
		t.Errorf("latest first: %s", got)
	}
	press(t, tab, "v")
	if tab.Eval(`String(document.querySelectorAll(".tl-line").length)`, false) != "0" || param(tab, "rows") != "full" {
		t.Error("v does not show all rows")
	}
	press(t, tab, "v", "o", "G")
	if got := names(tab); got != "node-00 8,node-01 8,node-02 8,node-03 8,node-04 8,node-05 8,node-06 8,node-07 8" {
		t.Errorf("by node: %s", got)
	}
	if got := tab.Eval(`document.querySelector("[data-key=g4]").parentElement.innerText`, false); !strings.Contains(got, "TP33") {
		t.Errorf("the group of the late rank says %q", got)
	}
	// The row of sums is drawn, and that of the map is dark for the group of the late rank alone.
	dark := tab.Eval(`(() => {
		const c = document.querySelector(".tl-map canvas"), w = c.width - 228, h = c.height - 16, {data} = c.getContext("2d").getImageData(0, 0, c.width, c.height);
		const at = (g) => {const i = 4 * (Math.floor(((g + 0.5) / 8) * h) * c.width + Math.floor(220 + (7.5 / 11) * w)); return 765 - data[i] - data[i + 1] - data[i + 2];};
		return [0, 1, 2, 3, 4, 5, 6, 7].filter((g) => at(g) > 250).join();
	})()`, false)
	if dark != "4" {
		t.Errorf("dark groups of the map: %q, want 4", dark)
	}
	if c := stats(t, tab); c.Missing != 0 || c.Tiles < 8 {
		t.Errorf("sums of groups: %+v", c)
	}
	tab.Eval(`document.querySelector("[data-key=g4]").click()`, true)
	has(t, tab, "open", "g4")
	if got := names(tab); !strings.Contains(got, "node-04 8,TP32,TP33,TP34,TP35,TP36,TP37,TP38,TP39,node-05 8") {
		t.Errorf("node-04 is open: %s", got)
	}
	press(t, tab, "E", "E", "j", "j", "e") // the second group
	if got := param(tab, "open"); got != "g1" {
		t.Errorf("open is %q, want g1", got)
	}
	if faults := tab.Barriers(); len(faults) > 0 {
		t.Error(faults)
	}
	// A click on a group's row of the map opens it.
	press(t, tab, "E", "E")
	tab.Eval(`document.querySelector(".tl-map canvas").focus()`, false)
	press(t, tab, "ArrowDown", "ArrowDown", "Enter")
	if got := param(tab, "open"); got != "g1" {
		t.Errorf("the map opens %q, want g1", got)
	}
}

// TestPinnedRanks: ranks are pinned and compared by clicks, by keys and by their names.
func TestPinnedRanks(t *testing.T) {
	tab, _ := openTimeline(t, manyRanks(t, 64, 33), "")
	for _, r := range []int{7, 3} {
		tab.Eval(fmt.Sprintf(`document.querySelector("[data-key=p%d]").click()`, r), true)
		ready(t, tab)
	}
	if got := names(tab); param(tab, "pin") != "7,3" || !strings.HasPrefix(got, "TP07,TP03,TP00,TP01,TP02,TP04") {
		t.Errorf("pinned %s: %s", param(tab, "pin"), got)
	}
	tab.Eval(`[...document.querySelectorAll(".tl-only button")].find((b) => b.innerText === "compare").click()`, true)
	has(t, tab, "only", "7,3")
	if got := names(tab); got != "TP07,TP03" {
		t.Errorf("compared: %s", got)
	}
	press(t, tab, "r")
	tab.Eval(`document.querySelector("[aria-label='Unpin all']").click()`, true)
	has(t, tab, "pin", "")
	press(t, tab, "j", "p", "j", "j", "p")
	if got := param(tab, "pin"); got != "0,2" && got != "0,1" {
		t.Errorf("pinned by keys: %s", got)
	}
	press(t, tab, "/")
	tab.Eval(`{const s = document.querySelector(".tl-tools input[type=search]"); s.value = "TP12 step 6"; s.dispatchEvent(new Event("input"));}`, false)
	press(t, tab, "Enter")
	if got := param(tab, "pin"); !strings.HasSuffix(got, ",12") || param(tab, "step") != "6" {
		t.Errorf("pinned by name: %s, step %s", got, param(tab, "step"))
	}
	tab.Eval(`document.activeElement.blur()`, false)
	press(t, tab, "P")
	if param(tab, "only") != param(tab, "pin") || param(tab, "align") != "step" {
		t.Errorf("P shows only %q of %q, aligned by %q", param(tab, "only"), param(tab, "pin"), param(tab, "align"))
	}
}
