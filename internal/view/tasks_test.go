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

// mostActions is the number of actions in which a task must be done.
const mostActions = 9

// act does one action of a user: "press KEY", "click SELECTOR", "click SELECTOR | TEXT" (the first that has the text), or
// "type TEXT" into the field that has the focus.
func act(t *testing.T, tab *browsertest.Tab, action string) {
	t.Helper()
	do, what, _ := strings.Cut(action, " ")
	switch do {
	case "press":
		tab.Eval(fmt.Sprintf(`(document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", {key: %q, bubbles: true, cancelable: true}))`, what), false)
	case "type":
		tab.Wait(`document.activeElement instanceof HTMLInputElement`)
		tab.Eval(fmt.Sprintf(`{const e = document.activeElement; e.value = %q; e.dispatchEvent(new Event("input", {bubbles: true}));}`, what), false)
	case "click":
		selector, text, _ := strings.Cut(what, " | ")
		find := fmt.Sprintf(`[...document.querySelectorAll(%q)].find((e) => e.innerText.includes(%q))`, selector, text)
		tab.Wait(find + ` !== undefined`)
		tab.Eval(find+`.click()`, true)
	default:
		t.Fatalf("no action %q", action)
	}
	ready(t, tab)
}

// TestTasks does the tasks of an engineer with clicks and keys alone, each in at most nine actions, on a screen and on a
// phone. Each begins at the page that the viewer opens with, or at the view that its first action names.
func TestTasks(t *testing.T) {
	many := captureAt(t, manyRanks(t, 64, 33), "many")
	all, run, _ := everything(t)
	all.Given = append(all.Given, captureOf(t, "g_mixed", "mixed"))
	urlMany := serve(t, Options{Given: []*Capture{many}})
	all.Given = append(all.Given, compiling(t, "compiling"))
	noted, _ := noted(t)
	url := serve(t, all)
	urlNoted := serve(t, Options{Given: []*Capture{noted}})
	panel := `document.querySelector(".tl-panel").innerText`
	for _, task := range []struct {
		name, at string
		actions  []string
		answer   string // an expression that is true once the answer is seen
	}{
		{"which of 64 ranks is late, and where", urlMany + "/#", []string{"press j", "press Enter"},
			`new URLSearchParams(location.hash.slice(1)).get("rank") === "33" && location.hash.includes("tab=timeline")`},
		{"compare TP03 with TP07 at step 6", urlMany + "/#tab=timeline", []string{"press /", "type TP03 TP07 step 6", "press Enter", "press Escape", "press P"},
			`["3,7", "7,3"].includes(new URLSearchParams(location.hash.slice(1)).get("only")) && location.hash.includes("align=step") && location.hash.includes("step=6")`},
		{"the ranks of the latest node", urlMany + "/#tab=timeline", []string{"press o", "press G", "press j", "press e"},
			`[...document.querySelectorAll(".tl-rank")].sort((a, b) => a.offsetTop - b.offsetTop)[1].innerText.includes("TP33")`},
		{"what compiled in step 8", url + "/#c=compiling", []string{"click .go a | Show in the timeline"},
			panel + `.includes("_do_compile") || ` + panel + `.includes("triton/")`},
		{"what the late host did meanwhile", url + "/#c=mixed", []string{"click .go a | Show in the timeline"},
			`document.querySelector(".tl-panel h2") !== null && new URLSearchParams(location.hash.slice(1)).get("rank") === "0"`},
		{"what the fix is worth, by replay", url + "/#c=0", []string{"click .finding a, .finding button | What if"},
			`location.hash.includes("tab=whatif") && location.hash.includes("set=") && /a decode step|step/.test(document.querySelector("main").innerText)`},
		{"the longest gap of a rank's GPU", url + "/#c=0&tab=query", []string{"click .query-examples .chip | longest gaps", "click .query-rows button"},
			`location.hash.includes("tab=timeline") && !document.querySelector(".tl-panel").hidden`},
		{"which op and which launch a kernel comes from", url + "/#c=0&tab=timeline", []string{"press .", "press <"},
			panel + `.includes("launched") || ` + panel + `.includes("cuda")`},
		{"the same kernel on the other ranks", url + "/#c=0&tab=timeline", []string{"press .", "press c"},
			`document.querySelectorAll(".tl-counterparts tbody tr").length >= 3`},
		{"memory when the peak came", url + "/#c=counted&tab=timeline", []string{"click .tl-counter button"},
			`new URLSearchParams(location.hash.slice(1)).get("rank") === "1"`},
		{"the kernels that take the most GPU time, without waits", url + "/#c=0", []string{"press 3"},
			`document.querySelector("main.view-kernels tbody tr") !== null`},
		{"which requests were in the fourth recorded step", url + "/#tab=bench&run=" + run, []string{"press j", "press j"},
			`document.querySelector(".panel").innerText.includes("Requests in the same steps")`},
		{"a note that a colleague finds with the run", urlNoted + "/#tab=timeline&step=3", []string{"press b", "type here it is late", "click .notes-form button"},
			`[...document.querySelectorAll(".notes li a")].some((a) => a.innerText === "here it is late")`},
	} {
		if len(task.actions) > mostActions {
			t.Errorf("%s: %d actions", task.name, len(task.actions))
		}
		for _, width := range []int{1440, 390} {
			t.Run(fmt.Sprintf("%s, %d px", task.name, width), func(t *testing.T) {
				tab := browsertest.Open(t, task.at)
				tab.Size(width, 844)
				ready(t, tab)
				for _, a := range task.actions {
					act(t, tab, a)
				}
				tab.Wait(task.answer)
			})
		}
	}
}

// compiling is a capture in which Triton compiles a kernel in step 8 of one rank.
func compiling(t *testing.T, id string) *Capture {
	t.Helper()
	in := window.Input{Paths: []string{filepath.Join("..", "..", "testdata", "traces", "balanced")}}
	read, err := in.Open(t.Context(), &progress.Console{W: io.Discard}, "reading")
	if err != nil {
		t.Fatal(err)
	}
	ranks, _, err := retime.Compile(read.Traces, 8, 440_000_000, true, 2)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, r := range ranks {
		if err := kineto.WriteFile(filepath.Join(dir, filepath.Base(r.Source.Path)), r); err != nil {
			t.Fatal(err)
		}
	}
	return captureAt(t, dir, id)
}
