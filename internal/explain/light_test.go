package explain_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/light"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/trace"
)

// Configurations of the models in the recorded windows.
const (
	denseModel  = `{"model_type":"qwen3","hidden_size":4096,"intermediate_size":12288,"num_hidden_layers":24,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"vocab_size":4224,"torch_dtype":"bfloat16"}`
	moeModel    = `{"model_type":"qwen3_moe","hidden_size":2048,"intermediate_size":6144,"moe_intermediate_size":768,"num_hidden_layers":16,"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"num_experts":64,"num_experts_per_tok":8,"vocab_size":4224,"torch_dtype":"bfloat16"}`
	stacksModel = `{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":2,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128000,"torch_dtype":"bfloat16"}` // each rank has a whole head of 32,000
	llama8B     = `{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":24,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":4224,"torch_dtype":"bfloat16"}`
)

// lit analyses a recorded window with a model's configuration.
func lit(t *testing.T, set, config string) (*explain.Window, *result.Report) {
	t.Helper()
	data := os.Getenv("STEPSCOPE_DATA")
	if data == "" {
		t.Skip("STEPSCOPE_DATA is not set")
	}
	m, err := light.ReadModel([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	w := explain.Prepare(explaintest.ReadDir(t, filepath.Join(data, "traces", set)), nil)
	r, err := w.Analyze(explain.Options{Light: light.Options{Model: m}, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	return w, r
}

// TestLight checks the floors, rates and checks of recorded windows against figures that were computed from the kernels by
// hand. All parts of each step add up to its time.
func TestLight(t *testing.T) {
	type module struct {
		rank, kind string
		role       light.Role
		median     float64 // µs
		ofPeak     float64 // 0: not checked
		rate, most float64 // TB/s, with the expected number of experts and with all; 0: not checked
	}
	for _, c := range []struct {
		set, config string
		floor       map[string]float64 // µs of a step, by kind
		modules     []module
	}{
		{"sglang_plain", denseModel, map[string]float64{"decode": 985.7}, []module{
			{"TP00", "decode", light.GateUp, 28.69, 0.735, 0, 0}, {"TP01", "decode", light.GateUp, 27.26, 0.773, 0, 0}, {"TP00", "decode", light.Down, 15.01, 0.703, 0, 0}, {"TP01", "decode", light.Down, 14.91, 0.708, 0, 0},
			{"TP00", "decode", light.QKV, 9.38, 0.564, 0, 0}, {"TP01", "decode", light.QKV, 9.18, 0.576, 0, 0}, {"TP00", "decode", light.O, 7.36, 0.480, 0, 0}, {"TP01", "decode", light.O, 7.33, 0.483, 0, 0},
			{"TP00", "decode", light.Head, 7.74, 0.471, 0, 0}, {"TP01", "decode", light.Head, 7.65, 0.477, 0, 0}}},
		{"sglang_moe", moeModel, map[string]float64{"decode": 1020}, []module{
			{"TP00-DP00-EP00", "decode", light.ExpertsIn, 45.86, 0.81, 3.87, 4.39}, {"TP01-DP01-EP01", "decode", light.ExpertsIn, 48.78, 0.76, 3.64, 4.13},
			{"TP00-DP00-EP00", "decode", light.ExpertsOut, 28.24, 0, 3.14, 3.57}, {"TP01-DP01-EP01", "decode", light.ExpertsOut, 30.35, 0, 2.93, 3.32},
			{"TP00-DP00-EP00", "decode", light.QKV, 7.74, 0.567, 2.71, 0}, {"TP00-DP00-EP00", "decode", light.O, 7.22, 0, 2.335, 0}, // the weights alone: 2.324
			{"TP00-DP00-EP00", "decode", light.ExpertsSum, 30.5, 0, 0, 0}, {"TP01-DP01-EP01", "decode", light.ExpertsSum, 4.74, 0, 0, 0}}},
		{"stacks", stacksModel, nil, []module{ // the shapes that it recorded are not used
			{"TP00", "decode", light.GateUp, 20.64, 0.596, 0, 0}, {"TP00", "decode", light.Down, 10.58, 0.583, 0, 0}, {"TP00", "decode", light.QKV, 6.11, 0.435, 0, 0}, {"TP00", "decode", light.O, 5.68, 0.314, 0, 0},
			{"TP00", "decode", light.Head, 64.03, 0.857, 0, 0}, {"TP00", "prefill", light.GateUp, 601.6, 0.808, 0, 0}, {"TP00", "prefill", light.Down, 300.8, 0.809, 0, 0}, {"TP00", "prefill", light.QKV, 132.5, 0.787, 0, 0}}},
		{"vllm26_plain", denseModel, map[string]float64{"decode": 1412}, []module{{"TP00", "decode", light.GateUp, 36.93, 0.818, 0, 0}, {"TP00", "decode", light.Down, 20.03, 0.755, 0, 0}}},
	} {
		w, r := lit(t, c.set, c.config)
		if c.set == "sglang_moe" {
			reduceScatters(t, w)
		}
		seen := map[string]bool{}
		for _, s := range r.Light.Steps {
			if sum := s.Floor + s.Padding + s.Start + s.Slow + s.Unpriced + s.Transfer + s.Wait + s.Unknown + s.Copy + s.Idle; sum != s.Total || min(s.Floor, s.Start, s.Slow, s.Unpriced) < 0 {
				t.Errorf("%s %s %s: the parts add up to %d of %d: %+v", c.set, s.Rank, s.Kind, sum, s.Total, s)
			}
			if c.set == "sglang_plain" && s.Kind == "decode" { // 48 all-reduces of 4.4 µs, and an all-gather
				if us := float64(s.TransferStart) / float64(s.Steps) / 1e3; us < 195 || us > 220 || s.TransferFloor+s.TransferStart > s.Transfer {
					t.Errorf("%s: good collectives need %.1f µs to start, %+v", s.Rank, us, s)
				}
			}
			if want := c.floor[s.Kind]; want > 0 {
				seen[s.Kind] = true
				if got := float64(s.Least) / float64(s.Steps) / 1e3; s.Told != s.Steps || math.Abs(got-want) > 0.005*want {
					t.Errorf("%s %s %s: floor %.1f µs of %d told steps of %d, want %.1f", c.set, s.Rank, s.Kind, got, s.Told, s.Steps, want)
				}
			}
		}
		if len(seen) < len(c.floor) {
			t.Errorf("%s: kinds of steps: %v", c.set, seen)
		}
		for _, m := range r.Light.Modules {
			if length := m.At.End - m.At.Start; !m.At.Known() || r.Source.Ranks[m.At.Rank] != m.Rank || length < m.Median || m.At.Span == "" {
				t.Errorf("%s %s %s: the longest kernel is at %+v, the median is %d", c.set, m.Rank, m.Module, m.At, m.Median)
			}
		}
		for _, want := range c.modules {
			found := false
			for _, m := range r.Light.Modules {
				if m.Rank != want.rank || m.Kind != want.kind || m.Module != string(want.role) {
					continue
				}
				found = true
				if us := float64(m.Median) / 1e3; m.Why.Key != "" || math.Abs(us-want.median) > 0.005*want.median || want.ofPeak > 0 && math.Abs(m.OfPeak-want.ofPeak) > 0.005 {
					t.Errorf("%s %+v: %.2f µs, %.1f %% of the peak, %s", c.set, want, us, 100*m.OfPeak, m.Why)
				}
				rate, most := m.Bytes/float64(m.Median)/1e3, float64(m.High)/float64(m.Calls)/float64(m.Median)*r.Light.Memory/1e12
				if want.rate > 0 && math.Abs(rate-want.rate) > 0.005*want.rate || want.most > 0 && math.Abs(most-want.most) > 0.005*want.most {
					t.Errorf("%s %+v: %.3f TB/s, %.3f with all experts", c.set, want, rate, most)
				}
			}
			if !found {
				t.Errorf("%s: no %s", c.set, want.role)
			}
		}
	}
}

// reduceScatters checks the times of reduce-scatters in decode: rank 1 waits there for the slower sum of experts on rank 0.
func reduceScatters(t *testing.T, w *explain.Window) {
	for i, want := range []float64{5.4, 26.7} { // µs
		r := w.Aligned().Ranks[i]
		var times []float64
		for k := range r.Ops {
			o := &r.Ops[k]
			if op, _ := kernel.Collective(w.Aligned().Names.List[o.Name]); op == kernel.ReduceScatter && o.Step >= 0 && r.Steps[o.Step].Info.Kind == trace.Decode {
				times = append(times, float64(o.End-o.Start)/1e3)
			}
		}
		slices.Sort(times)
		if got := metric.Quantile(times, 0.5); math.Abs(got-want) > 0.05 {
			t.Errorf("sglang_moe %s: reduce-scatters take %.2f µs, want %v", r.Label, got, want)
		}
	}
}

// TestLightRefuses checks that wrong assumptions give a reason and no figure.
func TestLightRefuses(t *testing.T) {
	w, r := lit(t, "sglang_plain", denseModel)
	whole := func(set, config, reason string) {
		_, r := lit(t, set, config)
		for _, s := range r.Light.Steps {
			if s.Told > 0 || s.Why.Key != reason || s.Floor != 0 {
				t.Errorf("%s %s: %d told steps, %s", set, s.Rank, s.Told, s.Why)
			}
		}
	}
	whole("sglang_plain", moeModel, "light_order")
	whole("sglang_moe", denseModel, "light_order")
	module := func(name string, l *result.Light, role light.Role, reason string) {
		n := 0
		for _, m := range l.Modules {
			if m.Module == string(role) {
				if n++; m.Why.Key != reason || m.OfPeak != 0 || m.Floor != 0 {
					t.Errorf("%s, %s: %+v", name, role, m)
				}
			}
		}
		if n == 0 {
			t.Errorf("%s: no %s", name, role)
		}
	}
	_, other := lit(t, "sglang_plain", llama8B)
	module("another model", &other.Light, light.GateUp, "light_grid")
	m, _ := light.ReadModel([]byte(denseModel))
	d, _ := light.FindDevice("NVIDIA H200")
	h100, _ := light.FindDevice("NVIDIA H100 80GB HBM3")
	two := light.Layout{TP: 2, AttnTP: 2, EP: 1, MoETP: 2}
	slower, _ := light.Compare(w.Aligned(), r.Steps, light.Options{Model: m, Device: &h100}, two)
	module("another device", &slower, light.GateUp, "light_too_fast")
	single, _ := light.Compare(w.Aligned(), r.Steps, light.Options{Model: m, Device: &d}, light.Layout{TP: 1, AttnTP: 1, EP: 1, MoETP: 1})
	module("one rank", &single, light.GateUp, "light_too_fast")
	module("one rank", &single, light.O, "light_other")
	// The reason is also a finding, once for each check, and none is above it in severity.
	refused := func(name string, r *result.Report, ids ...string) {
		var got []string
		for _, f := range r.Findings {
			if strings.HasPrefix(f.ID, "data-light") {
				if got = append(got, f.ID); f.Severity != "info" || f.Kind != result.Data {
					t.Errorf("%s: %s: %s", name, f.ID, f.Severity)
				}
			}
		}
		if !slices.Equal(got, ids) {
			t.Errorf("%s: %v, want %v", name, got, ids)
		}
	}
	refused("the right one", r)
	refused("another model", other, "data-light-wrong")
	_, moe := lit(t, "sglang_plain", moeModel)
	refused("a model with experts", moe, "data-light-order")
	with := func(opt light.Options, ranks int) *result.Report {
		read := explaintest.ReadDir(t, filepath.Join(os.Getenv("STEPSCOPE_DATA"), "traces", "sglang_plain"))[:ranks]
		for _, tr := range read {
			tr.Source.World.Size = ranks
		}
		r, err := explain.Prepare(read, nil).Analyze(explain.Options{Light: opt, Quick: true})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	refused("another device", with(light.Options{Model: m, Device: &h100}, 2), "data-light-wrong")
	refused("one rank", with(light.Options{Model: m}, 1), "data-light-wrong")
	for name, l := range map[string]*result.Light{"another model": &other.Light, "another device": &slower, "one rank": &single} {
		if l.Why.Key != "light_wrong" {
			t.Errorf("%s: %s", name, l.Why)
		}
		for _, s := range l.Steps {
			if s.Least != 0 || s.Floor != 0 {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}

// TestLightExtraWork checks that steps with two more MLPs in each layer are not told, and get no slow gate_up_proj.
func TestLightExtraWork(t *testing.T) {
	_, r := lit(t, "graph_work", strings.NewReplacer(`"num_hidden_layers":2`, `"num_hidden_layers":6`, "128000", "64000").Replace(stacksModel))
	told := map[string]int{}
	if n := slices.IndexFunc(r.Findings, func(f result.Finding) bool { return f.ID == "data-light-order" }); n < 0 {
		t.Error("no finding about the steps that are not told")
	} else if f := &r.Findings[n]; f.Severity != "info" || f.Title.Get("rank") != "TP01" {
		t.Errorf("%+v", f)
	}
	for _, s := range r.Light.Steps {
		if s.Kind == "decode" {
			told[s.Rank] = s.Told
			if s.Told < s.Steps && s.Why.Key != "light_order" {
				t.Errorf("%s: %s", s.Rank, s.Why)
			}
		}
	}
	if told["TP00"] != 14 || told["TP01"] != 5 {
		t.Errorf("told steps: %v", told)
	}
	for _, m := range r.Light.Modules {
		if m.Kind == "decode" && m.Module == string(light.GateUp) && math.Abs(float64(m.Median)/33e3-1) > 0.02 {
			t.Errorf("%s: %d ns", m.Rank, m.Median)
		}
	}
}

// TestLightParts checks that the parts of the steps add up to the nanosecond in all recorded windows, also without the
// model's configuration.
func TestLightParts(t *testing.T) {
	data := os.Getenv("STEPSCOPE_DATA")
	if data == "" {
		t.Skip("STEPSCOPE_DATA is not set")
	}
	sets, err := os.ReadDir(filepath.Join(data, "traces"))
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		if !set.IsDir() {
			continue
		}
		r, err := explain.Prepare(explaintest.ReadDir(t, filepath.Join(data, "traces", set.Name())), nil).Analyze(explain.Options{Quick: true, Force: true})
		if err != nil {
			t.Errorf("%s: %v", set.Name(), err)
			continue
		}
		if len(r.Light.Steps) == 0 || r.Light.Why.Key != "light_no_model" {
			t.Errorf("%s: %d kinds of steps, %s", set.Name(), len(r.Light.Steps), r.Light.Why)
		}
		for _, s := range r.Light.Steps {
			i := &s.IdleBy
			idle := i.Host + i.Sync + i.Peers + i.Launch + i.Device + i.Profiler + i.Unknown + i.Between
			if sum := s.Unpriced + s.Transfer + s.Wait + s.Unknown + s.Copy + s.Idle; sum != s.Total || idle != s.Idle || s.Floor != 0 {
				t.Errorf("%s %s %s: the parts add up to %d of %d, idle time to %d of %d", set.Name(), s.Rank, s.Kind, sum, s.Total, idle, s.Idle)
			}
		}
	}
}

// TestLightChanges checks what to change in recorded windows. In sglang_moe, one rank adds up the experts by a slower
// kernel configuration; in vllm26_hog, the device of a rank holds the steps up, so that fused kernels gain.
func TestLightChanges(t *testing.T) {
	data := os.Getenv("STEPSCOPE_DATA")
	if data == "" {
		t.Skip("STEPSCOPE_DATA is not set")
	}
	for _, c := range []struct {
		set, config, change, module string
		time, now, last             float64 // µs of a step: by which kernels get shorter, that steps gain, and that they gain if hosts take no time
	}{
		{"sglang_moe", moeModel, result.ChangeElsewhere, string(light.ExpertsSum), 412, 0, 315},
		{"sglang_plain", denseModel, result.ChangeFusion, "all-reduce and norm", 124, 0, 129},
		{"vllm26_hog", denseModel, result.ChangeFusion, "all-reduce and norm", 131, 134, 129},
	} {
		m, err := light.ReadModel([]byte(c.config))
		if err != nil {
			t.Fatal(err)
		}
		r, err := explain.Prepare(explaintest.ReadDir(t, filepath.Join(data, "traces", c.set)), nil).Analyze(explain.Options{Light: light.Options{Model: m}})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(r.Light.Changes, func(x result.LightChange) bool {
			return x.Kind == "decode" && x.Change == c.change && x.Modules[0] == c.module
		})
		if at < 0 {
			t.Errorf("%s: no %s of %s", c.set, c.change, c.module)
			continue
		}
		x := &r.Light.Changes[at]
		near := func(ns int64, us float64) bool { return math.Abs(float64(ns)/1e3-us) <= 10+0.05*us }
		if !near(x.Time, c.time) || !near(x.Worth.Step-x.Worth.Without, c.now) || !near(x.Worth.Last, c.last) || len(x.How) == 0 {
			t.Errorf("%s: %s: %.1f µs, worth %.1f and %.1f µs, want %v, %v, %v", c.set, c.module, float64(x.Time)/1e3, float64(x.Worth.Step-x.Worth.Without)/1e3, float64(x.Worth.Last)/1e3, c.time, c.now, c.last)
		}
	}
}
