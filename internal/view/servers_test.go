package view

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
	"github.com/stepscope/stepscope/internal/testing/loadtest"
	"github.com/stepscope/stepscope/trace"
)

// TestServers: a run of several servers opens with the first; the others can be chosen, are read only then, and can be
// compared; the steps of a load lead to the server that ran them.
func TestServers(t *testing.T) {
	root := t.TempDir()
	run := loadtest.Keep(t, root, loadtest.Sample(), true)
	servers := []Beside{}
	for _, name := range []string{"prefill-0", "decode-0"} {
		servers = append(servers, Beside{ID: run.ID() + ":" + name, Title: name, Name: name})
	}
	opened := map[string]int{}
	open := func(_ context.Context, id string) (*Capture, error) {
		if id == run.ID() {
			id = servers[0].ID
		}
		opened[id]++
		var c *Capture
		switch id {
		case servers[0].ID:
			c = captureOf(t, "graph_work", id)
		case servers[1].ID:
			c = captureOf(t, "balanced", id)
		default:
			return nil, runs.ErrNotFound
		}
		c.Servers, c.Load = servers, run.ID()
		c.Traces, c.Report.Findings = []*trace.Trace{loadtest.Trace()}, []result.Finding{} // the steps of the load
		return c, nil
	}
	url := serve(t, Options{Root: root, Run: run, Say: &progress.Console{W: io.Discard}, Open: open})
	tab := browsertest.Open(t, url+"/#tab=summary&c="+run.ID())
	tab.Size(1280, 900)
	has(t, tab, "c", servers[0].ID)
	if got := tab.Eval(`[...document.querySelector(".capture").options].map((o) => o.textContent).join() + " " + document.querySelector(".capture").value`, false); got != "prefill-0,decode-0 "+servers[0].ID {
		t.Errorf("choices: %q", got)
	}
	if opened[servers[1].ID] > 0 {
		t.Error("the second server was read before it was chosen")
	}
	choose := func(of, id string) {
		t.Helper()
		tab.Eval(`{const s = document.querySelector("`+of+`"); s.value = "`+id+`"; s.dispatchEvent(new Event("change"))}`, false)
	}
	choose(".capture", servers[1].ID)
	has(t, tab, "c", servers[1].ID)
	tab.Wait(`document.querySelector(".summary .facts")?.textContent.includes("4 ranks") === true`)
	tab.Eval(`location.hash += "&tab=kernels"`, false)
	tab.Wait(`[...document.querySelectorAll("option")].some((o) => o.textContent === "against prefill-0")`)
	tab.Show(url + "/#tab=kernels&c=" + servers[1].ID + "&vs=" + servers[0].ID)
	tab.Wait(`document.querySelector(".kernels th:nth-child(3)")?.textContent === "other"`)
	ready(t, tab)

	tab.Show(url + "/#tab=bench&req=1")
	tab.Wait(`document.querySelectorAll(".panel a").length > 0`)
	ready(t, tab)
	links := tab.Told(`[...document.querySelectorAll(".panel a")].map((a) => new URLSearchParams(a.getAttribute("href").slice(1)).get("c"))`)
	for _, link := range links {
		if link != servers[0].ID && link != servers[1].ID {
			t.Errorf("steps lead to %q", link)
		}
	}
	if lanes := tab.Told(`(async () => (await (await fetch("api/load/steps?run=` + run.ID() + `")).json()).lanes.map((l) => l.server + " " + l.capture))()`); strings.Join(lanes, ",") != "prefill-0 "+servers[0].ID+",decode-0 "+servers[1].ID {
		t.Errorf("the lanes are %q", lanes)
	}
	if opened[servers[0].ID] > 2 || opened[servers[1].ID] > 1 {
		t.Errorf("read %v", opened)
	}
}
