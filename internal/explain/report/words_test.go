package report

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/fact"
)

func TestWords(t *testing.T) {
	late := fact.Of("late_since", "first", 7)
	for _, c := range []struct {
		f    fact.Fact
		want string
	}{
		{fact.Fact{}, ""},
		{fact.Name("a name: {ns}"), "a name: {ns}"},
		{fact.Of("no such key", "n", 1), "no such key n=1"},
		{late, "from step 7 on"},
		{fact.Of("late_kind", "kind", "decode", "when", late), "in decode steps, from step 7 on"},
		{fact.Of("late_recurring", "n", 6, "of", 90, "steps", []int{1, 4, 9, 11, 30, 31}), "intermittently, in 6 of 90 steps (1, 4, 9, 11, 30, …)"},
		{fact.Of("cores", "ranks", []string{"TP00", "TP01"}, "cost", int64(1500)), "too few CPU cores: the software devices of TP00, TP01 wait for a core, and the other ranks wait 1.50 µs a step for them; hosts and devices that cost less than twice that are not named"},
		{fact.Of("late_cost", "cost", 2e6, "share", 0.123), "the others wait 2.00 ms a step for it, 12.3 % of their time"},
		{fact.Of("excess", "parts", []fact.Fact{fact.Of("excess_host", "ns", 417), fact.Of("excess_work", "ns", 10)}),
			"between collectives it takes longer a step than the rank with the median arrival: 417 ns (its host launches late), 10 ns (more or larger kernels, including their launches)"},
		{fact.Of("kernel_more", "kernel", "void f<int>(int)", "ns", 1.0, "more", fact.Fact{}), "more work in f<int>: 1 ns a step more than on the other ranks"},
		{fact.Of("verdict_worth", "which", fact.Of("worth_steps", "kind", "idle"), "step", int64(43_300_000), "without", int64(41_500_000), "tokens", fact.Of("worth_tokens", "is", 369, "without", 387)),
			". Fixing it: 43.3 → 41.5 ms an idle step, 369 → 387 tok/s"},
		{fact.Of("transfers_before", "was", 900e3, "is", 1.2e6), "collectives without waiting: 900 µs → 1.20 ms a step"},
		{fact.Of("compared_step", "kind", "", "a", 40e6, "b", 38e6, "change", -0.05, "p", 0.025), "a step is 5 % faster: 40.0 → 38.0 ms (p 0.025)"},
		{fact.Of("worse_steps", "figure", "host_gap", "kind", "decode", "batch", fact.Of("with_batch", "batch", 8), "change", 0.3, "low", 0.2, "high", 0.4),
			"host gap of decode steps, batch 8: +30.0 % (+20.0 % … +40.0 %)"},
	} {
		if got := Words(c.f); got != c.want {
			t.Errorf("%v:\ngot  %s\nwant %s", c.f, got, c.want)
		}
	}
	ranks := []string{"TP00", "TP01", "TP02", "TP03", "TP04"}
	if got := Words(fact.Of("comm_latency", "ranks", ranks)); !strings.HasPrefix(got, "5 ranks (TP00 to TP04) take turns leaving") {
		t.Error(got)
	}
	for by, want := range map[float64]string{0.655: "65.5 % longer than", 8.99: "899 % longer than", 9: "10 times as long as", 1382.74: "1,383 times as long as"} {
		if got := formats["more"](by); got != want {
			t.Errorf("%v: %q, want %q", by, got, want)
		}
	}
}

// TestWordsInJSON: JSON shows words, and what was read back keeps them.
func TestWordsInJSON(t *testing.T) {
	text, err := json.Marshal(fact.Name(Words(fact.Of("part_copy"))))
	var back fact.Fact
	if err != nil || string(text) != `"copies"` || json.Unmarshal(text, &back) != nil || Words(back) != "copies" {
		t.Errorf("%s, %v, %v", text, back, err)
	}
}

// TestWordings holds the wordings against the source: each fact that is made has
// words, each of their blanks is filled by what the fact has, in a format that
// exists, and no words are left without a fact.
func TestWordings(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isFact(call) {
				wording(t, set.Position(call.Pos()).String(), call, used)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for key := range wordings {
		if !used[key] {
			t.Errorf("nothing is said by the words of %q", key)
		}
	}
}

func isFact(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "Of" {
		return false
	}
	pkg, ok := f.X.(*ast.Ident)
	return ok && pkg.Name == "fact"
}

// wording holds one call of fact.Of against the words of its key.
func wording(t *testing.T, at string, call *ast.CallExpr, used map[string]bool) {
	var keys []string
	switch key := call.Args[0].(type) {
	case *ast.BasicLit:
		keys = []string{unquoted(key)}
	case *ast.BinaryExpr: // a part of the key is chosen: all of that beginning
		begin := unquoted(key.X)
		for k := range wordings {
			if begin != "" && strings.HasPrefix(k, begin) {
				keys = append(keys, k)
			}
		}
	}
	var names []string
	for i := 1; i < len(call.Args); i += 2 {
		names = append(names, unquoted(call.Args[i]))
	}
	if len(keys) == 0 || len(call.Args)%2 == 0 || slices.Contains(names, "") {
		t.Errorf("%s: write the key and the names as strings, in pairs", at)
	}
	_, chosen := call.Args[0].(*ast.BinaryExpr)
	for _, key := range keys {
		text, ok := wordings[key]
		if !ok {
			t.Errorf("%s: no words for %q", at, key)
		}
		used[key] = true
		for _, b := range blank.FindAllString(text, -1) {
			name, format, formatted := strings.Cut(b[1:len(b)-1], ":")
			for _, name := range strings.Split(name, arrow) {
				if !slices.Contains(names, name) && !chosen {
					t.Errorf("%s: the words of %q want %s", at, key, name)
				}
			}
			if formatted && formats[format] == nil {
				t.Errorf("the words of %q want %s in a format that does not exist", key, b)
			}
		}
	}
}

func unquoted(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}
	s, _ := strconv.Unquote(lit.Value)
	return s
}
