package report

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// lit returns a report with the speed of light of two ranks. The prefill steps could not be told.
func lit() *result.Report {
	r := stepped(2, 24, 1, 7)
	r.Light = result.Light{Model: "qwen3", Device: "H200 SXM", Layout: "TP 2", Memory: 4.8e12, BF16: 989e12, Source: "data sheet", Sure: "high"}
	for _, rank := range r.Source.Ranks {
		r.Light.Steps = append(r.Light.Steps, result.LightStep{
			Rank: rank, Kind: "decode", Steps: 20, Told: 20, Tokens: 160, Rows: 160, Total: 120 * ms, Least: 20 * ms,
			Floor: 20 * ms, Start: 15 * ms, Slow: 9 * ms, Unpriced: 4 * ms, Transfer: 6 * ms, Wait: 12 * ms, Copy: ms, Idle: 53 * ms,
		}, result.LightStep{
			Rank: rank, Kind: "prefill", Steps: 4, Total: 60 * ms, Unpriced: 40 * ms, Wait: 5 * ms, Idle: 15 * ms,
			Why: fact.Of("light_layers", "found", 23, "model", 24),
		})
		r.Light.Modules = append(r.Light.Modules,
			result.LightModule{Rank: rank, Kind: "decode", Module: "gate_up_proj", Kernel: "nvjet_tst_128x8_64x12_2x1_v_bz_TNT", Calls: 480, Median: 29_000, Time: 14 * ms, Floor: 10 * ms, Attain: 13 * ms, Bytes: 100e6, OfPeak: 0.73, OfAttainable: 0.96, Grid: true,
				At: result.Place{Rank: 0, Start: 40 * ms, End: 40*ms + 36_000}},
			result.LightModule{Rank: rank, Kind: "decode", Module: "attention", Kernel: "flash::fwd_kernel", Calls: 480, Median: 9_000, Time: 5 * ms, Floor: ms, Attain: 2 * ms, AtLeast: true},
			result.LightModule{Rank: rank, Kind: "decode", Module: "o_proj", Kernel: "nvjet_tst_64x8", Calls: 480, Median: 8_000, Time: 4 * ms, Why: fact.Of("light_mixed")},
		)
	}
	return r
}

// TestLightPicture checks that the parts of bars and of modules add up, and that unknown figures have a reason.
func TestLightPicture(t *testing.T) {
	r := Plain(lit())
	p := NewLightPicture(r, math.MaxInt)
	if p.None || len(p.Kinds) != 2 || p.Left != 0 {
		t.Fatalf("%+v", p)
	}
	decode, prefill := p.Kinds[0], p.Kinds[1]
	if len(decode.Bars) != 2 || len(decode.Ranks) != 2 || decode.Why != "" {
		t.Errorf("decode: %+v", decode)
	}
	for _, b := range decode.Bars {
		sum := int64(0)
		for _, ns := range b.Parts {
			sum += ns
		}
		if len(b.Parts) != len(p.Parts) || sum != b.Total {
			t.Errorf("%s: the parts add up to %d of %d", b.Rank, sum, b.Total)
		}
	}
	if m := decode.Ranks[1].Modules; decode.Ranks[1].Index != 1 || m[0].Module != "gate_up_proj" || m[0].Start != 40*ms || m[1].Least != "≥ 50.0 µs" || !strings.Contains(m[2].Why, "different kernels") {
		t.Errorf("modules: %+v", decode.Ranks[1])
	}
	if len(prefill.Bars) > 0 || len(prefill.Ranks) > 0 || !strings.Contains(prefill.Why, "23 layers") {
		t.Errorf("prefill: %+v", prefill)
	}
	if few := NewLightPicture(r, 3); len(few.Kinds[0].Ranks) != 1 || few.Left != 1 || len(few.Kinds[0].Bars) != 2 {
		t.Errorf("of three modules: %+v", few)
	}
	if none := NewLightPicture(Plain(straggler()), 3); none != nil {
		t.Errorf("without a configuration: %+v", none)
	}
}

// TestLightPage checks the bars of the page. A wrong configuration gives the reason in place of all of them.
func TestLightPage(t *testing.T) {
	var seen struct{ Steps, Modules, Bars, Pick string }
	const probe = `
  const parts = (bar) => [...bar.children].map((i) => i.className + " " + parseFloat(i.style.width).toFixed(1)).join(", ");
  const of = (id) => document.getElementById(id).querySelectorAll(".bar");
  const pick = document.getElementById("light-of");
  pick.value = "1";
  pick.dispatchEvent(new Event("change"));
  return {Steps: document.getElementById("light-steps").innerText, Bars: parts(of("light-steps")[0]), Modules: [...of("light-bars")].map(parts).join("; "), Pick: pick.selectedOptions[0].text};`
	browse(t, pageOf(t, lit()), probe, &seen)
	if want := "s-floor 16.7, s-start 12.5, s-slow 7.5, s-other 3.3, s-transfer 5.0, s-wait 10.0, s-copy 0.8, s-idle 44.2"; seen.Bars != want {
		t.Errorf("the bar of a rank: %s, want %s", seen.Bars, want)
	}
	if want := "s-floor 71.4, s-start 21.4, s-slow 7.1; s-floor 20.0, s-start 20.0, s-slow 60.0; s-other 100.0"; seen.Modules != want || seen.Pick != "decode, TP01" {
		t.Errorf("the modules of %s: %s, want %s", seen.Pick, seen.Modules, want)
	}
	for _, want := range []string{"6.00\u00a0ms", "16.7 %", "idle 2.65 ms (44.2 %)", "prefill steps cannot be assigned to modules: the step has 23 layers, the model 24."} {
		if !strings.Contains(seen.Steps, want) {
			t.Errorf("the picture of steps lacks %q: %s", want, seen.Steps)
		}
	}
	untried := lit()
	untried.Light.Untried = "MLA, fp8 weights"
	for r, want := range map[*result.Report]bool{untried: true, lit(): false} {
		if strings.Contains(lightOf(r), "Not tried on a recorded window: MLA, fp8 weights") != want {
			t.Errorf("not tried: %v: %s", want, lightOf(r))
		}
	}
	for name, steps := range map[string]bool{"a module contradicts it": true, "the device is unknown": false} {
		r := lit()
		r.Light.Why = fact.Of("light_device", "device", "the device")
		if !steps {
			r.Light.Steps, r.Light.Modules = nil, nil
		}
		page := pageOf(t, r)
		if n := strings.Count(page, "Cannot be told: the peaks of the device are not known."); n != 1 || strings.Contains(page, `id="light-steps"`) || !strings.Contains(page, `<section id="light"`) {
			t.Errorf("%s: the reason is shown %d times", name, n)
		}
	}
}

// TestLightManyRanks checks that a picture of many ranks has the bars of those that wait least.
func TestLightManyRanks(t *testing.T) {
	r := lit()
	of := r.Light.Steps[0]
	r.Light.Steps, r.Light.Modules = nil, nil
	for i := range 40 {
		of.Rank, of.Wait, of.Idle = "TP"+strconv.Itoa(i), int64(40-i)*ms, int64(24+i)*ms+ms
		r.Light.Steps = append(r.Light.Steps, of)
	}
	var seen struct {
		Ranks []string
		Text  string
	}
	browse(t, pageOf(t, r), `const of = document.getElementById("light-steps"); return {Ranks: [...of.querySelectorAll("tbody th")].map((th) => th.textContent), Text: of.innerText};`, &seen)
	if len(seen.Ranks) != 16 || seen.Ranks[0] != "TP24" || !strings.Contains(seen.Text, "The 16 of 40 ranks that wait least") {
		t.Errorf("%q: %s", seen.Ranks, seen.Text)
	}
}
