package kernel

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// byRegexp returns the patterns of the table that package regexp finds.
func byRegexp(text string) (found uint64) {
	all := []*regexp.Regexp{}
	for _, r := range table {
		all = append(all, r.re)
	}
	for i, re := range append(all, carriers, deepGEMMGrouped) {
		if re.MatchString(text) {
			found |= 1 << i
		}
	}
	return found
}

func lookFor(t *testing.T, text string) {
	t.Helper()
	f := finder()
	f.mu.Lock()
	defer f.mu.Unlock()
	if got, want := f.find(text), byRegexp(text); got != want {
		t.Errorf("%q: got patterns %b, want %b as regexp finds", text, got, want)
	}
}

// FuzzAutomaton: one pass over a text finds the same patterns as regexp one by one.
func FuzzAutomaton(f *testing.F) {
	for _, row := range classified {
		for _, name := range row.names {
			f.Add(name)
			f.Add(strings.ToUpper(name) + "\u017foftma\u212a \xff\n" + name)
		}
	}
	f.Fuzz(func(t *testing.T, text string) { lookFor(t, text) })
}

// TestAutomatonBounded: the automaton starts afresh when its states are full, with the same results.
func TestAutomatonBounded(t *testing.T) {
	f := finder()
	for i, text := range hostile(200, 400) {
		f.mu.Lock()
		f.find(text)
		states := len(f.states)
		f.mu.Unlock()
		if states > mostStates+1 {
			t.Fatalf("got %d states, want at most %d", states, mostStates+1)
		}
		if i%50 == 0 {
			lookFor(t, text)
		}
	}
}

// hostile returns texts of random words of the table, so that most patterns are about to match at once.
func hostile(n, words int) []string {
	var parts []string
	for _, r := range table {
		for _, word := range strings.FieldsFunc(r.re.String(), func(r rune) bool { return !isWord(byte(r)) }) {
			parts = append(parts, word[:max(1, len(word)-1)])
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	texts := make([]string, n)
	for i := range texts {
		var b strings.Builder
		for range words {
			b.WriteString(parts[rng.IntN(len(parts))])
			b.WriteByte("_ <>:,a1"[rng.IntN(8)])
		}
		texts[i] = b.String()
	}
	return texts
}

// TestHostileNames: a name of a megabyte, classified and shortened, takes less than 10 s.
func TestHostileNames(t *testing.T) {
	for what, name := range map[string]string{
		"words": hostile(1, 200_000)[0], "open": strings.Repeat("<", 1<<20), "nested": strings.Repeat("a<", 1<<19), "pairs": strings.Repeat("a<b>(c)::", 1<<17),
		"operators": strings.Repeat("operator<", 1<<17), "mangled": "_ZN" + strings.Repeat("3abc", 1<<18), "clones": strings.Repeat(" [clone a]", 1<<17),
		"one word": strings.Repeat("a", 1<<20), "arguments": "f<" + strings.Repeat("(bool)1, ", 1<<17) + "0>(int)", "anonymous": strings.Repeat("(anonymous namespace)::", 1<<15),
	} {
		began := time.Now()
		Classify(name, "kernel")
		Collective(name)
		Short(name)
		Normalize(name)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: took %v, want at most 10 s", what, took)
		} else {
			t.Logf("%s: took %v", what, took)
		}
	}
}

// names returns n distinct names in the style of CUTLASS, Triton, PyTorch and NCCL.
func names(n int) []string {
	out := make([]string, n)
	for i := range out {
		switch i % 5 {
		case 0:
			out[i] = fmt.Sprintf("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<%d, cute::tuple<cute::C<1>, cute::C<2>, cute::C<1> >>, cute::tuple<cute::C<64>, cute::C<%d>, cute::C<64> >, cutlass::bfloat16_t> > >(Params)", i%7, i)
		case 1:
			out[i] = fmt.Sprintf("triton_poi_fused_add_mul_silu_%d", i)
		case 2:
			out[i] = fmt.Sprintf("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<c10::BFloat16>, std::array<char*, %dul> >(int, at::native::FillFunctor<c10::BFloat16>, std::array<char*, 1ul>)", i)
		case 3:
			out[i] = fmt.Sprintf("_fwd_grouped_kernel_stage1_%d", i)
		case 4:
			out[i] = fmt.Sprintf("my_model_block_%x_epilogue_v%d", i*7919, i)
		}
	}
	return out
}

// TestClassifyFast checks the median time for a new name, among many.
func TestClassifyFast(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: measures times")
	}
	all := names(200_000)
	took := make([]time.Duration, len(all))
	for i, name := range all {
		began := time.Now()
		Classify(name, "kernel")
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	median := took[len(took)/2]
	t.Logf("median %v, p99 %v, largest %v", median, took[len(took)*99/100], took[len(took)-1])
	if median > fast {
		t.Errorf("the median is %v, want at most %v", median, fast)
	}
}

// fast is the limit of the median: 2 µs on a fast machine, with a margin for slow or busy ones.
const fast = 20 * time.Microsecond

func BenchmarkClassifyNew(b *testing.B) {
	all := names(200_000)
	b.ResetTimer()
	for i := range b.N {
		Classify(all[i%len(all)], "kernel")
	}
}
