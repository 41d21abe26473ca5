package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/trace"
)

// TestPauses: whose fault it is that a device idles before the last step.
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
	mixed := []string{"step[EXTEND bs=2 toks=9]", "step[DECODE bs=2]", "step[DECODE bs=2]", "step[DECODE bs=2]"}
	for _, c := range []struct {
		name  string
		steps []string // "NAME IDS"
		last  []string // the last, after a while, and what follows at once
		while int64
		want  string // largest cause of idle time
		none  bool   // for sure without requests
	}{
		{"its request goes on", few, []string{decode("a")}, 300 * ms, "host", false},
		{"another request comes", few, []string{decode("b")}, 300 * ms, "between", true},
		{"another comes at once", few, []string{decode("b")}, ms / 2, "host", false},
		{"one of two goes on", append(few, decode("a", "b")), []string{decode("b", "c")}, 300 * ms, "host", false},
		{"one goes on after a prefill of another", few, []string{prefill("b"), decode("a", "b")}, 300 * ms, "host", false},
		{"none goes on after a prefill", few, []string{prefill("b"), decode("b")}, 300 * ms, "between", true},
		{"a prompt in pieces", []string{prefill("a"), prefill("b")}, []string{prefill("b")}, 300 * ms, "host", false},
		{"no ids, a decode server or a slow host", bare, []string{"step[DECODE bs=1]"}, 300 * ms, "between", false},
		{"no ids, not far above what is usual", bare, []string{"step[DECODE bs=1]"}, ms / 2, "host", false},
		{"no ids, a server that prefills", mixed, []string{"step[DECODE bs=2]"}, 300 * ms, "host", false},
		{"no ids, more decode than were brought", mixed, []string{"step[EXTEND bs=1 toks=9]", "step[DECODE bs=3]"}, 300 * ms, "host", false},
		{"no ids, as many as were brought", mixed, []string{"step[EXTEND bs=1 toks=9]", "step[DECODE bs=1]"}, 300 * ms, "between", false},
		{"no ids, prefills alone", fills, []string{"step[EXTEND bs=1 toks=9]"}, 300 * ms, "between", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			y := newToy()
			at := int64(0)
			step := func(text string, after int64) {
				at += after
				name, ids, _ := strings.Cut(text, "] ")
				s := y.span(trace.UserAnnotation, 0, strings.TrimSuffix(name, "]")+"]", at, at+ms)
				if ids != "" {
					s.Detail = int32(y.t.Strings.Intern([]byte(ids)))
				}
				y.run("gemm", at+10, at+100, at+ms, 1)
				at += ms
			}
			for _, s := range c.steps {
				step(s, ms/20)
			}
			step(c.last[0], c.while)
			for _, s := range c.last[1:] {
				step(s, ms/20)
			}
			r := analyzed(t, []*trace.Trace{y.done()})
			all := r.Times[0].Time
			got := "host"
			if all.IdleBy.Between > all.IdleBy.Host {
				got = "between"
			}
			if got != c.want || all.IdleBy.Between > 0 && (all.IdleBy.Between < c.while-ms/10 || all.IdleBy.Between > c.while) {
				t.Errorf("%s, want %s: %+v", got, c.want, all.IdleBy)
			}
			if (all.waiting > 0) != c.none {
				t.Errorf("for sure without requests: %d ns", all.waiting)
			}
			long := c.while > 100*ms
			if has(r, HostBound) != (c.want == "host" && long) {
				t.Errorf("host-bound: %v%s", has(r, HostBound), describe(r))
			}
			said := false
			for _, f := range r.Findings {
				said = said || f.ID == "data-between" && strings.Contains(f.Title, "no request was under way") == c.none
			}
			if said != (c.want == "between") {
				t.Errorf("nothing said of the time without steps, or the wrong thing%s", describe(r))
			}
		})
	}
}

// TestPauseOfOneRank: a rank whose host begins a step later than the others' had
// something to do, whatever the step's requests.
func TestPauseOfOneRank(t *testing.T) {
	const ms = 1_000_000
	var ts []*trace.Trace
	for _, late := range []int64{0, 100 * ms} {
		y := newToy()
		for i, at := range []int64{0, 2 * ms, 200*ms + late} {
			s := y.span(trace.UserAnnotation, 0, "step[DECODE bs=1]", at, at+ms)
			s.Detail = int32(y.t.Strings.Intern(fmt.Appendf(nil, "r%d", i)))
			y.run("gemm", at+10, at+100, at+ms, 1)
		}
		y.t.Source.Rank = trace.Rank{TP: len(ts), DP: -1, PP: -1, EP: -1}
		ts = append(ts, y.done())
	}
	r := analyzed(t, ts)
	for _, row := range r.Times {
		host, ok := map[string]int64{"TP00": ms, "TP01": 101 * ms}[row.Rank]
		if !ok || row.Kind != "all" {
			continue
		}
		if by := row.IdleBy; abs(by.Host-host) > 2*ms || abs(by.Between-197*ms) > 2*ms {
			t.Errorf("%s: %+v, want %d of the host's", row.Rank, by, host)
		}
	}
}
