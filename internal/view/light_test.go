package view

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
)

// lit returns the speed of light of a capture as if its first kernel on each rank were a module. The prefill steps could
// not be told.
func lit(c *Capture) result.Light {
	l := result.Light{Model: "qwen3", Device: "H200 SXM"}
	for _, r := range c.Aligned.Ranks {
		o := &r.Ops[0]
		l.Steps = append(l.Steps,
			result.LightStep{Rank: r.Label, Kind: "decode", Steps: 10, Told: 10, Total: 100_000, Floor: 20_000, Start: 10_000, Slow: 5_000, Wait: 15_000, Idle: 50_000},
			result.LightStep{Rank: r.Label, Kind: "prefill", Steps: 3, Total: 90_000, Unpriced: 90_000, Why: fact.Name("the step has 23 layers, the model 24")})
		l.Modules = append(l.Modules, result.LightModule{
			Rank: r.Label, Kind: "decode", Module: "gate_up_proj", Kernel: c.Aligned.Names.List[o.Name], Calls: 10, Time: 35_000, Floor: 20_000, Attain: 30_000, OfAttainable: 0.9,
			At: result.Place{Rank: r.Index, Start: r.Wall(o.Start) - c.Aligned.Origin, End: r.Wall(o.End) - c.Aligned.Origin},
		}, result.LightModule{Rank: r.Label, Kind: "decode", Module: "o_proj", Kernel: "k", Calls: 10, Time: 10_000, Why: fact.Name("layers run different kernels")},
			result.LightModule{Rank: r.Label, Kind: "decode", Module: "post-attention norm", Kernel: "n", Calls: 10, Time: 30_000, Floor: 10_000, Attain: 12_000, AtLeast: true, Experts: true, Low: 1_230, High: 20_000})
	}
	return l
}

// TestLight checks that a module leads to its longest kernel in the timeline, that a wrong configuration gives the reason
// in place of the pictures, and that there is no such view without a configuration.
func TestLight(t *testing.T) {
	c, wrong, none := captureOf(t, "compute_skew", "0"), captureOf(t, "balanced", "wrong"), captureOf(t, "stacks", "none")
	c.Report.Light = lit(c)
	wrong.Report.Light = result.Light{Model: "qwen3", Why: fact.Name("the peaks of A are not known")}
	url := serve(t, Options{Given: []*Capture{c, wrong, none}})
	tab := browsertest.Open(t, url+"#tab=light&kind=decode&rank=2")
	tab.Size(1280, 900)
	ready(t, tab)
	if got := tab.Eval(`[...document.querySelectorAll(".light tbody th")].map((e) => e.innerText.trim().split("\n")[0]).join()`, false); !strings.HasPrefix(got, "TP02,gate_up_proj") || strings.Count(got, ",") != 3 {
		t.Errorf("the bars are of %s", got)
	}
	name := c.Aligned.Names.List[c.Aligned.Ranks[2].Ops[0].Name]
	tab.Eval(`[...document.querySelectorAll(".light tbody a")].find((a) => a.textContent === "gate_up_proj").click()`, false)
	tab.Wait(`location.hash.includes("tab=timeline") && document.querySelector(".tl-panel h3, .tl-panel h2") !== null`)
	ready(t, tab)
	if got := tab.Eval(`document.querySelector(".tl-panel").innerText`, false); param(tab, "rank") != "2" || !strings.Contains(got, name) {
		t.Errorf("the module of rank %s leads to %q, want %s", param(tab, "rank"), got, name)
	}
	show(t, tab, url+"#tab=light&kind=prefill")
	if got := tab.Eval(`document.querySelector(".light").innerText + document.querySelectorAll(".light .bar").length`, false); !strings.Contains(got, "prefill steps cannot be assigned to modules: the step has 23 layers") || !strings.HasSuffix(got, "0") {
		t.Errorf("prefill: %s", got)
	}
	show(t, tab, url+"#tab=light&c=wrong")
	if got := tab.Eval(`document.querySelector(".light").innerText + document.querySelectorAll(".light .bar").length`, false); got != "Cannot be told: the peaks of A are not known.0" {
		t.Errorf("a wrong configuration: %s", got)
	}
	show(t, tab, url+"#tab=light&c=none")
	if got := tab.Eval(`[...document.querySelectorAll("nav a")].map((a) => a.textContent).join()`, false); got != "Summary,Timeline,Kernels,What if,Live,Query" {
		t.Errorf("without a configuration, the tabs are %s", got)
	}
	page, _ := exported(t, c, 2_000_000)
	show(t, tab, page+"#tab=light&rank=1")
	if got := tab.Eval(`[...document.querySelectorAll(".light figcaption")].at(-1).textContent + " " + document.querySelectorAll(".light .bar").length`, false); got != "Modules on TP01 4" {
		t.Errorf("an exported page has %s", got)
	}
}
