package view

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
)

// openSummary shows the summary of a capture, as openTimeline does its timeline.
func openSummary(t *testing.T, capture string) *browsertest.Tab {
	t.Helper()
	tab, url := openTimeline(t, capture, "")
	tab.Show(url + "/#")
	tab.Wait(`document.querySelector(".finding") !== null`)
	ready(t, tab)
	return tab
}

// selection is what the timeline shows of its selection: in shares of the width, and whether its row is seen.
type selection struct {
	Span, Rank, Name string
	Left, Width      float64
	Seen             bool
}

// selected returns the selection of the timeline, as the user sees it.
func selected(t *testing.T, tab *browsertest.Tab) (s selection) {
	t.Helper()
	tab.Wait(`document.querySelector(".tl-panel dd") !== null && window.__stats.idle()`)
	s.Span, s.Rank = param(tab, "sel"), param(tab, "rank")
	s.Name = tab.Eval(`document.querySelector(".tl-panel h2").title`, false)
	got := tab.Eval(`JSON.stringify(window.__stats.box())`, false)
	if err := json.Unmarshal([]byte(got), &s); err != nil {
		t.Fatal(err, got)
	}
	return s
}

// TestEvidence: Show in the timeline selects the span that shows a finding: its row is unfolded and in view, and the
// span takes a third of the width. The map has the measure of the finding, and its outline.
func TestEvidence(t *testing.T) {
	data := os.Getenv("STEPSCOPE_DATA")
	for _, c := range []struct {
		capture, rank, name, measure string
		outlined                     int
	}{
		{"compute_skew", "2", "nvjet_sm90_tst_64x16_64x16_4x1_v_bz_TNT", "own work", 1},
		{"g_device_r1", "1", "indexSelectSmallIndex", "own work", 1},
		{"sglang_stops", "1", "sglang::unified_attention_with_output", "host gap", 1},
		{"traces/sglang17_hog", "1", "nvjet_sm90_tst_64x16_64x16_4x1_v_bz_TNT", "own work", 1},
		{"traces/sglang17_sleep", "1", "step[DECODE bs=16]", "host gap", 1},
		{"traces/sglang17_dp_sleep", "2", "step[DECODE bs=29]", "host gap", 1},
	} {
		t.Run(filepath.Base(c.capture), func(t *testing.T) {
			if strings.Contains(c.capture, "/") {
				if data == "" {
					t.Skip("no STEPSCOPE_DATA")
				}
				c.capture = filepath.Join(data, c.capture)
			}
			tab := openSummary(t, c.capture)
			tab.Eval(`[...document.querySelectorAll(".finding .go a")][0].click()`, false)
			tab.Wait(`location.hash.startsWith("#tab=timeline")`)
			s := selected(t, tab)
			if s.Rank != c.rank && c.rank != "" || !strings.Contains(s.Name, c.name) {
				t.Errorf("rank %s, %s is selected", s.Rank, s.Name)
			}
			if s.Width < 0.3 || s.Width > 0.36 || s.Left < 0.2 || s.Left > 0.45 || !s.Seen {
				t.Errorf("the selection is at %+v", s)
			}
			if got := tab.Eval(`document.querySelector(".tl-heat [aria-pressed=true]").textContent`, false); got != c.measure {
				t.Errorf("the map shows %s", got)
			}
			if got := tab.Eval(`String(document.querySelectorAll(".tl-found").length)`, false); got != strconv.Itoa(c.outlined) {
				t.Errorf("%s boxes mark the finding", got)
			}
		})
	}
}

// TestEvidenceLinks: every link of a finding leads to a span whose row is in view, or to a range of time.
func TestEvidenceLinks(t *testing.T) {
	for _, capture := range []string{"compute_skew", "sglang_stops"} {
		tab := openSummary(t, capture)
		links := tab.Told(`[...document.querySelectorAll('.finding a[href*="tab=timeline"]')].map((a) => a.href)`)
		if len(links) == 0 {
			t.Errorf("%s: no links", capture)
		}
		spans := 0
		for _, link := range links {
			tab.Show("about:blank")
			tab.Wait(`location.href === "about:blank"`)
			tab.Show(link)
			ready(t, tab)
			if param(tab, "sel") == "" {
				if param(tab, "r0") == "" || tab.Eval(`document.querySelector(".tl-panel").innerText`, false) == "" {
					t.Errorf("%s: %s selects nothing", capture, link)
				}
				continue
			}
			spans++
			if s := selected(t, tab); !s.Seen || s.Width < 0.3 || s.Width > 0.36 {
				t.Errorf("%s: %s selects %+v", capture, link, s)
			}
		}
		if spans == 0 {
			t.Errorf("%s: of %d links none leads to a span", capture, len(links))
		}
	}
}

// TestColoursExplained: below the bars a sentence stands for each colour above a tenth, and the link to a finding
// selects it. The map of the summary opens on the measure of the first finding, and outlines this one alone.
func TestColoursExplained(t *testing.T) {
	tab := openSummary(t, "compute_skew")
	var o report.Overview
	if err := json.Unmarshal([]byte(tab.Eval(`(async () => JSON.stringify(await (await fetch("api/summary")).json()))()`, false)), &o); err != nil {
		t.Fatal(err)
	}
	want := 0
	for i, ns := range o.Times[0].Parts {
		if float64(ns) > 0.1*float64(o.Times[0].Total) {
			want++
			if !strings.Contains(tab.Eval(`document.querySelector(".explained").innerText`, false), o.Parts[i]) {
				t.Errorf("%s is not explained", o.Parts[i])
			}
		}
	}
	if got := tab.Eval(`String(document.querySelectorAll(".explained li").length)`, false); got != strconv.Itoa(want) || want == 0 {
		t.Errorf("%s sentences for %d colours", got, want)
	}
	if got := tab.Eval(`document.querySelector("[data-measure][aria-pressed=true]").dataset.measure`, false); got != "work" {
		t.Errorf("the map opens on %s", got)
	}
	tab.Eval(`document.querySelector(".explained a").click()`, false)
	tab.Wait(`document.querySelector(".finding.selected") !== null`)
	if got, title := param(tab, "sel"), o.Findings[1].Title; got != "1" || !strings.Contains(title, "host-bound") {
		t.Errorf("finding %s is selected; 1 is %s", got, title)
	}
	if got := tab.Eval(`document.querySelector("[data-measure][aria-pressed=true]").dataset.measure`, false); got != "host" {
		t.Errorf("with a finding about hosts the map shows %s", got)
	}
}
