package load

import (
	"os"
	"testing"
	"time"
)

// TestSelfTest runs small shapes with all their processes. It looks at no times:
// those belong to the machine.
func TestSelfTest(t *testing.T) {
	shapes := []Shape{
		{Name: "spread", Streams: 8, Tokens: 80, Period: 5 * time.Millisecond, StartRate: 400},
		{Name: "together", Streams: 8, Tokens: 80, Period: 5 * time.Millisecond, Together: true, StartRate: 400, UserStamps: true},
		{Name: "new", Streams: 40, Tokens: 1, StartRate: 400},
	}
	rep, err := SelfTest(t.Context(), SelfTestOptions{Command: []string{os.Args[0]}, Env: []string{"STEPSCOPE_LOAD_PART=1"}, Shapes: shapes})
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rep.Rows {
		s := shapes[i]
		if row.Client.OK != s.Streams || row.Client.Failed != 0 || row.Client.Reads < s.Streams {
			t.Errorf("%s: %+v", s.Name, row.Client)
		}
		want := "kernel"
		if s.UserStamps {
			want = "user"
		}
		// A kernel without stamps is no fault of ours.
		if row.Client.Stamps != want && row.Client.Stamps != "user" {
			t.Errorf("%s: %s stamps, want %s", s.Name, row.Client.Stamps, want)
		}
		if s.Period > 0 && row.Timing.LeftOut < 1 && row.Timing.Rate < 1 {
			t.Errorf("%s: no events were compared: %+v", s.Name, row.Timing)
		}
	}
}

// TestMockEvents: what the mock sends is what its stamps are read from, in both
// shapes.
func TestMockEvents(t *testing.T) {
	for _, c := range []struct {
		native  bool
		backend string
	}{{true, "sglang"}, {false, "vllm-chat"}, {false, "vllm"}} {
		m := &mockConn{native: c.native, sent: 1}
		reply := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
		for i := 1; i <= 2; i++ {
			m.sent = i
			b := m.event(nil, i == 2)
			at := len(b) - len(stampsTail)
			writeStamp(b[at+len(`"due":"`):], int64(i)*1e9)
			writeStamp(b[at+len(`"due":"0000000000000000000","t":"`):], int64(i)*1e9+5)
			reply += string(b)
		}
		var stamps []int64
		opt := Options{tap: func(_ int, data []byte, _, _ int64) {
			due, sent := mockStamps(data)
			stamps = append(stamps, due, sent)
		}}
		r := landed(c.backend, opt, reply+"0\r\n\r\n")
		if !r.OK() || len(r.Chunks) != 2 || r.Finish != "length" {
			t.Errorf("%s: %+v", c.backend, r)
		}
		if len(stamps) != 4 || stamps[0] != 1e9 || stamps[1] != 1e9+5 || stamps[2] != 2e9 || stamps[3] != 2e9+5 {
			t.Errorf("%s: stamps %v", c.backend, stamps)
		}
	}
}
