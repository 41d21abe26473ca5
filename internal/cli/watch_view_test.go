package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/browsertest"
)

// always is a file of rules of which one holds as soon as a server makes tokens, however fast it is.
func always(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte("rules:\n  - name: tokens come\n    kind: latency\n    signal: itl.mean\n    above: 1ns\n    least: 1\n    for: 1s\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWatchView: the page shows the ranks of a server that is watched, what was found and since when, and opens what was
// captured.
func TestWatchView(t *testing.T) {
	t.Parallel()
	url, _, end := evenly(t)
	defer end()
	watching, out := program(t, "watch", "--url", url, "--every", "200ms", "--rules", always(t), "--max-captures", "1", "--run-dir", t.TempDir(), "--view", "0")
	tab := browsertest.Open(t, awaits(t, out, `shown at (http://\S+)`), "--window-size=1280,900")
	tab.Wait(`document.querySelectorAll(".ranks tbody tr").length === 2`)
	tab.Wait(`document.querySelector(".marks [data-kind=alarm] .text")?.textContent.startsWith("tokens come since")`)
	tab.Wait(`document.querySelector(".marks [data-kind=verdict] button")?.textContent === "open capture-1"`)
	if text := tab.Eval(`document.querySelector(".live figure:last-of-type figcaption").textContent`, false); text != "Busiest rank over the mean" {
		t.Errorf("the last plot is %q", text)
	}
	for _, size := range [][2]int{{1280, 900}, {390, 844}} {
		tab.Size(size[0], size[1])
		tab.Eval(`new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))`, false)
		for _, what := range append(tab.Misfits(), tab.Barriers()...) {
			t.Errorf("%d pixels wide: %s", size[0], what)
		}
	}
	tab.Eval(`document.querySelector(".marks [data-kind=verdict] button").click()`, true)
	tab.Wait(`location.hash.startsWith("#tab=summary&c=capture-1")`)
	tab.Wait(`document.querySelector("main")?.textContent.includes("DP01")`)
	for _, line := range tab.Console() {
		t.Errorf("console: %s", line)
	}
	watching.Process.Signal(os.Interrupt)
	if status := ends(t, watching); status != exitInterrupted {
		t.Errorf("status %d", status)
	}
}
