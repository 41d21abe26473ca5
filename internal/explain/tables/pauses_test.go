package tables_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// TestPauses checks the cause of device idle time before the last step.
func TestPauses(t *testing.T) {
	const ms = 1_000_000
	decode := func(ids ...string) (s string) {
		return fmt.Sprintf("step[DECODE bs=%d] %s", len(ids), strings.Join(ids, ","))
	}
	prefill := func(ids ...string) string {
		return fmt.Sprintf("step[EXTEND bs=%d toks=9] %s", len(ids), strings.Join(ids, ","))
	}
	few := []string{decode("a"), decode("a"), decode("a"), decode("a"), decode("a")}
	bare := []string{"step[DECODE bs=1]", "step[DECODE bs=1]", "step[DECODE bs=1]", "step[DECODE bs=1]"}
	fills := []string{"step[EXTEND bs=1 toks=9]", "step[EXTEND bs=1 toks=9]", "step[EXTEND bs=1 toks=9]"}
	several := []string{"step[DECODE bs=4]", "step[DECODE bs=4]", "step[DECODE bs=4]", "step[DECODE bs=4]"}
	image := []string{"denoising_step_0_t1000", "denoising_step_1_t750", "denoising_step_2_t500", "denoising_step_3_t250"}
	vllm := []string{"execute_context_0(0)_generation_8(8)", "execute_context_0(0)_generation_8(8)", "execute_context_0(0)_generation_8(8)"}
	mixed := []string{"step[EXTEND bs=2 toks=9]", "step[DECODE bs=2]", "step[DECODE bs=2]", "step[DECODE bs=2]"}
	for _, c := range []struct {
		name  string
		steps []string // "NAME IDS"
		last  []string // the last one, after a while, and the work right after it
		while int64
		want  string // largest cause of idle time
		none  bool   // certainly without requests
	}{
		{"its request continues", few, []string{decode("a")}, 300 * ms, "host", false},
		{"another request comes", few, []string{decode("b")}, 300 * ms, "between", true},
		{"another request comes at once", few, []string{decode("b")}, ms / 2, "host", false},
		{"one of two requests continues", append(few, decode("a", "b")), []string{decode("b", "c")}, 300 * ms, "host", false},
		{"a request continues after the prefill of another", few, []string{prefill("b"), decode("a", "b")}, 300 * ms, "host", false},
		{"no request continues after a prefill", few, []string{prefill("b"), decode("b")}, 300 * ms, "between", true},
		{"a chunked prompt", []string{prefill("a"), prefill("b")}, []string{prefill("b")}, 300 * ms, "host", false},
		{"no ids, a decode server or a slow host", bare, []string{"step[DECODE bs=1]"}, 300 * ms, "between", false},
		{"no ids, decode alone, a batch as large as before", several, []string{"step[DECODE bs=4]"}, 300 * ms, "host", false},
		{"no ids, decode alone, one request of the batch ended", several, []string{"step[DECODE bs=3]"}, 300 * ms, "host", false},
		{"no ids, decode alone, one request left or new", several, []string{"step[DECODE bs=1]"}, 300 * ms, "between", false},
		{"no ids, vLLM's decode steps", vllm, []string{"execute_context_0(0)_generation_8(8)"}, 300 * ms, "host", false},
		{"the next denoising step of an image", image, []string{"denoising_step_4_t100"}, 300 * ms, "host", false},
		{"another image", image, []string{"denoising_step_0_t1000"}, 300 * ms, "between", false},
		{"no ids, not far above the usual gap", bare, []string{"step[DECODE bs=1]"}, ms / 2, "host", false},
		{"no ids, a server that prefills", mixed, []string{"step[DECODE bs=2]"}, 300 * ms, "host", false},
		{"no ids, more requests decode than were prefilled", mixed, []string{"step[EXTEND bs=1 toks=9]", "step[DECODE bs=3]"}, 300 * ms, "host", false},
		{"no ids, as many requests decode as were prefilled", mixed, []string{"step[EXTEND bs=1 toks=9]", "step[DECODE bs=1]"}, 300 * ms, "between", false},
		{"no ids, prefills alone", fills, []string{"step[EXTEND bs=1 toks=9]"}, 300 * ms, "between", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			y := toytrace.New()
			at := int64(0)
			step := func(text string, after int64) {
				at += after
				name, ids, _ := strings.Cut(text, "] ")
				if strings.HasPrefix(name, "step[") {
					name = strings.TrimSuffix(name, "]") + "]"
				}
				s := y.Span(trace.UserAnnotation, 0, name, at, at+ms)
				if ids != "" {
					s.Detail = int32(y.T.Strings.Intern([]byte(ids)))
				}
				y.Run("gemm", at+10, at+100, at+ms, 1)
				at += ms
			}
			for _, s := range c.steps {
				step(s, ms/20)
			}
			step(c.last[0], c.while)
			for _, s := range c.last[1:] {
				step(s, ms/20)
			}
			r := explaintest.Analyzed(t, []*trace.Trace{y.Done()})
			all := r.Times[0].Time
			got := "host"
			if all.IdleBy.Between > all.IdleBy.Host {
				got = "between"
			}
			if got != c.want || all.IdleBy.Between > 0 && (all.IdleBy.Between < c.while-ms/10 || all.IdleBy.Between > c.while) {
				t.Errorf("got largest cause of idle time %s, want %s: %+v", got, c.want, all.IdleBy)
			}
			if (all.Waiting > 0) != c.none {
				t.Errorf("got %d ns certainly without requests, want some: %v", all.Waiting, c.none)
			}
			long := c.while > 100*ms
			if late := 4*all.IdleBy.Late() > all.Total-all.IdleBy.Between; late != (c.want == "host" && long) {
				t.Errorf("the host causes more than a quarter of the time: got %v, want %v%s", late, !late, explaintest.Describe(r))
			}
			if explaintest.Has(r, result.HostBound) {
				t.Errorf("got host-bound steps from a single gap%s", explaintest.Describe(r))
			}
			said := false
			for _, f := range r.Findings {
				said = said || f.ID == "data-between" && strings.Contains(report.Words(f.Title), "no request was running") == c.none
			}
			if said != (c.want == "between") {
				t.Errorf("finding data-between about the time without steps: got %v, want %v%s", said, !said, explaintest.Describe(r))
			}
		})
	}
}

// TestPauseOfOneRank: a rank whose host begins a step later than the others' was busy, whatever the step's requests.
func TestPauseOfOneRank(t *testing.T) {
	const ms = 1_000_000
	var ts []*trace.Trace
	for _, late := range []int64{0, 100 * ms} {
		y := toytrace.New()
		for i, at := range []int64{0, 2 * ms, 200*ms + late} {
			s := y.Span(trace.UserAnnotation, 0, "step[DECODE bs=1]", at, at+ms)
			s.Detail = int32(y.T.Strings.Intern(fmt.Appendf(nil, "r%d", i)))
			y.Run("gemm", at+10, at+100, at+ms, 1)
		}
		y.T.Source.Rank = trace.Rank{TP: len(ts), DP: -1, PP: -1, EP: -1}
		ts = append(ts, y.Done())
	}
	r := explaintest.Analyzed(t, ts)
	for _, row := range r.Times {
		host, ok := map[string]int64{"TP00": ms, "TP01": 101 * ms}[row.Rank]
		if !ok || row.Kind != "all" {
			continue
		}
		apart := func(a, b int64) int64 { return max(a-b, b-a) }
		if by := row.IdleBy; apart(by.Host, host) > 2*ms || apart(by.Between, 197*ms) > 2*ms {
			t.Errorf("%s: got idle time %+v, want %d ns by the host", row.Rank, by, host)
		}
	}
}

// TestPauseWithIdleReplicas: replicas that step together (data-parallel attention) wait for each other's requests, so
// the requests of a busy replica count for an idle one.
func TestPauseWithIdleReplicas(t *testing.T) {
	const ms = 1_000_000
	for _, c := range []struct{ name, last, want string }{
		{"the request of the other replica continues", "a", "host"},
		{"the other replica gets a new request", "b", "between"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ts []*trace.Trace
			for dp := range 2 {
				y := toytrace.New()
				for i := range int64(6) {
					at, id := 2*i*ms, "a"
					if i == 5 {
						at, id = 300*ms, c.last
					}
					if dp == 0 {
						s := y.Span(trace.UserAnnotation, 0, "step[DECODE bs=1]", at, at+ms)
						s.Detail = int32(y.T.Strings.Intern([]byte(id)))
					} else {
						y.Span(trace.UserAnnotation, 0, "step[IDLE bs=0]", at, at+ms)
					}
					y.Run("gemm", at+10, at+100, at+ms/2, 1)
					y.Run(toytrace.AllReduce, at+ms/2, at+ms/2+100, at+ms, 1)
				}
				y.T.Source.Rank = trace.Rank{TP: dp, DP: dp, PP: -1, EP: -1}
				y.T.Source.World = trace.World{Known: true, Rank: dp, Size: 2}
				ts = append(ts, y.Done())
			}
			for _, row := range explaintest.Analyzed(t, ts).Times {
				if row.Rank == "all" || row.Kind != "all" {
					continue
				}
				by := map[string]int64{"host": row.IdleBy.Host, "between": row.IdleBy.Between}
				if by[c.want] < 280*ms {
					t.Errorf("%s: got idle time %+v, want it caused by %s", row.Rank, row.IdleBy, c.want)
				}
			}
		})
	}
}

// TestStalls: a scheduler that occasionally takes 50 ms between two steps of the same requests is a slow host, however
// the window was recorded.
func TestStalls(t *testing.T) {
	const ms = 1_000_000
	for _, c := range []struct {
		name  string
		first []string
		step  string
		why   string
	}{
		{"decode of SGLang", nil, "step[DECODE bs=16]", "idle time caused by the host"},
		{"decode of vLLM", nil, "execute_context_0(0)_generation_16(16)", "idle time caused by the host"},
		{"after prefills", []string{"step[EXTEND bs=1 toks=64]"}, "step[DECODE bs=1]", "idle time caused by the host"},
		{"a single request, possibly of a decode server", nil, "step[DECODE bs=1]", "the trace does not show"},
	} {
		t.Run(c.name, func(t *testing.T) {
			y, at := toytrace.New(), int64(0)
			step := func(name string) {
				y.Span(trace.UserAnnotation, 0, name, at, at+ms)
				y.Run("gemm", at+10, at+100, at+ms, 1)
				at += ms + ms/20
			}
			for _, name := range c.first {
				step(name)
			}
			stalled := map[int]bool{6: true, 11: true}
			for i := range 16 {
				step(c.step)
				if stalled[i] {
					at += 50 * ms
				}
			}
			r := explaintest.Analyzed(t, []*trace.Trace{y.Done()})
			for i := range 16 {
				s := r.Steps[len(c.first)+i]
				if s.Slow != stalled[i] || s.Slow && !strings.Contains(report.Words(s.Why), c.why) {
					t.Errorf("step %d: got slow %v, why %q, want %v, %q", s.Step, s.Slow, s.Why, stalled[i], c.why)
				}
			}
			all := r.Times[0].Time
			if known := c.why == "idle time caused by the host"; 4*all.IdleBy.Late() > all.Total-all.IdleBy.Between != known {
				t.Errorf("the host causes more than a quarter of the time: got %v, want %v%s", !known, known, explaintest.Describe(r))
			}
			if explaintest.Has(r, result.HostBound) {
				t.Errorf("got host-bound steps from two gaps%s", explaintest.Describe(r))
			}
		})
	}
}
