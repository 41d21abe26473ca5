package view

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/browsertest"
	"github.com/stepscope/stepscope/trace"
)

// TestQuery: SQL over the spans of a capture runs in the browser; a row leads to its span; what is wrong is said; the
// query stands in the address.
func TestQuery(t *testing.T) {
	url := serve(t, Options{Given: []*Capture{captureOf(t, "compute_skew", "0")}})
	tab := browsertest.Open(t, url+"/#tab=query")
	tab.Size(1280, 900)
	ready(t, tab)
	if n := tab.Eval(`String(performance.getEntriesByType("resource").filter((r) => /sqlite|query\.js/.test(r.name)).length)`, false); n != "0" {
		t.Errorf("%s files of SQLite are loaded before there is a query", n)
	}
	run := func(sql string) string {
		tab.Eval(fmt.Sprintf(`document.querySelector("textarea").value = %q`, sql), false)
		tab.Eval(`document.querySelector("textarea").dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", ctrlKey: true, bubbles: true, cancelable: true}))`, false)
		tab.Wait(`document.querySelector(".query-tools button:last-of-type").disabled`)
		ready(t, tab)
		return tab.Eval(`document.querySelector(".query-rows").innerText`, false)
	}
	if got := run("SELECT rank, count(*) AS steps FROM steps JOIN ranks ON ranks.id = rank_id GROUP BY rank"); !strings.Contains(got, "TP03\t14") || strings.Count(got, "\t14") != 4 {
		t.Errorf("steps by rank: %q; %s", got, tab.Eval(`document.querySelector(".query-said").innerText`, false))
	}
	if sql := param(tab, "sql"); !strings.HasPrefix(sql, "SELECT rank, count") {
		t.Errorf("the address has the query %q", sql)
	}
	got := run("SELECT rank, name, start_ns, dur_ns FROM spans WHERE class = 'gemm' AND rank = 'TP02' ORDER BY dur_ns DESC LIMIT 3")
	if strings.Count(got, "TP02") != 3 {
		t.Fatalf("the longest kernels: %q", got)
	}
	tab.Eval(`document.querySelector(".query-rows button").click()`, false)
	tab.Wait(`location.hash.includes("tab=timeline")`)
	ready(t, tab)
	tab.Wait(`!document.querySelector(".tl-panel").hidden`)
	name := strings.Split(strings.Split(got, "\n")[1], "\t")[2]
	if text := panelText(tab); param(tab, "rank") != "2" || !strings.Contains(text, name) {
		t.Errorf("the row %q leads to rank %s, %s", name, param(tab, "rank"), text)
	}
	tab.Eval(`history.back()`, false)
	tab.Wait(`location.hash.includes("tab=query") && document.querySelector(".query-rows table") !== null`)
	ready(t, tab)
	run("SELECT colour FROM spans")
	if said := tab.Eval(`document.querySelector(".query-said").innerText`, false); said != "no such column: colour" {
		t.Errorf("of a wrong query it says %q", said)
	}
	if misfits, barriers := tab.Misfits(), tab.Barriers(); len(misfits)+len(barriers) > 0 {
		t.Errorf("misfits %q, barriers %q", misfits, barriers)
	}
}

// TestQueryStop: a query that does not end is stopped, and the next one runs.
func TestQueryStop(t *testing.T) {
	url := serve(t, Options{Given: []*Capture{captureOf(t, "balanced", "0")}})
	tab := browsertest.Open(t, url+"/#tab=query&sql="+"WITH+RECURSIVE+n(x)+AS+(SELECT+1+UNION+ALL+SELECT+x%2B1+FROM+n)+SELECT+count(*)+FROM+n")
	tab.Wait(`document.querySelector(".query-tools button:last-of-type")?.disabled === false`)
	tab.Eval(`document.querySelector(".query-tools button:last-of-type").click()`, false)
	ready(t, tab)
	if said := tab.Eval(`document.querySelector(".query-said").innerText`, false); said != "stopped" {
		t.Errorf("it says %q", said)
	}
	tab.Eval(`document.querySelector("textarea").value = "SELECT 9007199254740993 AS n"`, false)
	tab.Eval(`document.querySelector(".query-tools button").click()`, false)
	tab.Wait(`document.querySelector(".query-rows").innerText.includes("9007199254740993")`)
}

// TestQueryLimits: a database that a page cannot hold is refused before it is made, and so is that of a capture without
// spans.
func TestQueryLimits(t *testing.T) {
	large, none := captureOf(t, "balanced", "large"), captureOf(t, "balanced", "none")
	large.Traces = []*trace.Trace{{Spans: make([]trace.Span, mostDatabase/spanBytes+1)}}
	none.Traces = nil
	url := serve(t, Options{Given: []*Capture{large, none}})
	for id, want := range map[string]string{"large": "write them with stepscope trace export", "none": "no spans to query"} {
		r, err := http.Get(url + "/api/database?c=" + id)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode == http.StatusOK || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s, %s", id, r.Status, text)
		}
	}
}

// TestQueryFiles: SQLite is that of the package sql.js 1.17.0 (dist/sql-wasm-browser). Its policy is that of the worker
// alone.
func TestQueryFiles(t *testing.T) {
	for name, sum := range map[string]string{
		"ui/sqlite/sqlite.js.gz":   "b9104418b49747fc51956f3be0dffe1208af090c066bb5a08563c33237b09562",
		"ui/sqlite/sqlite.wasm.gz": "6918fd54c1192011b85af0365a819411285bb5579b9ae6a7308778a1750a2765",
	} {
		if got := fmt.Sprintf("%x", sha256.Sum256(inflated(file(name)))); got != sum {
			t.Errorf("%s: %s, want %s", name, got, sum)
		}
	}
	if n := len(file("ui/sqlite/sqlite.js.gz")) + len(file("ui/sqlite/sqlite.wasm.gz")); n > 500_000 {
		t.Errorf("SQLite takes %d bytes", n)
	}
	url := serve(t, Options{Given: []*Capture{captureOf(t, "balanced", "0")}})
	for path, wasm := range map[string]bool{"/": false, "/app.js": false, "/query.js": true} {
		r, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if got := strings.Contains(r.Header.Get("Content-Security-Policy"), "wasm"); got != wasm {
			t.Errorf("%s may compile WebAssembly: %v", path, got)
		}
	}
}
