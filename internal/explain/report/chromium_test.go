package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
)

// probe looks at the page from inside, after it is drawn: whether canvases hold
// pictures, and whether clicks and keys do something.
const probe = `
  const out = {colors: {}, formats: {}};
  for (const c of document.querySelectorAll("canvas")) {
    const d = c.getContext("2d").getImageData(0, 0, c.width, c.height - 28 * devicePixelRatio).data, seen = new Set();
    for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
    out.colors[c.id] = seen.size;
  }
  const map = document.getElementById("map-work") ?? document.getElementById("bars");
  if (map) {
    for (const k of ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown", "+"]) map.dispatchEvent(new KeyboardEvent("keydown", {key: k}));
    out.tip = document.getElementById("tip").textContent;
  }
  const table = document.querySelector("#kernels table");
  if (table) {
    const head = [...table.tHead.rows[0].cells].findIndex((c) => c.textContent === "median");
    table.tHead.rows[0].cells[head].querySelector("button").click();
    out.sorted = [...table.tBodies[0].rows].map((r) => Number(r.cells[head].dataset.v));
    const input = table.closest("section").querySelector("input[type=search]");
    input.value = "cutlass";
    input.dispatchEvent(new Event("input"));
    out.filtered = [...table.tBodies[0].rows].filter((r) => !r.hidden).length;
  }
  for (const v of [0, 1, 417, 999, 999500, 999600, 1964000, 12345678901, 1234e9, -12345, 0.25]) out.formats[v] = [format.duration(v), format.bytes(v)];
  return out;
`

type probed struct {
	Tip      string
	Colors   map[string]int
	Sorted   []float64
	Filtered int
	Formats  map[string][2]string
}

// browse shows a page in headless Chromium, and what the probe, the body of a function, returns: whether the scripts came
// to their end, and into out whatever it saw.
func browse(t *testing.T, page, probe string, out any) {
	t.Helper()
	tab := show(t, page)
	if err := json.Unmarshal([]byte(tab.Eval("JSON.stringify((() => {"+probe+"})())", false)), out); err != nil {
		t.Fatal(err)
	}
	quiet(t, tab)
}

// show opens a page and waits until it is drawn.
func show(t *testing.T, page string) *browsertest.Tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	tab := browsertest.Open(t, "file://"+file, "--window-size=1400,1000")
	tab.Wait(`document.documentElement.dataset.ready === "1"`)
	return tab
}

// quiet holds that neither the page's scripts nor the browser complained.
func quiet(t *testing.T, tab *browsertest.Tab) {
	t.Helper()
	if failed := tab.Eval(`document.documentElement.dataset.error ?? ""`, false); failed != "" {
		t.Errorf("script error %q", failed)
	}
	for _, line := range tab.Console() {
		t.Errorf("console: %s", line)
	}
}

func TestChromium(t *testing.T) {
	var p probed
	formats := browsertest.Module(t, "../../web/format.ts", "format")
	browse(t, pageOf(t, straggler()), formats+probe, &p)
	// Counted above the axis, where a plot without its figures has one or two: lines and marks.
	for id, least := range map[string]int{"map-work": 12, "map-host": 8, "map-wait": 8, "bars": 8, "lengths": 4, "memory-plot": 4} {
		if p.Colors[id] < least {
			t.Errorf("canvas %s holds %d colours, want at least %d", id, p.Colors[id], least)
		}
	}
	if !strings.Contains(p.Tip, "TP02, step 1, decode") {
		t.Errorf("the keys lead to %q", p.Tip)
	}
	for i := 1; i < len(p.Sorted); i++ {
		if p.Sorted[i] > p.Sorted[i-1] {
			t.Errorf("the kernels are not sorted by falling median: %v", p.Sorted)
			break
		}
	}
	if len(p.Sorted) != 17 || p.Filtered != 1 {
		t.Errorf("%d kernels, %d after the filter, want 17 and 1", len(p.Sorted), p.Filtered)
	}
	if len(p.Formats) == 0 {
		t.Error("no formats were tried")
	}
	for key, got := range p.Formats {
		var v float64
		fmt.Sscan(key, &v)
		if want := [2]string{metric.Duration(v), metric.Bytes(v)}; got != want {
			t.Errorf("%v reads %q in the page, %q elsewhere", v, got, want)
		}
	}
}

// Links of findings mark what they speak of, and show rows that a filter hides; a scale that cuts says so.
func TestChromiumLinks(t *testing.T) {
	r := straggler()
	r.Steps[12].Ranks[1].CommWait = 400 * ms
	var p struct {
		Tip, Scale, Hidden, Row, Paint, Plain string
	}
	tab := show(t, pageOf(t, r))
	tab.Eval(`(async () => {
  const filter = document.querySelector("#steps input[type=search]"), row = document.getElementById("step-7");
  filter.value = "nothing like it";
  filter.dispatchEvent(new Event("input"));
  window.out = {Hidden: String(row.hidden), Scale: document.getElementById("scale-wait").textContent, Plain: getComputedStyle(row).backgroundColor};
  document.querySelector('#findings a[href="#step-7"]').click();
  await new Promise((done) => setTimeout(done));
  out.Row = String(row.hidden);
  out.Paint = getComputedStyle(row).backgroundColor;
  document.querySelector('#findings a[href="#at-map-work"]').click();
  out.Tip = document.getElementById("tip").textContent;
})()`, false)
	if err := json.Unmarshal([]byte(tab.Eval("JSON.stringify(out)", false)), &p); err != nil {
		t.Fatal(err)
	}
	quiet(t, tab)
	if p.Hidden != "true" || p.Row != "false" || p.Paint == p.Plain {
		t.Errorf("the row of step 7 is hidden: %s, and once it was asked for: %s, painted %s instead of %s", p.Hidden, p.Row, p.Paint, p.Plain)
	}
	if !strings.HasPrefix(p.Tip, "TP02, step 7, decode") {
		t.Errorf("the link to the map marks %q", p.Tip)
	}
	if !strings.HasSuffix(p.Scale, "; cut: up to 400 ms") {
		t.Errorf("the scale says %q", p.Scale)
	}
}

// Pages with little or very much in them must start without a fault too.
func TestChromiumOthers(t *testing.T) {
	formats := browsertest.Module(t, "../../web/format.ts", "format")
	reports := samples()
	delete(reports, "straggler")
	reports["large"] = stepped(64, 2000, 17, 600)
	reports["one rank"] = stepped(1, 30, -1, 0)
	for name, r := range reports {
		t.Run(name, func(t *testing.T) {
			var p probed
			browse(t, pageOf(t, r), formats+probe, &p)
			if got := p.Colors["bars"] > 0; got != (len(r.Times) > 0) {
				t.Errorf("bars drawn: %v", got)
			}
		})
	}
}
