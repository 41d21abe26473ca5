package light

import (
	"encoding/csv"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// traceLensRow is a row of one of TraceLens's tables, by column.
type traceLensRow map[string]string

func (r traceLensRow) number(column string) float64 {
	f, _ := strconv.ParseFloat(r[column], 64)
	return f
}

func (r traceLensRow) param(name string) int { return int(r.number("param: " + name)) }

// bytes returns the bytes of a row. TraceLens gives MiB.
func (r traceLensRow) bytes() float64 { return r.number("Data Moved (MB)_first") * (1 << 20) }

func (r traceLensRow) flops() float64 { return r.number("GFLOPS_first") * 1e9 }

// traceLens reads all tables of the given name in a checkout of https://github.com/AMD-AGI/TraceLens, the directory of
// which STEPSCOPE_TRACELENS names.
func traceLens(t *testing.T, name string) (rows []traceLensRow) {
	t.Helper()
	root := os.Getenv("STEPSCOPE_TRACELENS")
	if root == "" {
		t.Skip("STEPSCOPE_TRACELENS is not set")
	}
	err := filepath.WalkDir(filepath.Join(root, "tests", "traces"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != name {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		list, err := csv.NewReader(f).ReadAll()
		if err != nil || len(list) == 0 {
			return err
		}
		for _, line := range list[1:] {
			row := traceLensRow{"path": path}
			for i, column := range list[0] {
				row[column] = line[i]
			}
			rows = append(rows, row)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// enough fails if fewer rows were compared than the tables of 2026 have.
func enough(t *testing.T, what string, got, want int) {
	t.Helper()
	if got < want {
		t.Errorf("%d %s compared, want at least %d", got, what, want)
	}
}

// TestTraceLensProducts compares bytes and FLOPs of all products in bf16 with those of TraceLens, which also counts the
// additions of a bias.
func TestTraceLensProducts(t *testing.T) {
	compared := 0
	for _, r := range traceLens(t, "GEMM.csv") {
		if !strings.Contains(r["param: dtype_A_B"], "BFloat16") {
			continue
		}
		compared++
		m, n, k, batch := r.param("M"), r.param("N"), r.param("K"), float64(max(r.param("B"), 1))
		bias := r["param: bias"] == "True"
		w := product("", m, n, k, plain, bias)
		if bias {
			w.FLOPs += float64(m) * float64(n)
		}
		if !close(batch*w.Bytes(), r.bytes(), 0.001) || !close(batch*w.FLOPs, r.flops(), 0.001) {
			t.Errorf("%s: %v × [%d,%d,%d]: %.0f bytes, %.0f FLOPs, want %.0f, %.0f", r["path"], batch, m, n, k, batch*w.Bytes(), batch*w.FLOPs, r.bytes(), r.flops())
		}
	}
	enough(t, "products", compared, 300)
}

// work returns the attention and the KV write of a layer without a window, and the attention of one with it.
func (r traceLensRow) work(window int, step trace.Step) (attention, write, windowed Work) {
	m := &Model{Hidden: 1, Layers: 2, Heads: r.param("H_Q"), KVHeads: r.param("H_KV"), HeadDim: r.param("d_h_qk"), Inter: 1, Vocab: 1,
		Windows: []int{0, window}, Sparse: make([]bool, 2), Weight: plain, Attention: plain}
	if shape := strings.Split(strings.Trim(r["param: op_shape"], "()"), ", "); len(shape) == 2 { // rows, width
		m.KVHeads, m.HeadDim = 1, int(traceLensRow{"": shape[1]}.number(""))
	}
	c := comparer{a: &match.Aligned{}}
	b, _ := c.batch(&match.Rank{Rank: &prep.Rank{Steps: []prep.Step{{Info: step}}}}, 0)
	b.KVBytes = actBytes
	for i := range m.Layers {
		for _, w := range m.Layer(i, Layout{1, 1, 1, 1, 1}, b) {
			switch {
			case w.Role == Attention && i == 0:
				attention = w
			case w.Role == Attention:
				windowed = w
			case w.Role == KVWrite:
				write = w
			}
		}
	}
	return attention, write, windowed
}

// TestTraceLensAttention compares bytes and FLOPs of attention in servers with those of TraceLens. It leaves out half of the
// pairs of a prefill token and itself (c_sq/2). It also ignores windows: a layer of gpt-oss-20b would then read faster than
// the memory of its MI300X, and ours gives a bound there.
func TestTraceLensAttention(t *testing.T) {
	mi300, _ := FindDevice("AMD Instinct MI300X")
	compared, windows := 0, 0
	for _, r := range traceLens(t, "InferenceAttention_fwd.csv") {
		compared++
		length := func(phase string) trace.Lengths {
			return trace.Lengths{Q: r.param(phase + "_sq"), K: r.param(phase + "_sk"), QQ: r.param(phase + "_sqsq"), QK: r.param(phase + "_sqsk")}
		}
		if shape := r["param: op_shape"]; shape != "" {
			rows := int(traceLensRow{"": strings.Split(strings.Trim(shape, "()"), ",")[0]}.number(""))
			if _, w, _ := r.work(0, trace.Step{Kind: trace.Decode, Batch: rows, Tokens: rows}); !close(w.Bytes(), r.bytes(), 0.001) {
				t.Errorf("%s: KV write of %s: %.0f bytes, want %.0f", r["path"], shape, w.Bytes(), r.bytes())
			}
			continue
		}
		c, g := length("c"), length("g")
		w, _, windowed := r.work(128, trace.Step{Kind: trace.Mixed, Batch: max(g.Q, 2), Tokens: c.Q + g.Q, Context: c, Generation: g})
		if r.number("TB/s_mean")*1e12 > mi300.Memory {
			windows++
			if !windowed.Unknown || windowed.Bytes() > r.bytes()/10 {
				t.Errorf("%s: %.0f bytes of a layer with a window, known: %v", r["path"], windowed.Bytes(), !windowed.Unknown)
			}
			continue
		}
		half := 2 * float64(r.param("H_Q")*r.param("d_h_qk")) * float64(c.Q)
		if w.Unknown || !close(w.Bytes(), r.bytes(), 0.001) || !close(w.FLOPs, r.flops()+half, 0.001) {
			t.Errorf("%s: %.0f bytes, %.0f FLOPs, want %.0f, %.0f", r["path"], w.Bytes(), w.FLOPs, r.bytes(), r.flops()+half)
		}
	}
	enough(t, "rows of attention", compared, 7)
	enough(t, "layers with a window", windows, 1)
}

// TestTraceLensCausal does the same for attention by torch, of requests of equal length.
func TestTraceLensCausal(t *testing.T) {
	compared := 0
	for _, r := range traceLens(t, "SDPA_fwd.csv") {
		if r["param: causal"] != "True" || !strings.Contains(r["param: dtype_A_B"], "BFloat16") || r.param("N_Q") != r.param("N_KV") || r.param("d_h_qk") != r.param("d_h_v") {
			continue
		}
		compared++
		n, q := r.param("B"), r.param("N_Q")
		c := trace.Lengths{Q: n * q, K: n * q, QQ: n * q * q, QK: n * q * q}
		w, _, _ := r.work(0, trace.Step{Kind: trace.Prefill, Batch: n, Tokens: n * q, Context: c})
		half := 2 * float64(r.param("H_Q")*r.param("d_h_qk")) * float64(n*q)
		if !close(w.Bytes(), r.bytes(), 0.001) || !close(w.FLOPs, r.flops()+half, 0.001) {
			t.Errorf("%s: %.0f bytes, %.0f FLOPs, want %.0f, %.0f", r["path"], w.Bytes(), w.FLOPs, r.bytes(), r.flops()+half)
		}
	}
	enough(t, "rows of causal attention", compared, 4)
}

// TestTraceLensExperts compares the expected number of experts and the FLOPs with those of TraceLens. Its activations are those
// of a product that reads each token once and also does the activation function; its FP4 weights have no scales.
func TestTraceLensExperts(t *testing.T) {
	compared := 0
	for _, r := range traceLens(t, "MoE_unfused_fwd.csv") {
		compared++
		tokens := r.param("num_tokens")
		m := &Model{Hidden: r.param("hidden_dim"), Experts: r.param("num_experts"), TopK: r.param("topk"), MoEInter: r.param("inter_dim"), Weight: Format{Bytes: 0.5}}
		role := ExpertsOut
		if r["param: gated"] == "True" {
			role = ExpertsIn
		}
		acts := float64(tokens*m.Hidden+tokens*m.TopK*m.MoEInter) * actBytes
		for _, w := range m.moe(Layout{1, 1, 1, 1, 1}, Batch{Tokens: tokens}) {
			if w.Role == role && (!close(w.Weights+acts, r.bytes(), 0.001) || !close(w.FLOPs, r.flops(), 0.001)) {
				t.Errorf("%s: %s: %.0f bytes, %.0f FLOPs, want %.0f, %.0f", r["path"], role, w.Weights+acts, w.FLOPs, r.bytes(), r.flops())
			}
		}
	}
	enough(t, "products of experts", compared, 4)
}

func close(got, want, within float64) bool { return math.Abs(got-want) <= within*math.Abs(want) }
