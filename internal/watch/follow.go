package watch

import (
	"context"
	"fmt"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/capture/torch"
)

const (
	silent   = 5 * time.Second  // after so long without a sample a server is said not to answer
	patience = 10 * time.Second // that it may take to answer
)

// reader takes samples of a server: a [signals.Reader].
type reader interface {
	Read(context.Context) (*signals.Sample, error)
	Forget()
	Lacks(*signals.Sample) []string
}

// follower takes samples of one server: of what it tells, of its log, or of both. Its reader and its
// tail are for the goroutine of follow, all else for who receives the readings.
type follower struct {
	name   string
	every  time.Duration
	server *torch.Reached // nil: there is but a log
	reader reader         // of the server; nil: there is none
	tail   *signals.Tail  // of its log; nil: none

	last *signals.Sample
	live *signals.Live // since the one before; nil: there is no other yet

	missing time.Time // since when there is no sample; zero: there was one just now
	told    bool
}

// newFollower follows a server under the name that the user gave it, or its URL.
func newFollower(r *torch.Reached, given []torch.Target, every time.Duration) *follower {
	f := &follower{name: r.URL, every: every, server: r, reader: signals.NewReader(r.Base, r.Header)}
	for _, t := range given {
		if t.URL == r.URL && t.Name != "" {
			f.name = t.Name
		}
	}
	return f
}

func (f *follower) url() string {
	if f.server == nil {
		return ""
	}
	return f.server.URL
}

func (f *follower) role() string {
	if f.server == nil {
		return ""
	}
	return f.server.Role
}

// meet takes the first sample.
func (f *follower) meet(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	f.last, err = f.read(ctx)
	return err
}

// read takes a sample.
func (f *follower) read(ctx context.Context) (*signals.Sample, error) {
	var s *signals.Sample
	var err error
	if f.reader != nil {
		s, err = f.reader.Read(ctx)
	}
	if f.tail == nil {
		return s, err
	}
	return f.tail.Join(s, err)
}

// lacks is what is not known of the server.
func (f *follower) lacks() []string {
	if f.reader == nil {
		return []string{"no latencies, and no captures: give the server's --url for these"}
	}
	return f.reader.Lacks(f.last)
}

// follow takes a sample at each tick, and hands it on.
func (f *follower) follow(ctx context.Context, to chan<- reading) {
	if f.tail != nil {
		defer f.tail.Follow(ctx)()
	}
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		limited, cancel := context.WithTimeout(ctx, patience)
		s, err := f.read(limited)
		cancel()
		if err != nil && f.reader != nil {
			f.reader.Forget() // it may be another one when it is back
		}
		select {
		case to <- reading{of: f, at: time.Now(), sample: s, err: err}:
		case <-ctx.Done():
			return
		}
	}
}

func (f *follower) take(s *signals.Sample) {
	f.live = signals.Between(f.last, s)
	f.last = s
}

// lost notes that there is no sample. What it gives is to be said, once.
func (f *follower) lost(at time.Time, err error) string {
	f.live = nil
	if f.missing.IsZero() {
		f.missing = at
	}
	if f.told || at.Sub(f.missing) < silent && !signals.Answered(err) {
		return ""
	}
	f.told = true
	return fmt.Sprintf("no sample since %s: %v", clock(f.missing), err)
}

// back notes that there is one again, and gives how long there was none, if that was said.
func (f *follower) back(at time.Time) (gone time.Duration) {
	if f.told {
		gone = at.Sub(f.missing)
	}
	f.missing, f.told = time.Time{}, false
	return gone
}
