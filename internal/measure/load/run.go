package load

import (
	"context"
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/stepscope/stepscope/bench"
)

// run is the state of one Run.
type run struct {
	opt     *Options
	target  *target
	clock   *clock
	flights []*flight
	records []bench.Record

	partsMu sync.Mutex
	parts   []parts // texts of events with an unknown number of tokens
	kernel  bool    // the kernel timestamps received data
	idle    idle
	gate    chan int64 // free slots of MaxConcurrency; each value is the time at which the slot became free
	air     air
	health  health
	wg      sync.WaitGroup

	flying, sending context.Context // while requests may be in flight, and while they may be sent
}

// do executes the plan.
func (r *run) do(ctx context.Context) (*Result, error) {
	stop := func() {}
	if r.target.tls == nil && !r.opt.UserStamps {
		r.kernel, stop = kernelStamps()
	}
	defer stop()
	defer r.idle.close()
	if !r.opt.KeepGC {
		defer restCollector()()
	}
	if n := r.opt.MaxConcurrency; n > 0 && n < len(r.flights) {
		r.gate = make(chan int64, n)
	}
	air := len(r.flights)
	if r.gate != nil {
		air = cap(r.gate)
	}
	growFiles(air)
	r.health.late = make([]int64, len(r.records))
	for i := range r.health.late {
		r.health.late[i] = bench.Never
	}
	before := pauses()
	r.clock = newClock()
	r.opt.Live.run.Store(r)
	for range cap(r.gate) {
		r.gate <- 0
	}
	caller, end := ctx, context.CancelFunc(nil)
	r.flying, r.sending, end = r.limits(ctx)
	defer end()
	ctx = r.flying
	watch, done := context.WithCancel(context.Background())
	var watchers sync.WaitGroup
	watchers.Go(func() { r.guard(ctx, watch) })
	watchers.Go(func() { r.canary(watch) })
	r.launch(ctx)
	r.wg.Wait()
	done()
	watchers.Wait()
	r.clock.watch()
	after := pauses()

	res := &Result{Stamps: bench.UserStamps, Start: r.clock.start, StartWall: r.clock.wall, Drift: r.clock.drift()}
	if r.kernel {
		res.Stamps = bench.KernelStamps
	}
	first, last := int64(math.MaxInt64), int64(0)
	for i := range r.records {
		if rec := &r.records[i]; rec.Sent != bench.Never {
			first, last = min(first, rec.Sent), max(last, rec.Done)
		}
	}
	res.Duration = max(last-first, 0)
	res.Health = r.health.report(r, after.since(before))
	err := r.texts(caller)
	res.Records = slices.DeleteFunc(r.records, func(rec bench.Record) bool { return rec.Failure == outOfTime })
	bench.MarkHeld(res.Records)
	return res, err
}

// restCollector disables the garbage collector until memory is short. The mark phase of the collector delays the reads
// of a busy client by milliseconds.
func restCollector() (restore func()) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	limit := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(limit, int64(2*m.Sys)+1<<30))
	percent := debug.SetGCPercent(-1)
	runtime.GC() // runs a collection, and ends one that is in progress
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// limits returns the context of requests in flight, and the context in which requests are sent. The second ends no
// later than the first.
func (r *run) limits(ctx context.Context) (flying, sending context.Context, end context.CancelFunc) {
	if r.opt.For <= 0 {
		return ctx, ctx, func() {}
	}
	free := func() {}
	if r.opt.Grace != nil {
		ctx, free = context.WithTimeout(ctx, r.opt.For+*r.opt.Grace)
	}
	sending, stop := context.WithTimeout(ctx, r.opt.For)
	return ctx, sending, func() { stop(); free() }
}

// cut returns the outcome of a request that is ended while it is in flight. sent means that all of it was sent.
func (r *run) cut(sent bool) (bench.Failure, string) {
	switch {
	case !errors.Is(r.flying.Err(), context.Canceled):
		return bench.Interrupted, "still in progress when the grace period after the load was over"
	case sent:
		return bench.Interrupted, interrupted
	}
	return bench.NotSent, neverSent
}

// unsent returns the outcome of requests that are not sent because sending has ended.
func (r *run) unsent() (bench.Failure, string) {
	if errors.Is(r.flying.Err(), context.Canceled) {
		return bench.NotSent, neverSent
	}
	return outOfTime, "the time of the load was over"
}

// outOfTime is the outcome of a request that was not sent within the time of the load.
const outOfTime bench.Failure = "out_of_time"

// launch starts each flight at its scheduled time, regardless of whether earlier flights have ended.
func (r *run) launch(ctx context.Context) {
	t, err := newTimer()
	if err == nil {
		defer t.close()
	}
	for i, f := range r.flights {
		rec := &f.recs[0]
		// A sleep takes at least about 20 µs, so a flight that is due sooner than this starts at once.
		const soon = int64(10 * time.Microsecond)
		released := rec.Scheduled
		ok := err == nil
		if wait := rec.Scheduled - r.clock.now(); ok && wait > soon {
			ok = t.wait(r.sending, time.Duration(wait))
		}
		if ok && r.gate != nil {
			select {
			case free := <-r.gate:
				released = max(released, free)
			case <-r.sending.Done():
				ok = false
			}
		}
		if !ok || r.sending.Err() != nil {
			if r.sending.Err() != nil {
				why, text := r.unsent()
				r.strand(i, why, text)
			} else {
				r.strand(i, bench.Interrupted, "never sent: "+err.Error())
			}
			return
		}
		rec.Released = released
		r.opt.Live.Released.Add(1)
		r.wg.Go(func() { f.fly(ctx) })
	}
}

// strand marks requests as never sent.
func (r *run) strand(from int, why bench.Failure, text string) {
	for _, f := range r.flights[from:] {
		for i := range f.recs {
			f.recs[i].Failure, f.recs[i].Error = why, text
		}
	}
}

// fly runs all rounds of a flight.
func (f *flight) fly(ctx context.Context) {
	r := f.run
	if r.gate != nil {
		defer func() { r.gate <- r.clock.now() }()
	}
	for turn := range f.recs {
		if turn > 0 {
			if !f.next(ctx, turn) {
				break
			}
		}
		f.open(turn)
		f.round(ctx)
		if r.opt.Ended != nil {
			r.opt.Ended(f.index, f.body)
		}
		if f.rec.OK() {
			r.opt.Live.Done.Add(1)
		} else {
			r.opt.Live.fail(f.rec.Failure, f.rec.Error)
			for i := turn + 1; i < len(f.recs); i++ {
				f.recs[i].Failure, f.recs[i].Error = f.rec.Failure, "never sent: an earlier round failed"
				if f.rec.Failure == bench.Interrupted {
					f.recs[i].Failure, f.recs[i].Error = r.unsent()
				}
			}
			break
		}
	}
	f.wire, f.chat, f.body, f.ev = nil, nil, nil, event{}
}

// next prepares the round after a reply.
func (f *flight) next(ctx context.Context, turn int) bool {
	r, rec := f.run, &f.recs[turn]
	f.answered()
	var err error
	if f.wire, err = r.target.request(f, turn); err != nil {
		rec.Failure, rec.Error = bench.Malformed, oneLine(err.Error())
		return false
	}
	rec.Scheduled = f.recs[turn-1].Done + int64(f.req.Rounds[turn].Delay)
	rec.Released = rec.Scheduled
	if wait := rec.Scheduled - r.clock.now(); wait > 0 {
		t, err := newTimer()
		if err == nil {
			defer t.close()
		}
		if err != nil || !t.wait(r.sending, time.Duration(wait)) {
			return f.strand(turn)
		}
	}
	if r.sending.Err() != nil {
		return f.strand(turn)
	}
	r.opt.Live.Released.Add(1)
	return true
}

// strand marks the rounds from turn on as never sent. It returns false.
func (f *flight) strand(turn int) bool {
	for i := turn; i < len(f.recs); i++ {
		f.recs[i].Failure, f.recs[i].Error = f.run.unsent()
	}
	return false
}

// round sends one request and reads the reply. If the server had just closed a reused connection, round retries once on
// a new connection.
func (f *flight) round(ctx context.Context) {
	r := f.run
	f.began = r.clock.now()
	f.airborne.Store(f.began)
	for again := true; ; again = false {
		c, err := r.connect(ctx, again)
		if err != nil {
			f.rec.Done = r.clock.now()
			if ctx.Err() != nil {
				f.fail(r.cut(false))
			} else {
				f.fail(dialFailure(err), err.Error())
			}
			return
		}
		f.rec.Connected = r.clock.now()
		f.last.Store(f.rec.Connected)
		r.air.add(f, c)
		r.opt.Live.Sent.Add(1)
		err = f.send(c)
		if f.rec.Sent != bench.Never {
			// The lateness excludes the connect time, which depends on the network and the server.
			r.health.late[f.first+f.turn] = f.began - max(f.rec.Scheduled, f.rec.Released) + f.rec.Sent - f.rec.Connected
		}
		if readErr := f.receive(c); readErr != nil || err == nil {
			err = readErr
		}
		r.air.remove(f)
		if f.rec.Done == bench.Never || err != nil && !f.done {
			f.rec.Done = max(r.clock.now(), f.rec.Done)
		}
		if err == nil && f.rec.Failure == "" && f.reply.keep && f.reply.state == replyDone && !r.opt.NewConnPerRequest {
			c.SetDeadline(time.Time{})
			r.idle.put(c)
		} else {
			c.Close()
		}
		if err != nil && again && c.used && f.rec.Status == 0 && f.rec.Failure == "" && f.kill.Load() == alive && !errors.Is(err, errKilled) {
			r.opt.Live.Sent.Add(-1)
			f.restart()
			f.rec.Done = bench.Never
			continue
		}
		f.land(err)
		return
	}
}

// connect takes an idle connection, or opens one.
func (r *run) connect(ctx context.Context, mayBeUsed bool) (*conn, error) {
	if mayBeUsed && !r.opt.NewConnPerRequest {
		if c := r.idle.take(); c != nil {
			return c, nil
		}
	}
	return r.target.dial(ctx, r.kernel)
}
