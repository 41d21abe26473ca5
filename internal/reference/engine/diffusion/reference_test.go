package diffusion

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stepscope/stepscope/internal/base/tokenizer"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/hf"
	"github.com/stepscope/stepscope/internal/reference/engine/op"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// tolerance is the allowed difference from the reference, as a fraction of the largest value there.
const tolerance = 1e-3

// fixture is the tiny pipeline of testdata, made by scripts/fixtures/diffusion.py, with the results of Diffusers and
// transformers.
type fixture struct {
	cfg *Config
	src *Sources
	tok *tokenizer.Tokenizer
	ref *hf.File

	Prompt, Negative string
	PromptIDs        []int32 `json:"prompt_ids"`
	NegativeIDs      []int32 `json:"negative_ids"`
	// By the number of steps; those of a dynamic shift are for an image of the given number of tokens.
	Sigmas        map[string]map[Schedule][]float64
	DynamicSigmas map[string]map[Schedule][]float64 `json:"dynamic_sigmas"`
	DynamicTokens int                               `json:"dynamic_tokens"`
}

func load(t *testing.T) *fixture {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	f := &fixture{}
	data, err := os.ReadFile(filepath.Join("testdata", "reference.json"))
	must(err)
	must(json.Unmarshal(data, f))
	f.cfg, f.src, f.tok, err = Open("testdata", false)
	must(err)
	t.Cleanup(func() { f.src.Close() })
	f.ref, err = hf.OpenFile(filepath.Join("testdata", "reference.safetensors"))
	must(err)
	t.Cleanup(func() { f.ref.Close() })
	return f
}

// values returns a tensor of the reference.
func (f *fixture) values(t *testing.T, name string) []float32 {
	t.Helper()
	shape, ok := f.ref.Shape(name)
	if !ok {
		t.Fatalf("no tensor %q in the reference", name)
	}
	n := 1
	for _, d := range shape {
		n *= d
	}
	v := make([]float32, n)
	if err := f.ref.Read(name, 0, v); err != nil {
		t.Fatal(err)
	}
	return v
}

// near checks that got equals the reference within tolerance.
func (f *fixture) near(t *testing.T, name string, got []float32) {
	t.Helper()
	want := f.values(t, name)
	if len(got) != len(want) {
		t.Errorf("%s: %d values; want %d", name, len(got), len(want))
		return
	}
	largest, worst, at := 0.0, 0.0, 0
	for i := range want {
		largest = max(largest, math.Abs(float64(want[i])))
		if d := math.Abs(float64(got[i] - want[i])); d > worst || d != d {
			worst, at = d, i
		}
	}
	if !(worst <= tolerance*largest) {
		t.Errorf("%s: value %d is %g; want %g (the largest is %g)", name, at, got[at], want[at], largest)
	}
}

// ranks runs f on every rank of a tensor-parallel group.
func ranks(t *testing.T, f *fixture, tp int, do func(rank int, r *runner)) {
	t.Helper()
	var group []device.Comm
	if tp > 1 {
		all := make([]int, tp)
		for i := range all {
			all[i] = i
		}
		group = device.NewGroup("tp:0", "tp", all, device.GroupOptions{Add: tensor.Add})
	}
	var wg sync.WaitGroup
	for rank := range tp {
		wg.Go(func() {
			d := device.New(device.Options{Index: rank, Workers: 2})
			defer d.Close()
			var end device.Comm
			if tp > 1 {
				end = group[rank]
			}
			r, err := newRunner(f.cfg, f.src, d, end, Options{Format: tensor.F32})
			if err != nil {
				t.Error(err)
				return
			}
			do(rank, r)
		})
	}
	wg.Wait()
}

// TestReferencePrompt checks that the template's text has the reference's tokens.
func TestReferencePrompt(t *testing.T) {
	f := load(t)
	for prompt, want := range map[string][]int32{f.Prompt: f.PromptIDs, f.Negative: f.NegativeIDs} {
		if got, cut, err := Prompt(f.tok, prompt); err != nil || cut != 0 || !slices.Equal(got, want) {
			t.Errorf("%q is %v, %v; want %v", prompt, got, err, want)
		}
	}
}

func TestReferenceText(t *testing.T) {
	f := load(t)
	for _, tp := range []int{1, 2} {
		ranks(t, f, tp, func(_ int, r *runner) {
			for _, c := range []struct {
				name string
				ids  []int32
			}{{"states", f.PromptIDs}, {"negative", f.NegativeIDs}} {
				got, err := r.text.Encode(c.ids)
				if err != nil {
					t.Error(err)
					return
				}
				f.near(t, c.name, got)
			}
		})
	}
}

// chw turns [h][w][c] into [c][h][w].
func chw(x op.Plane) []float32 {
	out := make([]float32, len(x.Data))
	for i := range x.Rows() {
		for c := range x.C {
			out[c*x.Rows()+i] = x.Data[i*x.C+c]
		}
	}
	return out
}

func hwc(v []float32, h, w int) op.Plane {
	x := op.NewPlane(h, w, len(v)/h/w)
	for i := range x.Rows() {
		for c := range x.C {
			x.Data[i*x.C+c] = v[c*x.Rows()+i]
		}
	}
	return x
}

// TestReferenceTransformer checks one block alone, and the whole network.
func TestReferenceTransformer(t *testing.T) {
	f := load(t)
	for _, tp := range []int{1, 2} {
		ranks(t, f, tp, func(_ int, r *runner) {
			m := marker{host: r.dev.Host(), component: "transformer"}
			p := r.dit.newPass(12, 8, f.values(t, "states"), len(f.PromptIDs), m)
			copy(p.x, f.values(t, "block_x"))
			copy(p.cond, f.values(t, "block_cond"))
			p.run(&r.dit.main[0], op.Span{Hi: p.caption.Hi})
			if err := r.dit.Stream.Synchronize(); err != nil {
				t.Error(err)
				return
			}
			f.near(t, "block_out", p.x)

			p.patchify(hwc(f.values(t, "dit_in"), 8, 12))
			p.forward(0.25)
			if err := r.dit.Stream.Synchronize(); err != nil {
				t.Error(err)
				return
			}
			out := op.NewPlane(8, 12, 4)
			p.each(out, func(latent, patch []float32, _ int) { copy(latent, patch) }, p.out)
			f.near(t, "dit_out", chw(out))
		})
	}
}

func TestReferenceDecoder(t *testing.T) {
	f := load(t)
	ranks(t, f, 1, func(_ int, r *runner) {
		out := r.vae.decode(hwc(f.values(t, "vae_in"), 8, 12))
		if err := r.dit.Stream.Synchronize(); err != nil {
			t.Error(err)
			return
		}
		f.near(t, "vae_out", chw(out))
	})
}

// TestReferenceSchedule checks the noise levels of each schedule, with a fixed shift and with a shift that depends on
// the number of tokens.
func TestReferenceSchedule(t *testing.T) {
	f := load(t)
	dynamic := f.cfg.Scheduler
	dynamic.Dynamic = true
	for _, c := range []struct {
		name string
		Scheduler
		want map[string]map[Schedule][]float64
	}{{"fixed", f.cfg.Scheduler, f.Sigmas}, {"dynamic", dynamic, f.DynamicSigmas}} {
		for _, steps := range []int{1, 4, 9} {
			for _, kind := range schedules {
				want := c.want[strconv.Itoa(steps)][kind]
				got := c.sigmas(kind, steps, f.DynamicTokens)
				if len(want) != steps+1 || !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) <= 1e-6 }) {
					t.Errorf("%s shift, %s, %d steps: %v; want %v", c.name, kind, steps, got, want)
				}
			}
		}
	}
}

func TestReferenceNoise(t *testing.T) {
	f := load(t)
	for _, name := range []string{"randn", "randn_few"} {
		got := make([]float32, len(f.values(t, name)))
		randn(got, 42)
		f.near(t, name, got)
	}
}

// TestReferenceGeneration checks a whole run, with and without guidance, on one rank and on two.
func TestReferenceGeneration(t *testing.T) {
	f := load(t)
	for _, tp := range []int{1, 2} {
		ranks(t, f, tp, func(rank int, r *runner) {
			for _, c := range []struct {
				want string
				q    Request
			}{
				{"pixels", Request{Width: 48, Height: 32, Guidance: 2, Negative: f.NegativeIDs, Schedule: Diffusers37, Noise: f.values(t, "noise")}},
				{"plain_pixels", Request{Width: 48, Height: 64, Schedule: SGLang, Noise: f.values(t, "plain_noise")}},
			} {
				c.q.Prompt, c.q.Steps = f.PromptIDs, 4
				pic, err := r.Generate(&c.q, watcher{})
				if err != nil {
					t.Error(err)
					return
				}
				want := f.values(t, c.want)
				for i := range pic.RGB {
					at := i%3*(len(want)/3) + i/3
					if d := math.Abs(float64(pic.RGB[i])/255 - float64(want[at])); d > 1.0/255/2+tolerance {
						t.Errorf("TP %d, rank %d, %s: value %d is %d; want %g", tp, rank, c.want, i, pic.RGB[i], want[at]*255)
						break
					}
				}
			}
		})
	}
}
