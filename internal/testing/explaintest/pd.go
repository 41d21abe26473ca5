package explaintest

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// Server is a toy prefill or decode server.
type Server struct{ *toytrace.Toy }

// NewServer returns a server that has done nothing.
func NewServer() Server { return Server{toytrace.New()} }

// Forward adds a step with one kernel, which runs from start to end, for some requests.
func (y Server) Forward(kind string, start, end int64, batch, tokens int, rids string) Server {
	name := fmt.Sprintf("step[%s bs=%d toks=%d]", kind, batch, tokens)
	if kind == "DECODE" {
		name = fmt.Sprintf("step[DECODE bs=%d]", batch)
	}
	s := y.Span(trace.UserAnnotation, 0, name, start, start+20)
	s.Detail = int32(y.T.Strings.Intern([]byte(rids)))
	y.Run("gemm", start, start+10, end, 1)
	return y
}

// Move adds a copy of KV cache.
func (y Server) Move(name string, start, end, bytes int64, rids string, room int64) Server {
	y.Op(trace.Memcpy, name, 0, 9, start, end, 0)
	y.T.Moves = append(y.T.Moves, trace.Move{Requests: y.T.Strings.Intern([]byte(rids)), Room: room})
	o := &y.T.Ops[len(y.T.Ops)-1]
	o.Bytes, o.Move = bytes, int32(len(y.T.Moves))
	return y
}

// Recording is a server with its traces and samples of its queues.
type Recording struct {
	Name   string
	Traces []*trace.Trace
	Loads  []trace.Load
}

// PrefillDecode explains the recordings of prefill and decode servers.
func PrefillDecode(prefill, decode []Recording) (*result.PD, error) {
	prepared := func(all []Recording) (out []*explain.Server) {
		for _, r := range all {
			out = append(out, explain.Prepare(r.Traces, nil).Server(r.Name, r.Loads))
		}
		return out
	}
	return explain.PrefillDecode(prepared(prefill), prepared(decode))
}

// BusyFor returns a server whose steps of 10 ms take the given share of 100 ms.
func BusyFor(kind string, percent, batch int) Recording {
	y := NewServer()
	for i := range 9 {
		if i*10 < percent {
			y.Forward(kind, int64(i)*10*MS, int64(i+1)*10*MS-1, batch, batch, "")
		}
	}
	return Recording{Name: kind, Traces: []*trace.Trace{y.Forward(kind, 99*MS, 100*MS, batch, batch, "").Done()}}
}
