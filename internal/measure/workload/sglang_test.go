package workload

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// recorded is a request of SGLang's own client, from scripts/fixtures/load.py.
type recorded struct {
	Name, Tokenizer string
	Args            []string
	Runs            []struct {
		Seed       int64
		Begins     string
		PromptLens []int `json:"prompt_lens"`
		OutputLens []int `json:"output_lens"`
		Prompts    []string
		LoRA       []string
		Images     [][]string
		Gaps       []float64
	}
}

// spec parses the flags of a recording.
func (r *recorded) spec(t *testing.T) (Spec, Arrivals) {
	s, a := Default(), Arrivals{Rate: math.Inf(1)}
	f := flag.NewFlagSet(r.Name, flag.ContinueOnError)
	f.StringVar(&s.Dataset, "dataset-name", s.Dataset, "")
	f.StringVar(&s.Path, "dataset-path", "", "")
	f.IntVar(&s.N, "num-prompts", s.N, "")
	f.StringVar(&s.Backend, "backend", "sglang", "")
	f.BoolVar(&s.TokenIDs, "tokenize-prompt", false, "")
	f.BoolVar(&s.ChatTemplate, "apply-chat-template", false, "")
	f.StringVar(&s.Suffix, "prompt-suffix", "", "")
	f.IntVar(&s.FixedOutputLen, "sharegpt-output-len", 0, "")
	f.IntVar(&s.ContextLen, "sharegpt-context-len", 0, "")
	f.IntVar(&s.InputLen, "random-input-len", s.InputLen, "")
	f.IntVar(&s.OutputLen, "random-output-len", s.OutputLen, "")
	f.Float64Var(&s.RangeRatio, "random-range-ratio", 0, "")
	f.IntVar(&s.Prefix.Groups, "gsp-num-groups", 0, "")
	f.IntVar(&s.Prefix.PerGroup, "gsp-prompts-per-group", 0, "")
	f.IntVar(&s.Prefix.SystemLen, "gsp-system-prompt-len", 0, "")
	f.IntVar(&s.Prefix.QuestionLen, "gsp-question-len", 0, "")
	f.IntVar(&s.Prefix.OutputLen, "gsp-output-len", 0, "")
	f.Float64Var(&s.Prefix.RangeRatio, "gsp-range-ratio", 1, "")
	f.IntVar(&s.Prefix.Turns, "gsp-num-turns", 1, "")
	f.BoolVar(&s.Prefix.Ordered, "gsp-ordered", false, "")
	f.BoolVar(&s.Prefix.Fast, "gsp-fast-prepare", false, "")
	f.StringVar(&s.Prefix.Distribution, "gsp-group-distribution", "uniform", "")
	f.Float64Var(&s.Prefix.ZipfAlpha, "gsp-zipf-alpha", 0, "")
	f.StringVar(&s.LoRADistribution, "lora-request-distribution", "uniform", "")
	f.Float64Var(&s.LoRAAlpha, "lora-zipf-alpha", s.LoRAAlpha, "")
	f.StringVar(&s.SpeedBenchCategory, "speed-bench-category", "", "")
	f.IntVar(&s.SpeedBenchOutputLen, "speed-bench-output-len", 0, "")
	f.StringVar(&s.Image.Resolution, "image-resolution", "", "")
	f.StringVar(&s.Image.Format, "image-format", "", "")
	f.IntVar(&s.Image.Count, "image-count", 1, "")
	f.BoolVar(&s.Image.RandomCount, "random-image-count", false, "")
	f.Float64Var(&a.Rate, "request-rate", a.Rate, "")
	f.Func("lora-name", "", func(name string) error { s.LoRANames = append(s.LoRANames, name); return nil })
	var args []string
	for i, arg := range r.Args { // Python's flag takes several names
		if !strings.HasPrefix(arg, "--") && i > 1 && !strings.HasPrefix(r.Args[i-1], "--") {
			args = append(args, "--lora-name")
		}
		args = append(args, arg)
	}
	if err := f.Parse(args); err != nil || f.NArg() > 0 {
		t.Fatal(err, f.Args())
	}
	s.Path = strings.TrimPrefix(s.Path, "internal/measure/workload/")
	return s, a
}

// TestSameLoad checks that a seed gives the same requests as SGLang's client: prompts token by token, lengths, order,
// adapters, images, and times.
func TestSameLoad(t *testing.T) {
	text, err := os.ReadFile("testdata/sglang/requests.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Cases []recorded }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Cases) < 20 {
		t.Fatalf("%d cases", len(all.Cases))
	}
	for _, c := range all.Cases {
		t.Run(c.Name, func(t *testing.T) {
			tok, err := OpenLocal(filepath.Join("../../base/tokenizer/testdata", c.Tokenizer))
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Runs) != 10 {
				t.Fatalf("%d seeds", len(c.Runs))
			}
			for _, want := range c.Runs {
				spec, arrivals := c.spec(t)
				spec.Seed = want.Seed
				got, times, err := Plan(t.Context(), spec, arrivals, tok)
				if err != nil {
					t.Fatal(err)
				}
				same := func(what string, got, want any) {
					if fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("%s\ngot  %v\nwant %v", what, got, want)
					}
				}
				var ins, outs []int
				var prompts, adapters []string
				var images [][]string
				for _, r := range got {
					ins, outs = append(ins, r.PromptLen), append(outs, r.OutputLen)
					prompts, adapters = append(prompts, digestOf(r)), append(adapters, r.LoRA)
					var made []string
					for _, uri := range r.Images {
						made = append(made, pixels(t, uri))
					}
					images = append(images, made)
				}
				about := fmt.Sprintf("seed %d (%s): ", want.Seed, want.Begins)
				if c.Name != "image" && c.Name != "image, one size" { // whose tokens are counted by a model's processor
					same(about+"tokens", ins, want.PromptLens)
				} else {
					same(about+"images", images, want.Images)
				}
				same(about+"output tokens", outs, want.OutputLens)
				same(about+"prompts", prompts, want.Prompts)
				if want.LoRA != nil {
					same(about+"adapters", adapters, want.LoRA)
				}
				at, due := 0.0, make([]time.Duration, len(times))
				for i, gap := range want.Gaps { // one more is drawn after the last
					if at += gap; i+1 < len(due) {
						due[i+1] = time.Duration(math.Round(at * 1e9))
					}
				}
				same(about+"times", times, due)
				if t.Failed() {
					return
				}
			}
		})
	}
}

// digestOf returns the recorded hash of a request.
func digestOf(r Request) string {
	text := r.Prompt
	if r.Tokens != nil {
		ids := make([]string, len(r.Tokens))
		for i, id := range r.Tokens {
			ids[i] = strconv.Itoa(int(id))
		}
		text = strings.Join(ids, ",")
	}
	if r.Rounds != nil {
		var turns []string
		for _, turn := range r.Rounds {
			turns = append(turns, turn.Prompt)
		}
		text = strings.Join(turns, "\n\n\n")
	}
	return digest([]byte(text))
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:12]
}

// pixels returns the recorded hash of an image.
func pixels(t *testing.T, uri string) string {
	_, data, _ := strings.Cut(uri, ",")
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	var rgb []byte
	size := img.Bounds().Size()
	for y := range size.Y {
		for x := range size.X {
			r, g, b, _ := img.At(x, y).RGBA()
			rgb = append(rgb, byte(r>>8), byte(g>>8), byte(b>>8))
		}
	}
	sum := sha256.Sum256(rgb)
	return digest(fmt.Appendf(nil, "%dx%d %x", size.X, size.Y, sum))
}
