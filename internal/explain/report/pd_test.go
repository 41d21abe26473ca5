package report

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// apart is a system of one prefill and two decode servers whose names are of no good will.
func apart() *result.PD {
	server := result.PDServer{Name: "a<b>\x1b[31m|c", Ranks: 1, Steps: 12, WindowNS: 2e9, Stepping: 0.5, Busy: 0.25, TokensPerS: 1234, Period: 5e6, Batch: 3.5, BatchMax: 7,
		Queue: result.Queue{Samples: 9, Running: 2.5, MostRunning: 64, Waiting: 1.25, Prealloc: 3, Retracted: 1, Bootstrap: 2, KVUsage: 0.125}}
	return &result.PD{
		Prefill:  result.PDSide{Servers: []result.PDServer{server}, Steps: 12, Stepping: 0.5, Busy: 0.25, Queue: server.Queue},
		Decode:   result.PDSide{Servers: []result.PDServer{server, {Name: "idle"}}, Steps: 24, Stepping: math.NaN(), TokensPerS: math.Inf(1), Queue: server.Queue},
		Transfer: result.Transfers{Seen: 3, Whole: 1, Copies: 1, By: "rooms", Bytes: 1e6, GBs: 2, Took: result.Spread{N: 1, Median: 1e6, P99: 2e6, Max: 3e6}, Clocks: fact.Name("agree")},
		Limit:    result.LimitDecode,
		Findings: []result.Finding{{Kind: result.Limits, Severity: "medium", FirstStep: -1, LastStep: -1, Title: fact.Name("the decode servers limit <it>"), Evidence: []result.Evidence{{Text: fact.Name("4.0 wait")}}}},
		Notes:    []result.Note{{Severity: "info", Text: fact.Name("a note"), Count: 1}},
	}
}

// TestPD: the three renderings have the same figures, and no name does harm.
func TestPD(t *testing.T) {
	var text, markdown, page bytes.Buffer
	for _, err := range []error{PDText(&text, apart(), Options{Width: 80}), PDMarkdown(&markdown, apart(), Options{}), PDHTML(&page, apart(), []Page{{"x<y>", "all-x.html"}})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(text.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for name, out := range map[string]string{"text": text.String(), "markdown": markdown.String(), "page": page.String()} {
		for _, want := range []string{"decode servers limit", "4.0 wait", "50.0 %", "25.0 %", "12.5 %", "1.00 MB", "2.00 GB/s", "all 2", "a note", "1 copy"} {
			if !strings.Contains(out, want) {
				t.Errorf("the %s lacks %q:\n%.3000s", name, want, out)
			}
		}
		if strings.Contains(out, "\x1b") || name != "page" && (strings.Contains(out, "NaN") || strings.Contains(out, "Inf")) { // scripts know NaN
			t.Errorf("the %s has control characters or no numbers", name)
		}
	}
	for _, bad := range []string{"a<b>", "x<y>", "<it>"} {
		if strings.Contains(page.String(), bad) {
			t.Errorf("the page has %q as it is", bad)
		}
	}
	if !strings.Contains(page.String(), `<a href="all-x.html">x&lt;y&gt;</a>`) {
		t.Error("the page does not lead to the servers' own")
	}
	if p := Plain(apart()); p.Decode.Stepping != 0 || p.Decode.TokensPerS != 0 || p.Prefill.Busy != 0.25 {
		t.Errorf("%+v", p.Decode)
	}
}
