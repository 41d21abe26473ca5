package view

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
	"github.com/stepscope/stepscope/internal/testing/loadtest"
)

// noted returns a capture that belongs to a stored run.
func noted(t *testing.T) (*Capture, *runs.Run) {
	t.Helper()
	root := t.TempDir()
	run, err := runs.Open(root, loadtest.Keep(t, root, loadtest.Sample(), false).ID()) // as another program opens it
	if err != nil {
		t.Fatal(err)
	}
	c := captureOf(t, "balanced", "0")
	c.Run = run
	return c, run
}

// saves writes a note on the view that is shown.
func saves(t *testing.T, tab *browsertest.Tab, text string) {
	t.Helper()
	press(t, tab, "b")
	tab.Wait(`document.querySelector("dialog.notes")?.open`)
	tab.Eval(fmt.Sprintf(`document.querySelector(".notes-form input").value = %q`, text), false)
	tab.Eval(`document.querySelector(".notes-form button").click()`, false)
	tab.Wait(fmt.Sprintf(`[...document.querySelectorAll(".notes li a")].some((a) => a.innerText === %q)`, text))
	ready(t, tab)
}

// TestNotes: a note keeps the view with the run: another viewer leads to it, and so does an exported page. It can be
// removed.
func TestNotes(t *testing.T) {
	c, run := noted(t)
	url := serve(t, Options{Given: []*Capture{c}})
	tab := browsertest.Open(t, url+"/#tab=timeline&step=3&rank=1")
	tab.Size(1280, 900)
	ready(t, tab)
	saves(t, tab, `late <b>& "here"`)
	if said := tab.Eval(`document.querySelector(".notes-said").innerText`, false); said != "Kept with run "+run.ID()+", in derived/notes.json." {
		t.Errorf("it says %q", said)
	}
	text, err := os.ReadFile(run.Path(runs.NotesFile))
	var list []Note
	if err != nil || json.Unmarshal(text, &list) != nil || len(list) != 1 || !strings.HasPrefix(list[0].Address, "#tab=timeline&rank=1&step=3") {
		t.Fatalf("%v: %s", err, text)
	}
	again, err := runs.Open(filepath.Dir(run.Dir()), run.ID())
	if err != nil || len(again.Files(runs.KindNotes)) != 1 {
		t.Errorf("the run lists %d files of notes, %v", len(again.Files(runs.KindNotes)), err)
	}

	page := filepath.Join(t.TempDir(), "page.html")
	f, err := os.Create(page)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Export(t.Context(), f, c, "v1", 5_000_000); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	for _, at := range []string{url + "/#tab=summary", "file://" + page + "#tab=summary"} {
		tab.Show("about:blank")
		tab.Show(at)
		ready(t, tab)
		tab.Eval(`document.querySelector(".notes-button").click()`, false)
		tab.Wait(`document.querySelector("dialog.notes")?.open`)
		if misfits, barriers := tab.Misfits(), tab.Barriers(); len(misfits)+len(barriers) > 0 {
			t.Errorf("misfits %q, barriers %q", misfits, barriers)
		}
		tab.Eval(`document.querySelector(".notes li a").click()`, false)
		tab.Wait(`location.hash.includes("tab=timeline")`)
		ready(t, tab)
		if param(tab, "step") != "3" || param(tab, "rank") != "1" || tab.Eval(`String(document.querySelector("dialog.notes").open)`, false) != "false" {
			t.Errorf("%s: the note leads to %s", at, tab.Eval(`location.hash`, false))
		}
		tab.Eval(`document.querySelector(".notes-button").click()`, false)
		tab.Wait(`document.querySelector("dialog.notes")?.open`)
		if exported := strings.HasPrefix(at, "file:"); tab.Eval(`String(document.querySelectorAll(".notes li button").length)`, false) == "0" != exported {
			t.Errorf("%s: notes can be removed: %v", at, !exported)
		}
	}

	tab.Show("about:blank")
	tab.Show(url + "/#tab=timeline")
	ready(t, tab)
	press(t, tab, "b")
	tab.Wait(`document.querySelector(".notes li button") !== null`)
	tab.Eval(`document.querySelector(".notes li button").click()`, false)
	tab.Wait(`document.querySelector(".notes li").innerText === "There are no notes."`)
	if left, err := readNotes(run); err != nil || len(left) != 0 {
		t.Errorf("%v, %v are left", left, err)
	}
}

// TestNotesLocal: notes on files that are no run stay in the browser, which the page says.
func TestNotesLocal(t *testing.T) {
	tab, _ := openTimeline(t, "balanced", "&step=2")
	saves(t, tab, "mine")
	if said := tab.Eval(`document.querySelector(".notes-said").innerText`, false); !strings.Contains(said, "not a stored run") {
		t.Errorf("it says %q", said)
	}
	tab.Eval(`location.reload()`, false)
	tab.Wait(`document.documentElement.dataset.ready === "1" && document.querySelector("dialog.notes") === null`)
	press(t, tab, "b")
	tab.Wait(`document.querySelector(".notes li a")?.innerText === "mine"`)
}

// TestNotesGuard: pages of other sites change no notes, and neither do requests with a foreign host name, unknown
// bodies, other methods, or without the key.
func TestNotesGuard(t *testing.T) {
	c, run := noted(t)
	url := serve(t, Options{Given: []*Capture{c, captureOf(t, "balanced", "files")}})
	keyed := serve(t, Options{Given: []*Capture{c}, APIKey: "secret"})
	const good = `{"add": {"text": "x", "address": "#tab=summary"}}`
	for name, of := range map[string]struct {
		method, url, body string
		header            map[string]string
		status            int
	}{
		"cross-site":     {"POST", url + "/api/notes/change", good, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"foreign origin": {"POST", url + "/api/notes/change", good, map[string]string{"Origin": "https://example.com"}, 403},
		"foreign host":   {"POST", url + "/api/notes/change", good, map[string]string{"Host": "example.com"}, 403},
		"no key":         {"POST", keyed + "/api/notes/change", good, nil, 401},
		"a form":         {"POST", url + "/api/notes/change", good, map[string]string{"Content-Type": "text/plain"}, 400},
		"GET":            {"GET", url + "/api/notes/change", "", nil, 405},
		"no address":     {"POST", url + "/api/notes/change", `{"add": {"text": "x", "address": "https://example.com"}}`, nil, 400},
		"no text":        {"POST", url + "/api/notes/change", `{"add": {"text": " ", "address": "#"}}`, nil, 400},
		"no run":         {"POST", url + "/api/notes/change?c=files", good, nil, 409},
	} {
		r, err := http.NewRequest(of.method, of.url, strings.NewReader(of.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		for k, v := range of.header {
			r.Header.Set(k, v)
		}
		r.Host = of.header["Host"]
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != of.status {
			t.Errorf("%s: %s, want %d", name, got.Status, of.status)
		}
	}
	if _, err := os.Stat(run.Path(runs.NotesFile)); !os.IsNotExist(err) {
		t.Errorf("notes were written: %v", err)
	}
}
