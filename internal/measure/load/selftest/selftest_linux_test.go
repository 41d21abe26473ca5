package selftest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/measure/load"
	"github.com/stepscope/stepscope/internal/measure/workload"
)

// TestMain makes the test binary a part of the self test if it is started as one.
func TestMain(m *testing.M) {
	if os.Getenv("STEPSCOPE_LOAD_PART") != "" {
		os.Exit(Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// TestSelfTest runs small shapes with all their processes. It checks no times, which depend on the machine.
func TestSelfTest(t *testing.T) {
	shapes := []Shape{
		{Name: "spread", Streams: 8, Tokens: 80, Period: 5 * time.Millisecond, StartRate: 400},
		{Name: "together", Streams: 8, Tokens: 80, Period: 5 * time.Millisecond, Together: true, StartRate: 400, UserStamps: true},
		{Name: "new", Streams: 40, Tokens: 1, StartRate: 400},
	}
	rep, err := Run(t.Context(), Options{Command: []string{os.Args[0]}, Env: []string{"STEPSCOPE_LOAD_PART=1"}, Shapes: shapes})
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
		// A kernel without timestamps is not a fault of ours.
		if row.Client.Stamps != want && row.Client.Stamps != "user" {
			t.Errorf("%s: %s stamps, want %s", s.Name, row.Client.Stamps, want)
		}
		if s.Period > 0 && row.Timing.LeftOut < 1 && row.Timing.Rate < 1 {
			t.Errorf("%s: no events were compared: %+v", s.Name, row.Timing)
		}
	}
}

// TestMockEvents checks that the client can read the output of the mock and its timestamps, in both shapes.
func TestMockEvents(t *testing.T) {
	for _, c := range []struct {
		native  bool
		backend string
	}{{true, "sglang"}, {false, "vllm-chat"}, {false, "vllm"}} {
		m := &mockConn{native: c.native}
		reply := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
		for i := 1; i <= 2; i++ {
			m.sent = i
			b := m.event(nil, i == 2)
			writeStamp(b[len(b)-len(stampTail)+len(`"t":"`):], int64(i)*1e9+5)
			reply += string(b)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer l.Close()
			if conn, err := l.Accept(); err == nil {
				defer conn.Close()
				http.ReadRequest(bufio.NewReader(conn))
				io.WriteString(conn, reply+"0\r\n\r\n")
			}
		}()
		var stamps []int64
		res, err := load.Run(t.Context(), []workload.Request{{Prompt: "p", OutputLen: 2}}, load.Options{
			Backend: c.backend, BaseURL: "http://" + l.Addr().String(), Stream: true,
			Tap: func(_ int, data []byte, _, _ int64) { stamps = append(stamps, sentStamp(data)) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if r := res.Records[0]; !r.OK() || len(r.Chunks) != 2 || r.Finish != "length" {
			t.Errorf("%s: %+v", c.backend, r)
		}
		if len(stamps) != 2 || stamps[0] != 1e9+5 || stamps[1] != 2e9+5 {
			t.Errorf("%s: stamps %v", c.backend, stamps)
		}
	}
}
