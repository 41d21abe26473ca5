package explain

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/light"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Configurations of the models in the recorded windows.
const (
	denseModel  = `{"model_type":"qwen3","hidden_size":4096,"intermediate_size":12288,"num_hidden_layers":24,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"vocab_size":4224,"torch_dtype":"bfloat16"}`
	moeModel    = `{"model_type":"qwen3_moe","hidden_size":2048,"intermediate_size":6144,"moe_intermediate_size":768,"num_hidden_layers":16,"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"num_experts":64,"num_experts_per_tok":8,"vocab_size":4224,"torch_dtype":"bfloat16"}`
	stacksModel = `{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":2,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128000,"torch_dtype":"bfloat16"}` // each rank has a whole head of 32,000
	llama8B     = `{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":24,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":4224,"torch_dtype":"bfloat16"}`
)

// lit analyses a recorded window with a model's configuration.
func lit(t *testing.T, set, config string) (*Window, *result.Report) {
	t.Helper()
	data := os.Getenv("STEPSCOPE_DATA")
	if data == "" {
		t.Skip("STEPSCOPE_DATA is not set")
	}
	m, err := light.ReadModel([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	w := Prepare(readDir(t, filepath.Join(data, "traces", set)), nil)
	r, err := w.Analyze(Options{Light: light.Options{Model: m}, Quick: true})
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
	}
	for _, c := range []struct {
		set, config string
		floor       map[string]float64 // µs of a step, by kind
		modules     []module
	}{
		{"sglang_plain", denseModel, map[string]float64{"decode": 985.7}, []module{
			{"TP00", "decode", light.GateUp, 28.69, 0.735}, {"TP01", "decode", light.GateUp, 27.26, 0.773}, {"TP00", "decode", light.Down, 15.01, 0.703}, {"TP01", "decode", light.Down, 14.91, 0.708},
			{"TP00", "decode", light.QKV, 9.38, 0.564}, {"TP01", "decode", light.QKV, 9.18, 0.576}, {"TP00", "decode", light.O, 7.36, 0.480}, {"TP01", "decode", light.O, 7.33, 0.483},
			{"TP00", "decode", light.Head, 7.74, 0.471}, {"TP01", "decode", light.Head, 7.65, 0.477}}},
		{"sglang_moe", moeModel, map[string]float64{"decode": 1020}, []module{
			{"TP00-DP00-EP00", "decode", light.ExpertsIn, 45.86, 0}, {"TP01-DP01-EP01", "decode", light.ExpertsIn, 48.78, 0}, {"TP00-DP00-EP00", "decode", light.ExpertsOut, 28.24, 0},
			{"TP00-DP00-EP00", "decode", light.QKV, 7.74, 0.567}, {"TP00-DP00-EP00", "decode", light.ExpertsSum, 30.5, 0}, {"TP01-DP01-EP01", "decode", light.ExpertsSum, 4.74, 0}}},
		{"stacks", stacksModel, nil, []module{ // the shapes that it recorded are not used
			{"TP00", "decode", light.GateUp, 20.64, 0.596}, {"TP00", "decode", light.Down, 10.58, 0.583}, {"TP00", "decode", light.QKV, 6.11, 0.435}, {"TP00", "decode", light.O, 5.68, 0.314},
			{"TP00", "decode", light.Head, 64.03, 0.857}, {"TP00", "prefill", light.GateUp, 601.6, 0.808}, {"TP00", "prefill", light.Down, 300.8, 0.809}, {"TP00", "prefill", light.QKV, 132.5, 0.787}}},
		{"vllm26_plain", denseModel, map[string]float64{"decode": 1412}, []module{{"TP00", "decode", light.GateUp, 36.93, 0.818}, {"TP00", "decode", light.Down, 20.03, 0.755}}},
	} {
		_, r := lit(t, c.set, c.config)
		seen := map[string]bool{}
		for _, s := range r.Light.Steps {
			if sum := s.Floor + s.Padding + s.Start + s.Slow + s.Unpriced + s.Transfer + s.Wait + s.Unknown + s.Copy + s.Idle; sum != s.Total || min(s.Floor, s.Start, s.Slow, s.Unpriced) < 0 {
				t.Errorf("%s %s %s: the parts add up to %d of %d: %+v", c.set, s.Rank, s.Kind, sum, s.Total, s)
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
			}
			if !found {
				t.Errorf("%s: no %s", c.set, want.role)
			}
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
	slower, _ := light.Compare(w.aligned, r.Steps, light.Options{Model: m, Device: &h100}, two)
	module("another device", &slower, light.GateUp, "light_too_fast")
	single, _ := light.Compare(w.aligned, r.Steps, light.Options{Model: m, Device: &d}, light.Layout{TP: 1, AttnTP: 1, EP: 1, MoETP: 1})
	module("one rank", &single, light.GateUp, "light_too_fast")
	module("one rank", &single, light.O, "light_other")
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
		r, err := Prepare(readDir(t, filepath.Join(data, "traces", set.Name())), nil).Analyze(Options{Quick: true, Force: true})
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
		r, err := Prepare(readDir(t, filepath.Join(data, "traces", c.set)), nil).Analyze(Options{Light: light.Options{Model: m}})
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
