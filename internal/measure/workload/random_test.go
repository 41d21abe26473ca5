package workload

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/base/pyrand"
	"github.com/stepscope/stepscope/internal/base/tokenizer"
)

// tokenizers returns real ones, shortened, and the built-in one with and without words.
func tokenizers(t testing.TB) map[string]*Local {
	t.Helper()
	out := map[string]*Local{"bytes": bytesOnly(t), "built-in": builtin(t, 4000)}
	for _, name := range []string{"llama3", "qwen3"} {
		tok, err := OpenLocal("../../base/tokenizer/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = tok
	}
	return out
}

// unlisted is a tokenizer that does not list its tokens, such as a server's.
type unlisted struct{ *Local }

func (u unlisted) Vocabulary(ctx context.Context) (*Vocabulary, error) {
	v, err := u.Local.Vocabulary(ctx)
	return &Vocabulary{Text: v.Text, Words: v.Words}, err
}

// A generated prompt of n tokens encodes to n tokens, here and in a server, including BOS.
func TestExactLengths(t *testing.T) {
	t.Setenv("HF_HUB_CACHE", t.TempDir())
	for name, tok := range tokenizers(t) {
		for _, dataset := range []string{"random", "random-ids"} {
			for _, n := range []int{2, 3, 17, 256, 1500} {
				t.Run(fmt.Sprintf("%s/%s/%d", dataset, name, n), func(t *testing.T) {
					requests, notes := build(t, of(dataset, "", func(s *Spec) { s.N, s.InputLen, s.RangeRatio = 40, n, 1 }), unlisted{tok})
					for i, r := range requests {
						if got := len(tok.tok.Encode(r.Prompt, true)); got != n || r.PromptLen != n {
							t.Errorf("request %d: %d tokens, reported as %d: %.80q", i, got, r.PromptLen, r.Prompt)
						}
					}
					for _, note := range notes {
						if strings.Contains(note, "do not have the length") {
							t.Error(note)
						}
					}
				})
			}
		}
	}
}

func TestTooShortToBeExact(t *testing.T) {
	t.Setenv("HF_HUB_CACHE", t.TempDir())
	tok := tokenizers(t)["llama3"]
	requests, notes := build(t, of("random", "", func(s *Spec) { s.N, s.InputLen = 3, 1 }), tok)
	for _, r := range requests {
		if r.Prompt == "" || r.PromptLen != 2 || len(tok.tok.Encode(r.Prompt, true)) != 2 {
			t.Errorf("%+v", r)
		}
	}
	if !strings.Contains(strings.Join(notes, "\n"), "3 of 3 prompts do not have the length that was drawn for them") {
		t.Errorf("no note: %q", notes)
	}
}

// The tokens of ShareGPT's prompts, including BOS, are cut or repeated as by SGLang's client.
func TestRandomFromShareGPT(t *testing.T) {
	tok := bytesOnly(t)
	requests, notes := build(t, of("random", "sharegpt.json", func(s *Spec) { s.N, s.InputLen, s.RangeRatio = 9, 101, 1 }), tok)
	var got, want []string
	for _, r := range requests {
		got = append(got, r.Prompt)
		if r.PromptLen != 100 { // the server prepends another BOS
			t.Errorf("%d tokens: %q", r.PromptLen, r.Prompt)
		}
	}
	for _, s := range []string{
		"", "How do I sort a list of numbers in Go?", "Name three rivers of Europe, please. Assistant:", "Grüße aus Köln 🚲",
		`Brackets in a string ]}, "quoted" and a backslash \ are no structure.`,
	} {
		ids := slices.Repeat(tok.tok.Encode(s, true), 100)
		want = append(want, tok.tok.Decode(ids[:100], false))
	}
	sameSet(t, got, want)
	sameSet(t, notes, []string{"testdata/sharegpt.json has rows for only 5 requests, not for 9"})
}

func TestRandomIDs(t *testing.T) {
	requests, _ := build(t, of("random-ids", "", func(s *Spec) { s.N, s.InputLen, s.RangeRatio, s.TokenIDs = 5, 700, 1, true }), builtin(t, 300))
	for i, r := range requests {
		if len(r.Tokens) != 700 || r.PromptLen != 700 || r.Prompt != "" {
			t.Fatalf("request %d: %d ids, %d reported", i, len(r.Tokens), r.PromptLen)
		}
		for j, id := range r.Tokens {
			if id != (r.Tokens[0]+int32(j))%300 {
				t.Fatalf("request %d: token %d is %d", i, j, id)
			}
		}
	}
}

// seeded returns a builder with only generators.
func seeded() *builder { return &builder{py: pyrand.New(1), np: pyrand.NewState(1)} }

// Lengths are uniform from full*ratio to full, inclusive.
func TestLengths(t *testing.T) {
	for _, c := range []struct {
		full  int
		ratio float64
		low   int
	}{{10, 0, 1}, {10, 0.55, 5}, {10, 1, 10}, {1, 0, 1}, {7, 0.1, 1}} {
		const n = 20000
		seen := map[int]int{}
		for _, l := range seeded().lengths(c.full, c.ratio, n) {
			seen[l]++
		}
		kinds := c.full - c.low + 1
		for l, k := range seen {
			want := float64(n) / float64(kinds)
			if l < c.low || l > c.full || math.Abs(float64(k)-want) > 5*math.Sqrt(want) {
				t.Errorf("%d, ratio %g: length %d came %d times, expected %.0f", c.full, c.ratio, l, k, want)
			}
		}
		if len(seen) != kinds {
			t.Errorf("%d, ratio %g: %d lengths, want %d", c.full, c.ratio, len(seen), kinds)
		}
	}
	if got := seeded().lengths(0, 0.5, 2); !slices.Equal(got, []int{0, 0}) {
		t.Errorf("an output length of 0: %v", got)
	}
}

// chiSquare returns the statistic of counts against probabilities.
func chiSquare(counts []int, p func(i int) float64) float64 {
	n, sum, norm := 0, 0.0, 0.0
	for i, c := range counts {
		n, norm = n+c, norm+p(i)
	}
	for i, c := range counts {
		want := float64(n) * p(i) / norm
		sum += (float64(c) - want) * (float64(c) - want) / want
	}
	return sum
}

func TestAdapters(t *testing.T) {
	names := []string{"a", "b", "c"}
	for distribution, want := range map[string]func(i int) float64{
		"uniform": func(int) float64 { return 1 },
		"skewed":  func(i int) float64 { return math.Pow(2, -float64(i)) },
	} {
		requests, _ := build(t, of("random", "", func(s *Spec) {
			s.N, s.InputLen, s.LoRANames, s.LoRADistribution, s.LoRAAlpha = 6000, 2, names, distribution, 2
		}), bytesOnly(t))
		counts := make([]int, 3)
		for _, r := range requests {
			counts[slices.Index(names, r.LoRA)]++
		}
		if x := chiSquare(counts, want); x > 13.8 { // 2 degrees of freedom
			t.Errorf("%s: chi-square %.1f: %v", distribution, x, counts)
		}
	}
	requests, _ := build(t, of("random", "", func(s *Spec) {
		s.N, s.InputLen, s.LoRANames, s.LoRADistribution = 4, 2, names, "distinct"
	}), bytesOnly(t))
	if got := requests[0].LoRA + requests[1].LoRA + requests[2].LoRA + requests[3].LoRA; got != "abca" {
		t.Errorf("distinct: %s", got)
	}
}

func TestSharedPrefix(t *testing.T) {
	tok := unlisted{tokenizers(t)["qwen3"]} // no BOS
	spec := of("generated-shared-prefix", "", func(s *Spec) {
		s.Prefix = PrefixSpec{Groups: 3, PerGroup: 4, SystemLen: 60, QuestionLen: 9, OutputLen: 5, RangeRatio: 1,
			Turns: 2, Ordered: true, SendRoutingKey: true, Distribution: "uniform"}
		s.Start = time.Date(2025, 2, 3, 4, 5, 6, 0, time.UTC)
	})
	requests, _ := build(t, spec, tok)
	if len(requests) != 12 {
		t.Fatalf("%d requests", len(requests))
	}
	keys, systems := map[string]bool{}, map[string]bool{}
	for i, r := range requests {
		system, question, _ := strings.Cut(r.Prompt, "\n\n")
		second := r.Rounds[1]
		for _, c := range []struct {
			what      string
			got, want any
		}{
			{"its tokens", len(tok.tok.Encode(system, false)), 60},
			{"tokens of the question", len(tok.tok.Encode(question, false)), 9},
			{"prompt_len", r.PromptLen, len(tok.tok.Encode(r.Prompt, true))},
			{"output_len", r.OutputLen, 5},
			{"rounds", len(r.Rounds), 2},
			{"the first round", r.Rounds[0].Prompt, r.Prompt},
			{"tokens of the second", []int{second.PromptLen, len(tok.tok.Encode(second.Prompt, false))}, []int{9, 9}},
			{"group", r.RoutingKey[len(r.RoutingKey)-1], "012"[i/4]},
			{"time in the key", strings.Split(r.RoutingKey, "_")[1], "20250203040506"},
			{"digits of the key", len(strings.Split(r.RoutingKey, "_")[0]), 8},
		} {
			if fmt.Sprint(c.got) != fmt.Sprint(c.want) {
				t.Errorf("request %d: %s: got %v, want %v", i, c.what, c.got, c.want)
			}
		}
		keys[r.RoutingKey], systems[system] = true, true
	}
	if len(keys) != 3 || len(systems) != 3 {
		t.Errorf("%d keys and %d system prompts in 3 groups", len(keys), len(systems))
	}

	spec.Prefix.Ordered = false
	shuffled, _ := build(t, spec, tok)
	var a, b []string
	for i := range requests {
		a, b = append(a, requests[i].Prompt), append(b, shuffled[i].Prompt)
	}
	sameSet(t, b, a)
	if slices.Equal(a, b) {
		t.Error("the order is that of the groups though --gsp-ordered is off")
	}

	spec.Prefix.Fast, spec.Prefix.Turns = true, 1
	fast, _ := build(t, spec, tok)
	for _, r := range fast {
		if r.PromptLen != 1 || r.Rounds != nil {
			t.Errorf("fast, one turn: prompt_len %d, rounds %v", r.PromptLen, r.Rounds)
		}
	}
}

// zipf draws only the group: questions and system prompts are the same as with uniform.
func TestSharedPrefixZipf(t *testing.T) {
	spec := of("generated-shared-prefix", "", func(s *Spec) {
		s.Prefix = PrefixSpec{Groups: 5, PerGroup: 400, SystemLen: 3, QuestionLen: 2, OutputLen: 1, RangeRatio: 1, Turns: 1, Ordered: true, Distribution: "uniform"}
	})
	tok := unlisted{bytesOnly(t)}
	uniform, _ := build(t, spec, tok)
	spec.Prefix.Distribution, spec.Prefix.ZipfAlpha = "zipf", 1.2
	skewed, _ := build(t, spec, tok)
	counts := make([]int, 5)
	for i := range skewed {
		if skewed[i].Prompt[3:] != uniform[i].Prompt[3:] {
			t.Fatalf("question %d differs", i)
		}
		counts[slices.IndexFunc(uniform, func(r Request) bool { return r.Prompt[:3] == skewed[i].Prompt[:3] })/400]++
	}
	if x := chiSquare(counts, func(i int) float64 { return math.Pow(float64(i+1), -1.2) }); x > 18.5 { // 4 degrees of freedom
		t.Errorf("chi-square %.1f: %v", x, counts)
	}
}

// The same seed gives the same plan, another seed another plan.
func TestSeeds(t *testing.T) {
	tok := tokenizers(t)["llama3"]
	for _, spec := range []Spec{
		of("random", "", func(s *Spec) { s.N, s.InputLen = 30, 40 }),
		of("random", "sharegpt.json", func(s *Spec) { s.N, s.InputLen = 4, 40 }),
		of("random-ids", "", func(s *Spec) { s.N, s.InputLen, s.TokenIDs = 30, 40, true }),
		of("sharegpt", "sharegpt.json", nil),
		of("generated-shared-prefix", "", func(s *Spec) { s.Prefix.Groups, s.Prefix.SystemLen, s.Prefix.SendRoutingKey = 2, 30, true }),
		of("image", "", func(s *Spec) { s.N, s.InputLen, s.Image.Resolution = 6, 9, "random:4x4-30x30" }),
	} {
		hash := func(seed int64) string {
			s := spec
			s.Seed = seed
			requests, _ := build(t, s, tok)
			return Hash(requests, nil)
		}
		if first, again := hash(7), hash(7); first != again {
			t.Errorf("%s %s: one seed, two plans", spec.Dataset, spec.Path)
		}
		if hash(7) == hash(8) {
			t.Errorf("%s %s: two seeds, one plan", spec.Dataset, spec.Path)
		}
	}
}

// Without a tokenizer lengths are estimates, and the result says so.
func TestEstimate(t *testing.T) {
	requests, notes := build(t, of("random", "", func(s *Spec) { s.N, s.InputLen, s.RangeRatio = 5, 100, 1 }), nil)
	for _, r := range requests {
		if r.PromptLen != 100 || len(r.Prompt) != 400 {
			t.Errorf("%d tokens: %q", r.PromptLen, r.Prompt)
		}
	}
	if !strings.Contains(strings.Join(notes, "\n"), "lengths are estimates of one token per 4 characters") {
		t.Errorf("%q", notes)
	}
	if _, _, err := tryBuild(of("random", "", func(s *Spec) { s.N, s.TokenIDs = 1, true }), nil); err == nil || !strings.Contains(err.Error(), "--tokenize-prompt needs a tokenizer") {
		t.Error(err)
	}
	long := "Ein Satz mit Umlauten: äöü."
	if ids, _ := (Estimate{}).Encode(t.Context(), []string{long, ""}, true); len(ids[0]) != 7 || len(ids[1]) != 0 {
		t.Errorf("%d characters: %v", len([]rune(long)), ids)
	}
}

func BenchmarkFit(b *testing.B) {
	tok, err := tokenizer.ByteLevel(50000)
	if err != nil {
		b.Fatal(err)
	}
	spec := of("random", "", func(s *Spec) { s.N, s.InputLen, s.RangeRatio = 200, 1024, 1 })
	for b.Loop() {
		if _, _, err := tryBuild(spec, NewLocal(tok, "")); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(200*float64(b.N)/b.Elapsed().Seconds(), "prompts/s")
}
