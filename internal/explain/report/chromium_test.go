package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
)

// probe looks at the page from inside, after it is drawn: whether canvases hold
// pictures, and whether clicks and keys do something.
const probe = `<script>
addEventListener("load", () => setTimeout(() => {
  const out = {error: document.documentElement.dataset.error ?? "", ready: document.documentElement.dataset.ready ?? "", colors: {}, formats: {}};
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
  for (const v of [0, 1, 417, 999, 999500, 999600, 1964000, 12345678901, 1234e9, -12345, 0.25]) out.formats[v] = [duration(v), bytes(v)];
  const pre = document.createElement("pre");
  pre.id = "probe";
  pre.textContent = JSON.stringify(out);
  document.body.append(pre);
}, 300));
</script>`

type probed struct {
	Tip      string
	Colors   map[string]int
	Sorted   []float64
	Filtered int
	Formats  map[string][2]string
}

// browse shows a page in headless Chromium, and reads what the probe wrote: whether the scripts came to their end, and
// into out whatever it saw.
func browse(t *testing.T, page, probe string, out any) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: no browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("no chromium found; install the package chromium to run this test")
	}
	home, err := os.MkdirTemp("", "chromium")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) }) // its helpers may still write there: not worth a failure
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(strings.Replace(page, "</body>", probe+"</body>", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir="+home, "--window-size=1400,1000", "--virtual-time-budget=10000", "--dump-dom", "file://"+file)
	cmd.Env = append(os.Environ(), "HOME="+home)
	cmd.WaitDelay = 5 * time.Second
	var said strings.Builder
	cmd.Stderr = &said
	dom, err := cmd.Output()
	m := regexp.MustCompile(`(?s)<pre id="probe">(.*?)</pre>`).FindSubmatch(dom)
	if m == nil {
		t.Fatalf("the probe did not run: %v\n%s", err, said.String())
	}
	text := []byte(strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(string(m[1])))
	var scripts struct{ Error, Ready string }
	if err := errors.Join(json.Unmarshal(text, &scripts), json.Unmarshal(text, out)); err != nil {
		t.Fatal(err)
	}
	if scripts.Error != "" || scripts.Ready != "1" {
		t.Errorf("ready %q, script error %q", scripts.Ready, scripts.Error)
	}
}

func TestChromium(t *testing.T) {
	var p probed
	browse(t, pageOf(t, straggler()), probe, &p)
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
	if len(p.Sorted) != 16 || p.Filtered != 1 {
		t.Errorf("%d kernels, %d after the filter, want 16 and 1", len(p.Sorted), p.Filtered)
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

// Pages with little or very much in them must start without a fault too.
func TestChromiumOthers(t *testing.T) {
	reports := samples()
	delete(reports, "straggler")
	reports["large"] = stepped(64, 2000, 17, 600)
	reports["one rank"] = stepped(1, 30, -1, 0)
	for name, r := range reports {
		t.Run(name, func(t *testing.T) {
			var p probed
			browse(t, pageOf(t, r), probe, &p)
			if got := p.Colors["bars"] > 0; got != (len(r.Times) > 0) {
				t.Errorf("bars drawn: %v", got)
			}
		})
	}
}
