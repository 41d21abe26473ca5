package light

import (
	"math"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// TestWindowLayers prices the attention of GPT-OSS in a published decode step of 32 requests with 55,086 tokens on MI300X:
// layers with a window of 128 keys took 13.48 µs, the others 46.9 µs. With the contexts of all tokens in all layers, the
// former would exceed the peak of the memory, so the check of the rate must refuse them.
func TestWindowLayers(t *testing.T) {
	m := model(t, "gpt-oss-120b") // with the heads of gpt-oss-20b
	d, ok := FindDevice("AMD Instinct MI300X")
	if !ok {
		t.Fatal("the device is not known")
	}
	wrong := *m
	wrong.Windows = make([]int, m.Layers)
	one := Layout{TP: 1, AttnTP: 1, EP: 1, MoETP: 1}
	b := Batch{Tokens: 32, Requests: 32, Keys: 55086, Pairs: 55086, KVBytes: 2, Least: 200, Most: 4000}
	for _, c := range []struct {
		name    string
		m       *Model
		mb      [2]float64 // of a layer with a window, and of one without
		refused string
	}{{"windows", m, [2]float64{8.91, 113.34}, ""}, {"full contexts", &wrong, [2]float64{113.34, 113.34}, "light_too_fast"}} {
		s := &sum{}
		for layer, us := range map[int]float64{0: 13.48, 1: 46.9} {
			for _, w := range c.m.Layer(layer, one, b) {
				if w.Role != Attention {
					continue
				}
				if mb := w.Bytes() / 1e6; math.Abs(mb-c.mb[layer]) > 0.01 || w.Unknown || w.KVMost != w.KV {
					t.Errorf("%s, layer %d: %.3f MB, want %.2f: %+v", c.name, layer, mb, c.mb[layer], w)
				}
				for range m.Layers / 2 {
					s.calls = append(s.calls, call{main: int64(us * 1e3), work: w})
				}
			}
		}
		key := sumKey{stepKey{rank: "TP00", kind: "decode"}, Attention}
		x := comparer{d: d, sums: map[sumKey]*sum{key: s}, order: []sumKey{key}}
		if why := x.check(); s.refused.Key != c.refused || why.Key != "" { // shared prefixes may also be the reason
			t.Errorf("%s: %s, all: %s", c.name, s.refused, why)
		}
	}
}

// TestWindowBounds checks bounds of what the requests of a decode step see in a window of 128 keys.
func TestWindowBounds(t *testing.T) {
	for _, c := range []struct {
		name       string
		keys, most int64
		b          Batch
		low, high  int64
	}{
		{"nothing known", 4, 0, Batch{}, 4, 512},
		{"the sum", 1000, 1000, Batch{}, 131, 512},
		{"a small sum", 100, 110, Batch{}, 100, 110},
		{"each is longer", 1000, 1000, Batch{Least: 130, Most: 600}, 512, 512},
		{"some are shorter", 1000, 1000, Batch{Least: 20, Most: 600}, 131, 512},
		{"all are shorter", 200, 240, Batch{Least: 45, Most: 70}, 200, 240},
	} {
		if low, high := inWindow(128, 4, c.keys, c.most, &c.b); low != c.low || high != c.high {
			t.Errorf("%s: %d to %d, want %d to %d", c.name, low, high, c.low, c.high)
		}
	}
}

// TestPairs checks the least pairs of prefill, and those in a window of 4 keys, against sums over the queries.
func TestPairs(t *testing.T) {
	m := model(t, "dense")
	one := Layout{TP: 1, AttnTP: 1, EP: 1, MoETP: 1}
	for _, c := range []struct {
		requests, tokens int
		keys             int64
		window           int
		want             float64
	}{
		{1, 6, -1, 0, 21}, {2, 6, -1, 0, 12}, {4, 4, -1, 0, 4}, {1, 6, -1, 4, 1 + 2 + 3 + 4 + 4 + 4}, {1, 3, 5, 4, 3 + 4 + 4}, {1, 3, 50, 4, 12},
	} {
		m.Windows[0] = c.window
		for _, w := range m.Layer(0, one, Batch{Tokens: c.tokens, Requests: c.requests, Keys: c.keys, Pairs: -1, KVBytes: 2}) {
			if got := w.FLOPs / float64(4*m.Heads*m.HeadDim); w.Role == Attention && got != c.want {
				t.Errorf("%+v: %g pairs", c, got)
			}
		}
	}
}

// TestSampled checks the bounds of a decode step's keys by samples before and after it. A step takes 10.
func TestSampled(t *testing.T) {
	gauge := func(at int64, running int, tokens int64) trace.ContextSample {
		return trace.ContextSample{At: at, From: trace.ContextsGauge, Running: running, Low: tokens, High: tokens}
	}
	load := func(at int64, running int, low, high, least, most int64) trace.ContextSample {
		return trace.ContextSample{At: at, From: trace.ContextsLoad, DP: -1, Running: running, Low: low, High: high, Least: least, Most: most}
	}
	for _, c := range []struct {
		name      string
		pool      int64
		longest   int64
		samples   []trace.ContextSample
		dp        int
		about     bool
		from      string
		low, high int64
	}{
		{"both sides", 0, 0, []trace.ContextSample{gauge(90, 4, 1000), gauge(140, 4, 1020)}, -1, false, trace.ContextsGauge, 1000, 1008},
		{"the side after it is nearer", 0, 0, []trace.ContextSample{gauge(0, 4, 1000), gauge(105, 4, 1020)}, -1, false, trace.ContextsGauge, 1016, 1020},
		{"only before", 0, 0, []trace.ContextSample{gauge(50, 4, 1000)}, -1, false, trace.ContextsGauge, 1000, 1024},
		{"other requests afterwards", 0, 0, []trace.ContextSample{gauge(90, 4, 1000), gauge(200, 4, 100)}, -1, false, trace.ContextsGauge, 1000, 1008},
		{"more requests", 0, 0, []trace.ContextSample{gauge(100, 6, 1000)}, -1, false, trace.ContextsGauge, 4, 1002},
		{"more requests, then as many", 0, 0, []trace.ContextSample{gauge(100, 6, 1000), gauge(110, 4, 800)}, -1, false, trace.ContextsGauge, 792, 800},
		{"fewer requests", 0, 0, []trace.ContextSample{gauge(100, 3, 1000)}, -1, false, "", -1, 0},
		{"fewer requests in a padded graph", 0, 0, []trace.ContextSample{gauge(100, 3, 1000)}, -1, true, trace.ContextsGauge, 1000, 1004},
		{"another rank", 0, 0, []trace.ContextSample{gauge(100, 4, 1000)}, 1, false, "", -1, 0},
		{"long ago", 0, 0, []trace.ContextSample{gauge(100-sampleReach-1, 4, 1000)}, -1, false, "", -1, 0},
		{"a load is better", 0, 0, []trace.ContextSample{gauge(100, 4, 1000), load(101, 4, 900, 908, 200, 300)}, 1, false, trace.ContextsLoad, 896, 908},
		{"a load on two ranks", 0, 0, []trace.ContextSample{load(100, 8, 2000, 2016, 200, 300)}, 1, false, trace.ContextsLoad, 800, 1204},
		{"a load that has not seen a first token", 0, 0, []trace.ContextSample{load(100, 3, 700, 706, 150, 300)}, -1, false, trace.ContextsLoad, 850, 1010},
		{"the cache", 1002, 0, []trace.ContextSample{gauge(50, 4, 1000)}, -1, false, trace.ContextsGauge, 1000, 1002},
		{"the longest context", 5000, 252, []trace.ContextSample{gauge(50, 4, 1000)}, -1, false, trace.ContextsGauge, 1000, 1008},
	} {
		x := comparer{m: &Model{}, contexts: &trace.Contexts{Pool: c.pool, Longest: c.longest, Samples: c.samples}}
		b := Batch{Tokens: 4, Requests: 4, Keys: -1, Pairs: -1}
		if from, _ := x.sampled(&b, c.dp, 100, 10, c.about); from != c.from || b.Keys != c.low || b.KeysMost != c.high || b.Pairs != c.low {
			t.Errorf("%s: %q %d to %d, want %q %d to %d", c.name, from, b.Keys, b.KeysMost, c.from, c.low, c.high)
		}
	}
	x := comparer{m: &Model{}, contexts: &trace.Contexts{Pool: 5000, Longest: 1000}}
	if one, all := x.most(0, 1), x.most(0, 64); one != 1000 || all != 5000 {
		t.Errorf("without samples: %d and %d", one, all)
	}
}

// TestSurely checks which keys a comparison of contexts uses.
func TestSurely(t *testing.T) {
	for _, c := range []struct{ keys, most, want int64 }{{1000, 0, 1000}, {1000, 1100, 1000}, {1000, 1300, -1}, {-1, 0, -1}, {-1, 5000, -1}} {
		if got := (&Batch{Keys: c.keys, KeysMost: c.most}).surely(); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	if addKeys(-1, 100) != -1 || addKeys(100, -1) != -1 || addKeys(2, 3) != 5 {
		t.Error("a sum with unknown keys is known")
	}
}

// TestCacheBytes checks the number format of the KV cache.
func TestCacheBytes(t *testing.T) {
	for _, c := range []struct {
		name, args, reported string
		scaled               bool
		bytes                int
		why                  string
	}{
		{"nothing known", "", "", false, 2, "light_cache_model"}, {"auto", "auto", "", false, 2, "light_cache_auto"}, {"fp8", "auto", "fp8_e4m3", false, 1, "light_cache"},
		{"auto with scales", "", "auto", true, 0, "light_cache_scaled"}, {"bf16 with scales", "bfloat16", "", true, 2, "light_cache"}, {"another", "fp4_e2m1", "", false, 0, "light_cache_unknown"},
	} {
		o := Options{Model: &Model{CacheScaled: c.scaled}, Contexts: &trace.Contexts{Cache: c.reported}}
		if c.args != "" {
			o.Flags = map[string]any{"kv_cache_dtype": c.args}
		}
		if n, why := o.cacheBytes(); n != c.bytes || why.Key != c.why {
			t.Errorf("%s: %d, %s", c.name, n, why)
		}
	}
}

// TestShares checks the shares of attention: none of the floor if nothing is known, and no upper one above the peak.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		name       string
		call       call
		least, top float64
	}{
		{"known", call{main: 100, floor: 20, most: 22}, 0.2, 0.22}, {"an upper bound", call{main: 100, floor: 1, most: 40, guessed: true}, 0, 0.4},
		{"a useless one", call{main: 100, floor: 1, most: 400, guessed: true}, 0, 0}, {"nothing", call{main: 100, floor: 1, guessed: true}, 0, 0},
	} {
		var row result.LightModule
		if (&sum{calls: []call{c.call}}).share(&row); row.OfPeak != c.least || row.OfPeakMost != c.top {
			t.Errorf("%s: %g to %g", c.name, row.OfPeak, row.OfPeakMost)
		}
	}
}
