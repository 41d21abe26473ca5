package nodes

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/mesh"
)

func appendOptions(b []byte, opt device.RecordOptions) []byte {
	text, err := json.Marshal(opt)
	if err != nil {
		panic(err) // cannot fail: only flags and a number
	}
	return append(b, text...)
}

// follower runs a node other than node 0. It serves the replicas that have ranks on this node.
type follower struct {
	m     *mesh.Mesh
	files *mesh.Channel
	ended <-chan struct{}
	wg    sync.WaitGroup

	mu         sync.Mutex
	recordings map[uint32]*recorded
	writing    sync.Mutex // limits writing to one file at a time, because serving needs the cores
}

// recorded is one window of a rank. The message that fetches it may arrive before the message that stops the recording,
// because the two messages use different lanes.
type recorded struct {
	stopped chan struct{}
	rec     engine.Recording // nil: nothing was recorded
	meta    device.Meta
}

// recording returns the recording with a number.
func (f *follower) recording(id uint32) *recorded {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.recordings[id]
	if r == nil {
		r = &recorded{stopped: make(chan struct{})}
		f.recordings[id] = r
	}
	return r
}

// follows is one replica's queue of messages.
type follows struct {
	f     *follower
	ch    *mesh.Channel
	ranks *engine.Ranks
	queue chan []byte
}

// messagesAhead is the capacity of a queue. It exceeds the number of messages that node 0 can send without waiting for
// an answer: between two steps, node 0 may send messages that stop and pause the recordings of all ranks of a node.
const messagesAhead = 8192

// Follow runs steps for node 0 on this node's ranks. replicas holds these ranks, by the number of the replica. Follow
// returns when node 0 leaves, when ctx ends or when an error ends the mesh. In the last case it returns that error.
func Follow(ctx context.Context, m *mesh.Mesh, replicas map[int]*engine.Ranks) error {
	ctx, stop := context.WithCancel(ctx)
	f := &follower{m: m, files: m.Channel(filesChannel, mesh.Bulk), ended: ctx.Done(), recordings: map[uint32]*recorded{}}
	defer f.wg.Wait()
	defer stop()
	f.files.Receive(f.fetch, func(error) {})
	for dp, ranks := range replicas {
		r := &follows{f: f, ch: m.Channel(stepChannels+uint32(dp), mesh.Fast), ranks: ranks, queue: make(chan []byte, messagesAhead)}
		f.wg.Go(func() {
			for {
				select {
				case frame := <-r.queue:
					r.message(frame)
					r.ch.Free(frame)
				case <-ctx.Done():
					return
				}
			}
		})
		r.ch.Receive(func(_ int, frame []byte) {
			select {
			case r.queue <- frame:
			case <-ctx.Done():
			}
		}, func(error) {})
	}
	select {
	case <-m.Lost():
		return m.Err()
	case <-m.Ended():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// message executes a message of node 0.
func (r *follows) message(frame []byte) {
	p := &parser{rest: frame}
	switch kind := p.byte(); kind {
	case msgStep:
		s, err := parseStep(p.rest)
		if err != nil {
			r.f.m.Fail(fmt.Errorf("step for node %d: %w", r.f.m.Node(), err))
			return
		}
		r.answer(r.ranks.Run(s.name, func() string { return s.requests }, &s.batch))
	case msgStart, msgStop, msgPause:
		rank := r.rank(p)
		if rank == nil {
			r.f.m.Fail(fmt.Errorf("recording for node %d: %w", r.f.m.Node(), errMessage))
			return
		}
		switch kind {
		case msgStart:
			var opt device.RecordOptions
			p.number(1<<32 - 1)
			err := json.Unmarshal(p.rest, &opt)
			if err == nil {
				err = rank.Recorder.StartRecording(opt)
			}
			r.answer(nil, err)
		case msgStop:
			to := r.f.recording(uint32(p.number(1<<32 - 1)))
			to.rec, to.meta = rank.Recorder.StopRecording(), rank.Meta
			close(to.stopped)
		case msgPause:
			rank.Recorder.PauseRecording(p.byte() == 1)
		}
	}
}

// rank returns the rank of this node that a message names, or nil.
func (r *follows) rank(p *parser) *engine.Rank {
	n := p.number(1 << 16)
	list := r.ranks.Ranks()
	for i := range list {
		if !p.bad && list[i].Meta.Rank == n {
			return &list[i]
		}
	}
	return nil
}

func (r *follows) answer(rows [][]float32, err error) {
	a := answer{rows: rows}
	if err != nil {
		a.err = err.Error()
	}
	if fatal := r.ranks.Err(); fatal != nil {
		a.fatal = fatal.Error()
	}
	if err := r.ch.Send(0, a.parts()...); err != nil && r.f.m.Err() == nil {
		r.f.m.Fail(err)
	}
}

// fetch sends a recording. It is called by the connection's reader.
func (f *follower) fetch(_ int, frame []byte) {
	p := &parser{rest: frame}
	kind, id := p.byte(), uint32(p.number(1<<32-1))
	what, name := p.byte(), p.text()
	f.files.Free(frame)
	if kind == msgForget {
		f.mu.Lock()
		delete(f.recordings, id)
		f.mu.Unlock()
		return
	}
	f.wg.Go(func() {
		f.writing.Lock()
		defer f.writing.Unlock()
		s := &sender{ch: f.files, id: id, sum: sha256.New()}
		r := f.recording(id)
		select {
		case <-r.stopped:
		case <-f.ended:
			return
		}
		switch {
		case r.rec == nil:
			s.end(errors.New("nothing was recorded"), 0)
		case what == fetchMemory:
			err := r.rec.DeviceMemory(func(at int64, addr uint64, bytes int64) {
				var b []byte
				for _, v := range []uint64{uint64(at), addr, uint64(bytes)} {
					b = binary.LittleEndian.AppendUint64(b, v)
				}
				_, _ = s.Write(b)
			})
			s.end(err, 0)
		default:
			meta := r.meta
			meta.Name = name
			if o, ok := f.m.Offset(0); ok {
				meta.Clock = clockOf{f.m.Host(0), o}
			}
			s.end(engine.WriteTrace(s, r.rec, meta), r.rec.Lost())
		}
	})
}

// clockOf describes the clock of a trace. It contains the time by which the clock of node 0's host is ahead of the
// trace's clock. This offset is only a hint, because a merge aligns traces by collectives.
type clockOf struct {
	Reference string `json:"reference"`
	mesh.Offset
}
