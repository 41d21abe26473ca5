package waits

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/trace"
)

// apartTTFT returns the one case of slow TTFT: request a, sent at 1 ms and answered at 42 ms.
func apartTTFT(t *testing.T, servers ...recording) (Case, *Result) {
	t.Helper()
	r, err := analyze(load(request("a", 1, 42)), servers, Options{Host: "here"})
	if err != nil || len(r.TTFT.Cases) != 1 {
		t.Fatalf("got error %v, result %+v, want one TTFT", err, r)
	}
	if c := r.TTFT.Cases[0]; c.Wait.Total() != c.NS {
		t.Errorf("got case %+v, want parts that sum to the TTFT", c)
	}
	return r.TTFT.Cases[0], r
}

// apartWait is the wait of request a with the servers of TestApart.
var apartWait = Wait{Way: 3, Place: 5, Queue: 5, QueuePrefill: 3, QueueIdle: 2, Prefill: 20, Stall: 2, Transfer: 4, Reply: 2}

// TestSentAfterToken: the last copy of a prefill server may end after the client received the token.
func TestSentAfterToken(t *testing.T) {
	p := prefillServer()
	for i := range p.Traces[0].Spans {
		if s := &p.Traces[0].Spans[i]; s.Start == start+30*ms && s.Cat == trace.Memcpy {
			s.Dur = 15 * ms
		}
	}
	if c, _ := apartTTFT(t, p, decodeServer()); c.Wait != wait(apartWait) {
		t.Errorf("got case %+v, want %+v", c, wait(apartWait))
	}
}

// TestRoomNotSaid: without rooms, ids distinguish requests. A place with neither belongs to no request.
func TestRoomNotSaid(t *testing.T) {
	p := prefillServer(moved{3, 3, "kv_wait", "x", 7}, moved{5, 50, "kv_send layer=0", "x", 7})
	for i := range p.Traces[0].Moves {
		p.Traces[0].Moves[i].Room = 0
	}
	want := apartWait
	want.Queue, want.QueuePrefill, want.Place = 10, 8, 0
	if c, _ := apartTTFT(t, p, decodeServer()); c.Wait != wait(want) {
		t.Errorf("got case %+v, want %+v", c, wait(want))
	}
}

// TestSamePrefillServer: the first decode server failed a request after its prefill, and the router retried it on the
// same prefill server with another decode server.
func TestSamePrefillServer(t *testing.T) {
	p := recording{"prefill-0", api.Prefill, []*trace.Trace{moving(server(-1, 0, 200,
		at{4, 8, "step[EXTEND bs=1 toks=7]", "a"},
		at{14, 24, "step[EXTEND bs=1 toks=7]", "x"},
		at{26, 36, "step[EXTEND bs=2 toks=9]", "a,y"},
	),
		moved{2, 2, "kv_wait", "a", 5}, moved{3, 3, "kv_open", "", 5}, moved{8, 9, "kv_send layer=0", "a", 5},
		moved{11, 11, "kv_wait", "a", 7}, moved{20, 20, "kv_open", "", 7}, moved{36, 38, "kv_send layer=0", "a", 7},
	)}}
	c, _ := apartTTFT(t, p, decodeServer())
	want := Wait{Way: 10, Place: 9, Queue: 6, QueuePrefill: 4, QueueIdle: 2, Prefill: 10, Transfer: 4, Reply: 2}
	if c.Wait != wait(want) || !slices.Equal(c.Steps, []int{2}) || c.First != "step[EXTEND bs=2 toks=9]" {
		t.Errorf("got case %+v, want %+v in step 2", c, wait(want))
	}
}

// TestIdleDecode: a decode server that received KV cache but ran no step counts as recorded.
func TestIdleDecode(t *testing.T) {
	got := recording{"decode-0", api.Decode, []*trace.Trace{moving(server(-1, 0, 200), moved{31, 40, "kv_recv layer=0", "a", 7})}}
	if c, r := apartTTFT(t, prefillServer(), got); c.Wait != wait(apartWait) || c.Decode != "decode-0" || len(r.Notes) > 0 {
		t.Errorf("got case %+v, notes %q, want %+v on decode-0 and no notes", c, r.Notes, wait(apartWait))
	}
	nothing := recording{"decode-0", api.Decode, []*trace.Trace{server(-1, 0, 200)}}
	if _, r := apartTTFT(t, prefillServer(), nothing); strings.Contains(fmt.Sprint(r.Notes), "waits_no_decode") {
		t.Errorf("idle decode server: got notes %q, want none of a missing decode side", r.Notes)
	}
}

// TestAgain: each analysis compares the servers' clocks anew.
func TestAgain(t *testing.T) {
	p, d := prefillServer(), decodeServer()
	d.Traces[0].Source.Host = "d"
	for i := range d.Traces[0].Spans {
		d.Traces[0].Spans[i].Start += 3600 * 1000 * ms
	}
	servers := []*Server{NewServer(p.Name, p.Role, p.Traces), NewServer(d.Name, d.Role, d.Traces)}
	var shifts []int64
	for range 2 {
		r, err := Analyze(load(request("a", 1, 42, 68, 78)), servers, Options{Host: "here"})
		if err != nil || len(r.Clocks) != 2 {
			t.Fatalf("got error %v, result %+v, want two clocks", err, r)
		}
		shifts = append(shifts, r.Clocks[1].Shift)
	}
	if shifts[0] == 0 || shifts[0] != shifts[1] {
		t.Errorf("got clock shifts %v, want the same nonzero shift twice", shifts)
	}
}
