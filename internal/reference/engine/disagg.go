package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/kvtransfer"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/sched"
)

// Disagg gives an engine its role, prefill or decode. Each request is computed by one prefill engine and one decode
// engine.
type Disagg struct {
	Role     string       // api.Prefill, api.Decode; "": the engine works alone
	Listener net.Listener // prefill: the bootstrap port; the engine closes it
	Transfer kvtransfer.Options
	// Model identifies the model. Model must be equal on both engines, because both must compute equal keys and values.
	Model string
}

// transfers is the engine's end of the links to other engines; nil: the engine works alone.
type transfers struct {
	role    string
	source  *kvtransfer.Source
	sink    *kvtransfer.Sink
	ln      net.Listener
	serving sync.WaitGroup
}

// Join sets the engine's role. It must be called once, before any request.
func (e *Engine) Join(d Disagg) error {
	if d.Role == "" {
		return nil
	}
	var w kvtransfer.Worker
	for _, dp := range e.ranks {
		r, ok := dp.group.(*Ranks)
		if !ok {
			return fmt.Errorf("%w: ranks of this kind have no keys and values to transfer", api.ErrInvalid)
		}
		layout, ranks := r.memory()
		layout.Model, layout.DP = d.Model, len(e.ranks)
		w.Layout, w.Ranks = layout, append(w.Ranks, ranks)
	}
	t := &transfers{role: d.Role, ln: d.Listener}
	var err error
	if d.Role == api.Decode {
		t.sink, err = kvtransfer.NewSink(w, d.Transfer)
	} else if t.source, err = kvtransfer.NewSource(w, d.Transfer); err == nil {
		t.serving.Go(func() { t.source.Serve(t.ln) })
	}
	if err == nil {
		e.transfers = t
	}
	return err
}

func (t *transfers) close() {
	switch {
	case t == nil:
	case t.source != nil:
		t.ln.Close()
		t.source.Close()
	default:
		t.sink.Close()
	}
	if t != nil {
		t.serving.Wait()
	}
}

// memory returns the KV cache of each rank, for transfers.
func (r *Ranks) memory() (kvtransfer.Layout, []kvtransfer.Rank) {
	var l kvtransfer.Layout
	ranks := make([]kvtransfer.Rank, len(r.list))
	l.Ranks = make([]kvtransfer.Place, len(r.list))
	var mu sync.Mutex
	r.Each(func(i int, run *model.Runner, _ *device.Host) error {
		mu.Lock()
		defer mu.Unlock()
		layers, heads := run.Stored()
		c := run.Config()
		l.Layers, l.Heads, l.Page = c.Layers, c.KVHeads, 4*c.HeadDim*model.BlockLen
		l.Ranks[i] = kvtransfer.Place{Layers: kvtransfer.Span{Lo: layers[0], Hi: layers[1]}, Heads: kvtransfer.Span{Lo: heads[0], Hi: heads[1]}}
		ranks[i] = kvtransfer.Rank{
			Pages: func(layer, head int, block int32, n int) ([]byte, []byte) {
				k, v := run.KV(layer, head, block, n)
				return device.Bytes(k), device.Bytes(v)
			},
			Span: func(name, request string, room uint64) func(int64) {
				return r.devices[i].Transfer(name, sched.EscapeID(request), room)
			},
		}
		return nil
	})
	return l, ranks
}

// Keep copies the contents of blocks on all ranks. The returned restore writes these contents to other blocks.
func (r *Ranks) Keep(blocks []int32) (restore func(blocks []int32)) {
	layout, ranks := r.memory()
	var kept [][]byte
	each := func(blocks []int32, do func(k, v []byte)) {
		for i, p := range layout.Ranks {
			for l := p.Layers.Lo; l < p.Layers.Hi; l++ {
				for h := p.Heads.Lo; h < p.Heads.Hi; h++ {
					for _, b := range blocks {
						do(ranks[i].Pages(l, h, b, 1))
					}
				}
			}
		}
	}
	each(blocks, func(k, v []byte) { kept = append(kept, slices.Clone(k), slices.Clone(v)) })
	return func(blocks []int32) {
		at := 0
		each(blocks, func(k, v []byte) {
			copy(k, kept[at])
			copy(v, kept[at+1])
			at += 2
		})
	}
}

// sending returns the batch for one rank. During the batch, the rank sends the blocks of each layer as soon as it has
// computed them.
func (r *Ranks) sending(s sched.Step, sends []sched.Send, rank int) *model.Batch {
	if len(sends) == 0 {
		return s.Batch
	}
	b := *s.Batch
	b.Stored = func(layer int) {
		for _, send := range sends {
			if to, ok := send.To.(*sender); ok {
				to.out.Send(rank, layer, send.Blocks, send.First)
			}
		}
	}
	return &b
}

// attach adds this engine's end of the transfer to a request.
func (t *transfers) attach(dp int, r *sched.Request) {
	if t == nil {
		return
	}
	b := r.Bootstrap
	fake := b == nil || b.Host == api.FakeHost // a health check has no bootstrap data
	switch {
	case t.role == api.Prefill && fake:
		r.Send = &fakeSender{}
	case t.role == api.Prefill:
		t.source.Came(dp, b.Room, r.ID)
		r.Send = &sender{t: t, dp: dp, room: b.Room, id: r.ID, blocks: (len(r.Input) + model.BlockLen - 1) / model.BlockLen}
	case fake:
		r.Recv = fakeReceiver{}
	default:
		r.Recv = &receiver{t: t, dp: dp, addr: net.JoinHostPort(b.Host, strconv.Itoa(b.Port)), room: b.Room, id: r.ID}
	}
}

// refuse notifies the other engine that this engine has rejected the request.
func (t *transfers) refuse(dp int, r *api.Request, reason error) {
	if t == nil || r.Bootstrap == nil || r.Bootstrap.Host == api.FakeHost {
		return
	}
	if t.source != nil {
		t.source.Refuse(dp, r.Bootstrap.Room, reason)
		return
	}
	t.sink.Refuse(dp, net.JoinHostPort(r.Bootstrap.Host, strconv.Itoa(r.Bootstrap.Port)), r.Bootstrap.Room, reason.Error())
}

// reason adds the scheduler's sentinel error to the chain of a transfer's error.
func reason(err error) error {
	if errors.Is(err, kvtransfer.ErrBootstrap) {
		return fmt.Errorf("%w: %w", sched.ErrBootstrap, err)
	}
	return err
}

// sender is a room of the prefill engine's source. Only the scheduler calls its methods.
type sender struct {
	t      *transfers
	dp     int
	room   uint64
	id     string
	blocks int
	out    *kvtransfer.Outgoing
}

func (s *sender) Expect(opened func(), ended func(error)) {
	s.out = s.t.source.Expect(s.dp, s.room, s.id, s.blocks, kvtransfer.Events{Opened: opened, Ended: func(err error) { ended(reason(err)) }})
}

func (s *sender) Finish(first api.Event) {
	text, err := json.Marshal(encode(first))
	if err != nil {
		s.out.Abort(err)
		return
	}
	s.out.Finish(text)
}

func (s *sender) Abort(reason error) { s.out.Abort(reason) }

// receiver is a room of the decode engine's sink. Only the scheduler calls its methods.
type receiver struct {
	t    *transfers
	dp   int
	addr string
	room uint64
	id   string
	in   *kvtransfer.Incoming
}

func (r *receiver) Receive(blocks []int32, ended func(api.Event, error)) {
	r.in = r.t.sink.Receive(r.dp, r.addr, r.room, r.id, blocks, func(last []byte, err error) {
		var first record
		if err == nil {
			err = json.Unmarshal(last, &first)
		}
		ended(first.event(), reason(err))
	})
}

func (r *receiver) Abort(reason error) {
	if r.in != nil {
		r.in.Abort(reason)
		return
	}
	r.t.sink.Refuse(r.dp, r.addr, r.room, reason.Error())
}

// fakeSender and fakeReceiver replace the transfer of requests that involve no other engine, such as health checks.
type fakeSender struct {
	ended func(error)
	once  sync.Once
}

func (f *fakeSender) Expect(opened func(), ended func(error)) {
	f.ended = ended
	opened()
}
func (f *fakeSender) Finish(api.Event)   { f.once.Do(func() { f.ended(nil) }) }
func (f *fakeSender) Abort(reason error) { f.once.Do(func() { f.ended(reason) }) }

type fakeReceiver struct{}

func (fakeReceiver) Receive(_ []int32, ended func(api.Event, error)) { ended(api.Event{}, nil) }
func (fakeReceiver) Abort(error)                                     {}

// record is the JSON form of the first token, which the prefill engine sends to the decode engine. A log probability is
// sent as the bits of a float32, because JSON cannot represent NaN.
type record struct {
	Token     int32         `json:"token"`
	Logprob   uint32        `json:"logprob"`
	Top       [][2]uint32   `json:"top,omitempty"`
	Prompt    [][2]uint32   `json:"prompt,omitempty"`
	PromptTop [][][2]uint32 `json:"prompt_top,omitempty"`
	Cached    int           `json:"cached"`
}

func encode(e api.Event) record {
	out := record{Token: e.Token, Logprob: math.Float32bits(float32(e.Logprob)), Top: bits(e.Top), Prompt: bits(e.Prompt), Cached: e.Cached}
	for _, list := range e.PromptTop {
		out.PromptTop = append(out.PromptTop, bits(list))
	}
	return out
}

func bits(list []api.Logprob) [][2]uint32 {
	var out [][2]uint32
	for _, l := range list {
		out = append(out, [2]uint32{uint32(l.ID), math.Float32bits(float32(l.Logprob))})
	}
	return out
}

func (r *record) event() api.Event {
	out := api.Event{Token: r.Token, Logprob: float64(math.Float32frombits(r.Logprob)), Top: floats(r.Top), Prompt: floats(r.Prompt), Cached: r.Cached}
	for _, list := range r.PromptTop {
		out.PromptTop = append(out.PromptTop, floats(list))
	}
	return out
}

func floats(list [][2]uint32) []api.Logprob {
	var out []api.Logprob
	for _, l := range list {
		out = append(out, api.Logprob{ID: int32(l[0]), Logprob: float64(math.Float32frombits(l[1]))})
	}
	return out
}
