package explain_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/packedtest"
	"github.com/stepscope/stepscope/internal/testing/sqlitedb"
	"github.com/stepscope/stepscope/internal/tracefile/read/nsysdb"
	"github.com/stepscope/stepscope/trace"
)

// Other engines name the same work differently. The tests rename steps and ranges of real captures; the results must equal
// those of the original.

// engine holds the names that an engine gives to steps and to the ranges within them.
type engine struct {
	name    string
	prefill func(n, requests, tokens int) string
	decode  func(n, requests int) string
	within  []string // ranges in sequence from the beginning to the end of a step
	rule    string   // rule by which steps are found
}

var engines = []engine{
	{
		"vLLM",
		func(_, requests, tokens int) string {
			return fmt.Sprintf("execute_context_%d(%d)_generation_0(0)", requests, tokens)
		},
		func(_, requests int) string {
			return fmt.Sprintf("execute_context_0(0)_generation_%d(%[1]d)", requests)
		},
		[]string{"gpu_model_runner: preprocess", "gpu_model_runner: forward", "gpu_model_runner: postprocess", "gpu_model_runner: sample", "gpu_model_runner: bookkeep"},
		trace.ByAnnotations,
	},
	{
		"vLLM in 2025-08",
		func(_, requests, _ int) string { return fmt.Sprintf("execute_new_%d_cached_0", requests) },
		func(_, requests int) string { return fmt.Sprintf("execute_new_0_cached_%d", requests) },
		[]string{"Preprocess", "Forward", "Postprocess", "Sample", "Bookkeep"},
		trace.ByAnnotations,
	},
	{
		"TensorRT-LLM",
		func(n, requests, tokens int) string {
			return fmt.Sprintf("[Executor] _forward_step %d: %d ctx reqs, %d ctx tokens, 0 gen reqs", n, requests, tokens)
		},
		func(n, requests int) string {
			return fmt.Sprintf("[Executor] _forward_step %d: 0 ctx reqs, 0 ctx tokens, %d gen reqs", n, requests)
		},
		[]string{"_prepare_inputs", "_preprocess_inputs", "_forward_step_inner"},
		trace.ByAnnotations,
	},
	{
		"TensorRT-LLM of an older release",
		func(n, requests, _ int) string {
			return fmt.Sprintf("[Executor] _forward_step %d: %d ctx reqs, 0 gen reqs", n, requests)
		},
		func(n, requests int) string {
			return fmt.Sprintf("[Executor] _forward_step %d: 0 ctx reqs, %d gen reqs", n, requests)
		},
		nil,
		trace.ByAnnotations,
	},
	{ // scopes without step annotations, as without an annotating profiler
		"vLLM's scopes alone",
		func(int, int, int) string { return "gpu_model_runner: execute" },
		func(int, int) string { return "gpu_model_runner: execute" },
		[]string{"gpu_model_runner: preprocess", "gpu_model_runner: forward", "gpu_model_runner: sample"},
		trace.ByPattern,
	},
}

var (
	sglangStep = regexp.MustCompile(`"step\[(DECODE|EXTEND) bs=(\d+)(?: toks=(\d+))?\]"`)
	sglangHost = regexp.MustCompile(`\{\s*"ph": "X", "cat": "user_annotation", "name": "step\[[^"]*", ("pid": \d+, "tid": \d+),\s*"ts": ([\d.]+), "dur": ([\d.]+)`)
)

// stepsSaid returns the kinds and batches of a report's steps.
func stepsSaid(r *result.Report, batches bool) (out []string) {
	for _, s := range r.Steps {
		line := s.Kind
		if batches {
			line += fmt.Sprintf(" %d", s.Batch)
		}
		out = append(out, line)
	}
	return out
}

// tell renames the steps of a capture to the engine's names, and adds the engine's ranges to the host's annotations.
func (e *engine) tell(text []byte) []byte {
	text = sglangHost.ReplaceAllFunc(text, func(event []byte) []byte {
		m := sglangHost.FindSubmatch(event)
		var ts, dur float64
		fmt.Sscan(string(m[2]), &ts)
		fmt.Sscan(string(m[3]), &dur)
		var b []byte
		for i, name := range e.within {
			part := dur / float64(len(e.within))
			b = fmt.Appendf(b, `{"ph": "X", "cat": "user_annotation", "name": %q, %s, "ts": %.3f, "dur": %.3f, "args": {}},`, name, m[1], ts+float64(i)*part+0.001, part-0.002)
		}
		return append(b, event...)
	})
	n := 0
	return sglangStep.ReplaceAllFunc(text, func(name []byte) []byte {
		var bs, toks int
		m := sglangStep.FindSubmatch(name)
		fmt.Sscan(string(m[2]), &bs)
		fmt.Sscan(string(m[3]), &toks)
		n++
		if string(m[1]) == "EXTEND" {
			return fmt.Appendf(nil, "%q", e.prefill(n, bs, toks))
		}
		return fmt.Appendf(nil, "%q", e.decode(n, bs))
	})
}

// TestEngines renames the steps of Kineto traces to those of other engines.
func TestEngines(t *testing.T) {
	original := explaintest.Analyzed(t, explaintest.RealSet(t, "graph_work"))
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			var files []any
			for rank := range 2 {
				text := e.tell(explaintest.TextOf(t, "graph_work", rank))
				if bytes.Contains(text, []byte("step[")) || len(e.within) > 0 && bytes.Count(text, []byte(e.within[0])) < 10 {
					t.Fatal("steps kept their names, or have no ranges within them")
				}
				files = append(files, fmt.Sprintf("rank%d.1763750000123456789.pt.trace.json", rank), text)
			}
			r := explaintest.Analyzed(t, explaintest.ReadDir(t, explaintest.DirOf(t, files...)))
			if r.Source.StepRule != e.rule {
				t.Errorf("got steps by %q, want %q", r.Source.StepRule, e.rule)
			}
			if got, want := explaintest.Stragglers(r), explaintest.Stragglers(original); !slices.Equal(got, want) {
				t.Errorf("got %q late, want %q%s", got, want, explaintest.Describe(r))
			}
			if got, want := stepsSaid(r, e.rule == trace.ByAnnotations), stepsSaid(original, e.rule == trace.ByAnnotations); !slices.Equal(got, want) {
				t.Errorf("got steps %q, want %q", got, want)
			}
		})
	}
}

// TestEnginesInReports renames the NVTX ranges of an Nsight Systems export to those of other engines.
func TestEnginesInReports(t *testing.T) {
	whole := packedtest.Read(t, filepath.Join("..", "tracefile", "read", "nsysdb", "testdata", "tp4-work.sqlite.zst"))
	said := func(t *testing.T, e *engine) *result.Report {
		path := filepath.Join(t.TempDir(), "report.sqlite")
		if err := os.WriteFile(path, whole, 0o666); err != nil {
			t.Fatal(err)
		}
		if e != nil {
			rename(t, path, e)
		}
		ts, err := nsysdb.Read(context.Background(), path, nsysdb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return explaintest.Analyzed(t, ts)
	}
	original := said(t, nil)
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			r := said(t, &e)
			if r.Source.StepRule != e.rule {
				t.Errorf("got steps by %q, want %q", r.Source.StepRule, e.rule)
			}
			late := func(r *result.Report) (out []string) {
				for _, s := range explaintest.Stragglers(r) {
					out = append(out, strings.Join(strings.Fields(s)[:3], " "))
				}
				return out
			}
			if got, want := late(r), late(original); !slices.Equal(got, want) {
				t.Errorf("got %q late, want %q%s", got, want, explaintest.Describe(r))
			}
			if got, want := stepsSaid(r, false), stepsSaid(original, false); !slices.Equal(got, want) {
				t.Errorf("got steps %q, want %q", got, want)
			}
		})
	}
}

// rename gives step ranges an engine's names, with 16 requests each, and adds ranges within them.
func rename(t *testing.T, path string, e *engine) {
	t.Helper()
	db, err := sqlitedb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	changed := int64(0)
	exec := func(query string, args ...any) {
		done, err := db.Exec(query, args...)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := done.RowsAffected()
		changed += n
	}
	for i, within := range e.within {
		exec(`INSERT INTO NVTX_EVENTS (start, "end", eventType, globalTid, text, domainId)
			SELECT start + ("end" - start) * ?1 / ?2 + 1, start + ("end" - start) * (?1 + 1) / ?2 - 1, eventType, globalTid, ?3, domainId FROM NVTX_EVENTS WHERE text GLOB '* step *'`,
			i, len(e.within), within)
	}
	for n := 54; n <= 58; n++ {
		exec(`UPDATE NVTX_EVENTS SET text = ? WHERE text = ?`, e.decode(n, 16), fmt.Sprintf("DECODE step %d", n))
		exec(`UPDATE NVTX_EVENTS SET text = ? WHERE text = ?`, e.prefill(n, 16, 8192), fmt.Sprintf("EXTEND step %d", n))
	}
	if changed == 0 {
		t.Fatal("no range was renamed")
	}
}
