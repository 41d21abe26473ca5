package view

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/packedtest"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
)

// TestSize: the page stays small enough to load at once.
func TestSize(t *testing.T) {
	var whole, packed int
	for _, name := range []string{"ui/dist/app.js", "ui/dist/app.css", "ui/index.html"} {
		text, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(text); err != nil || z.Close() != nil {
			t.Fatal(err)
		}
		whole, packed = whole+len(text), packed+b.Len()
	}
	t.Logf("%d bytes, %d packed", whole, packed)
	if whole > 300_000 || packed > 100_000 {
		t.Errorf("the page has %d bytes, %d packed: at most 300,000 and 100,000", whole, packed)
	}
}

// TestContrast: text is readable on its backgrounds (WCAG 2, AA: 4.5 to 1), in light and in dark.
func TestContrast(t *testing.T) {
	css, err := os.ReadFile("../web/colors.css")
	if err != nil {
		t.Fatal(err)
	}
	colors := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--(\w+): light-dark\((#\w{6}), (#\w{6})\);`).FindAllStringSubmatch(string(css), -1) {
		colors[m[1]] = [2]string{m[2], m[3]}
	}
	for scheme, name := range []string{"light", "dark"} {
		for _, text := range []string{"text", "soft", "strong", "high", "medium", "low", "info"} {
			for _, ground := range []string{"bg", "panel"} {
				a, b := luminance(t, colors[text][scheme]), luminance(t, colors[ground][scheme])
				if c := (max(a, b) + 0.05) / (min(a, b) + 0.05); c < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f", name, text, ground, c)
				}
			}
		}
	}
}

// luminance returns the relative luminance of #rrggbb as defined by WCAG 2.
func luminance(t *testing.T, color string) (sum float64) {
	t.Helper()
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v, err := strconv.ParseUint(color[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(v) / 255
		if c <= 0.03928 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// strike presses a key as on a keyboard.
func strike(tab *browsertest.Tab, key string) {
	event := map[string]any{"type": "keyDown", "key": key, "code": key}
	if codes := map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}; codes[key] > 0 {
		event["windowsVirtualKeyCode"] = codes[key]
	} else {
		event["text"] = key
	}
	if key == "Enter" {
		event["text"] = "\r"
	}
	tab.Call("Input.dispatchKeyEvent", event, nil)
	event["type"] = "keyUp"
	delete(event, "text")
	tab.Call("Input.dispatchKeyEvent", event, nil)
}

// has waits until the address has a parameter.
func has(t *testing.T, tab *browsertest.Tab, name, want string) {
	t.Helper()
	tab.Wait(fmt.Sprintf("(new URLSearchParams(location.hash.slice(1)).get(%q) ?? %q) === %q", name, "", want))
	ready(t, tab)
}

// walk goes through a view by Tab alone: Tab reaches everything that a mouse can, and focus is visible.
func walk(t *testing.T, tab *browsertest.Tab, view string) {
	t.Helper()
	reached, seams := map[string]bool{}, 0
	for range 400 {
		strike(tab, "Tab")
		at := tab.Eval(`{const e = document.activeElement, s = getComputedStyle(e);
			e === document.body ? "" : (s.outlineStyle === "none" ? "unseen " : "") + (e.dataset.n ??= String(window.n = (window.n ?? 0) + 1))}`, false)
		if strings.HasPrefix(at, "unseen") {
			t.Errorf("%s: focus does not show on %s", view, tab.Eval("document.activeElement.outerHTML.slice(0, 100)", false))
		}
		if at == "" { // the end of the page; the focused element may have left with the previous view
			if seams++; seams > 1 {
				break
			}
		} else if reached[at] {
			break
		}
		reached[at] = true
	}
	missed := tab.Told(`[...document.querySelectorAll("a[href], button, select, input, summary, [tabindex='0']")]
		.filter((e) => e.checkVisibility() && !e.disabled && e.dataset.n === undefined).map((e) => e.outerHTML.slice(0, 100))`)
	if len(missed) > 0 || len(reached) < 10 {
		t.Errorf("%s: Tab reaches %d, not %q", view, len(reached), missed)
	}
	tab.Eval("document.activeElement.blur()", false)
}

// TestKeyboard visits all views by keys alone.
func TestKeyboard(t *testing.T) {
	o, run, before := everything(t)
	tab := browsertest.Open(t, serve(t, o))
	tab.Size(1280, 900)
	ready(t, tab)
	walk(t, tab, "summary")
	strike(tab, "j")
	has(t, tab, "sel", "0")
	strike(tab, "m")
	has(t, tab, "map", "host")
	strike(tab, "Enter")
	has(t, tab, "tab", "timeline")
	if got := tab.Eval("location.hash", false); !strings.Contains(got, "step=7") || !strings.Contains(got, "rank=2") {
		t.Errorf("the finding leads to %s", got)
	}
	walk(t, tab, "timeline")
	strike(tab, "h")
	has(t, tab, "heat", "off")
	strike(tab, "3")
	has(t, tab, "tab", "kernels")
	walk(t, tab, "kernels")
	strike(tab, "g")
	has(t, tab, "by", "class")
	strike(tab, "/")
	for _, key := range "nccl" {
		strike(tab, string(key))
	}
	has(t, tab, "q", "nccl")
	strike(tab, "Escape") // clears the filter and leaves it
	has(t, tab, "q", "")
	tab.Eval(`document.querySelector(".flame canvas").focus()`, false)
	for _, key := range []string{"ArrowDown", "ArrowDown", "ArrowRight", "Enter"} {
		strike(tab, key)
	}
	tab.Wait(`new URLSearchParams(location.hash.slice(1)).has("node")`)
	strike(tab, "8")
	has(t, tab, "tab", "light")
	tab.Wait(`document.querySelector(".light .bar") !== null`)
	walk(t, tab, "speed of light")
	strike(tab, "9")
	has(t, tab, "tab", "query")
	walk(t, tab, "query")
	strike(tab, "4")
	has(t, tab, "tab", "whatif")
	walk(t, tab, "what if")
	tab.Eval(`document.querySelector("input[type=range]").focus()`, false)
	strike(tab, "ArrowLeft")
	has(t, tab, "set", "host=0.95")
	strike(tab, "0")
	has(t, tab, "set", "")
	strike(tab, "5")
	has(t, tab, "tab", "bench")
	tab.Wait(`document.querySelector(".run canvas") !== null`)
	walk(t, tab, "benchmark")
	strike(tab, "j")
	has(t, tab, "req", "0")
	tab.Wait(`document.querySelector(".panel h3") !== null`)
	strike(tab, "Escape")
	has(t, tab, "req", "")
	strike(tab, "c")
	tab.Wait(`location.hash.includes("b0=")`)
	strike(tab, "6")
	has(t, tab, "tab", "live")
	tab.Wait(`document.querySelectorAll(".ranks tbody tr").length === 2`)
	walk(t, tab, "live")
	strike(tab, "r")
	tab.Wait(`document.querySelector(".told")?.dataset.state === "failed" && document.querySelector(".told").innerText.includes("no such window")`)
	strike(tab, "7")
	has(t, tab, "tab", "runs")
	tab.Wait(`document.querySelectorAll(".runs tbody tr").length === 2`)
	walk(t, tab, "runs")
	strike(tab, "/")
	for _, key := range before {
		strike(tab, string(key))
	}
	has(t, tab, "q", before)
	strike(tab, "Enter") // leaves the filter as it is
	tab.Wait(`document.querySelectorAll(".runs tbody tr").length === 1`)
	tab.Eval(`[...document.querySelectorAll(".runs tbody a")].find((a) => a.textContent === "load").focus()`, false)
	strike(tab, "Enter")
	has(t, tab, "tab", "bench")
	has(t, tab, "run", before)
	if before == run {
		t.Error("both runs are one")
	}
	strike(tab, "?")
	tab.Wait(`document.querySelector("dialog[open]") !== null`)
	strike(tab, "Escape")
	tab.Wait(`document.querySelector("dialog[open]") === null`)
}

// TestFinding: the link of a finding shows a kernel of its first step on its rank in the timeline.
func TestFinding(t *testing.T) {
	tab := browsertest.Open(t, serve(t, Options{Given: []*Capture{captureOf(t, "compute_skew", "0")}}))
	tab.Size(1280, 900)
	ready(t, tab)
	var at struct{ X, Y float64 }
	if err := json.Unmarshal([]byte(tab.Eval(`{const box = document.querySelector(".finding .go a").getBoundingClientRect();
		JSON.stringify({x: box.left + box.width / 2, y: box.top + box.height / 2})}`, false)), &at); err != nil {
		t.Fatal(err)
	}
	mouse(tab, "mousePressed", at.X, at.Y)
	mouse(tab, "mouseReleased", at.X, at.Y)
	has(t, tab, "tab", "timeline")
	has(t, tab, "step", "7")
	has(t, tab, "rank", "2")
	tab.Wait(`window.__stats.idle() && window.__stats.missing === 0`)
	if text := tab.Eval(`document.querySelector(".tl-gutter").innerText`, false); !strings.Contains(text, "TP02") {
		t.Errorf("shown rows: %q", text)
	}
	if tab.Eval(`String(document.querySelector(".tl-cell").checkVisibility())`, false) != "false" {
		t.Error("a cell of the map is marked, and none is pointed at")
	}
	var shown struct{ T0, T1, From, To float64 }
	if err := json.Unmarshal([]byte(tab.Eval(`{const step = window.__stats.step(7); JSON.stringify({...window.__stats.shown(), from: step.start_ns, to: step.end_ns})}`, false)), &shown); err != nil {
		t.Fatal(err)
	}
	if shown.T0 < shown.From || shown.T1 > shown.To || shown.T1-shown.T0 > 1e6 {
		t.Errorf("the view does not show a kernel of the step: %+v", shown)
	}
}

// TestAddresses: an address reproduces its view to the pixel.
func TestAddresses(t *testing.T) {
	o, run, before := everything(t)
	url := serve(t, o)
	tab := browsertest.Open(t, "about:blank")
	tab.Size(1280, 900)
	for _, hash := range []string{
		"#tab=summary&kind=decode&map=wait&sel=1", "#tab=kernels&by=op&node=3&sort=name&theme=dark",
		"#tab=kernels&kind=decode&q=nvjet&rank=2&vs=against", "#tab=whatif&rank=2&set=TP02.host%3Dpeers",
		"#tab=bench&b0=0&b1=212000000&req=1&run=" + run, "#tab=bench&run=" + before + "&theme=dark&vs=" + run, "#tab=runs&q=bench&sort=size",
	} {
		var pictures [2][]byte
		for i := range pictures {
			show(t, tab, url+"/"+hash)
			if got := tab.Eval("location.hash", false); got != hash {
				t.Errorf("%s has become %s", hash, got)
			}
			pictures[i] = tab.Picture(false)
		}
		if n := unlike(t, pictures[0], pictures[1]); n > 20 {
			t.Errorf("%s differs the second time: %d pixels", hash, n)
			if *screenshots != "" {
				for i, p := range pictures {
					os.WriteFile(filepath.Join(*screenshots, fmt.Sprintf("differs-%d.png", i)), p, 0o666)
				}
			}
		}
	}
}

// unlike counts the pixels in which two pictures differ. Slight shades are ignored: round corners depend on the
// browser's tiles.
func unlike(t *testing.T, a, b []byte) (n int) {
	t.Helper()
	var pictures [2]image.Image
	for i, text := range [][]byte{a, b} {
		var err error
		if pictures[i], err = png.Decode(bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	size := pictures[0].Bounds()
	if size != pictures[1].Bounds() {
		return size.Dx() * size.Dy()
	}
	for y := range size.Dy() {
		for x := range size.Dx() {
			r, g, b, _ := pictures[0].At(x, y).RGBA()
			r2, g2, b2, _ := pictures[1].At(x, y).RGBA()
			far := func(a, b uint32) bool { return max(a, b)-min(a, b) > 0x2000 }
			if far(r, r2) || far(g, g2) || far(b, b2) {
				n++
			}
		}
	}
	return n
}

// evil are names that would take effect if they were not treated as text.
var evil = []string{
	`"><img src=FOREIGN/img onerror=alert(1)>`, `<script src=FOREIGN/script></script>`, `javascript:alert(2)`, `</script><svg onload=alert(3)>`,
	`'};alert(4);//`, `url(FOREIGN/css)`, `{{constructor.constructor('alert(5)')()}}`, "\u202egnp.exe", `=cmd|'/c calc'!A1`,
}

// TestHostileNames: a trace full of such names shows no dialog, runs no script and sends no request elsewhere.
func TestHostileNames(t *testing.T) {
	var foreign atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { foreign.Add(1) }))
	t.Cleanup(elsewhere.Close)
	dir := t.TempDir()
	paths, err := filepath.Glob("../../testdata/traces/graph_work/*.gz")
	if err != nil || len(paths) == 0 {
		t.Fatal(err)
	}
	known := map[string]string{}
	name := regexp.MustCompile(`("name": ")([^"]*(?:kernel|nvjet|nccl|aten)[^"]*)"`)
	for _, path := range paths {
		text := name.ReplaceAllFunc(packedtest.Read(t, path), func(m []byte) []byte {
			was := string(name.FindSubmatch(m)[2])
			if known[was] == "" {
				known[was] = strings.ReplaceAll(evil[len(known)%len(evil)], "FOREIGN", elsewhere.URL) + " " + was
			}
			return append([]byte(`"name": `), strconv.AppendQuoteToASCII(nil, known[was])...)
		})
		if len(known) < len(evil) {
			t.Fatalf("%d names are hostile", len(known))
		}
		if err := os.WriteFile(filepath.Join(dir, strings.TrimSuffix(filepath.Base(path), ".gz")), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c := captureAt(t, dir, "0")
	if !slices.ContainsFunc(c.Report.Kernels, func(k result.KernelRow) bool { return strings.Contains(k.Name, "onerror") }) {
		t.Fatal("no kernel has a hostile name")
	}
	url := serve(t, Options{Given: []*Capture{c}})
	tab := browsertest.Open(t, "about:blank")
	tab.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{
		"source": `window.dialogs = []; for (const f of ["alert", "confirm", "prompt"]) window[f] = (x) => void dialogs.push(String(x));`,
	}, nil)
	tab.Size(1280, 900)
	for _, hash := range []string{
		"#tab=summary", "#tab=kernels", "#tab=kernels&by=op&q=onerror", "#tab=whatif", "#tab=timeline",
		`#tab=%3Cimg%20src%3Dx%20onerror%3Dalert(6)%3E&q=%3Cimg%20src%3Dx%20onerror%3Dalert(7)%3E&sort=__proto__&sel=%22%3E%3Cscript%3E`,
		"#tab=kernels&by=__proto__&kind=constructor&node=1e9&theme=url(x)",
	} {
		show(t, tab, url+"/"+hash)
		if got := tab.Eval(`dialogs.join() + document.querySelectorAll("img, svg, iframe, object, script:not([src='app.js'])").length`, false); got != "0" {
			t.Errorf("%s: %s", hash, got)
		}
	}
	if n := foreign.Load(); n > 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}
