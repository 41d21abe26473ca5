package watch

import (
	"context"
	"fmt"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/capture/torch"
)

const (
	keep   = 3 * time.Minute  // of what was seen, for verdicts
	silent = 5 * time.Second  // after so long without a sample a server is said not to answer
	most   = 10 * time.Second // that a server may take to answer
)

// follower takes samples of one server. Its reader is for the goroutine of follow, all else for who
// receives the readings.
type follower struct {
	target torch.Target
	name   string
	every  time.Duration
	reader *signals.Reader

	last *signals.Sample
	live *signals.Live // since the one before
	past []*signals.Live

	missing time.Time // since when there is no sample; zero: there was one just now
	told    bool
}

func newFollower(t torch.Target, every time.Duration) *follower {
	f := &follower{target: t, name: t.Name, every: every}
	if f.name == "" {
		f.name = t.URL
	}
	f.reader = signals.NewReader(t.URL, t.Header)
	return f
}

// meet takes the first sample.
func (f *follower) meet(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	f.last, err = f.reader.Read(ctx)
	return err
}

// follow takes a sample at each tick, and hands it on.
func (f *follower) follow(ctx context.Context, to chan<- reading) {
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		limited, cancel := context.WithTimeout(ctx, most)
		s, err := f.reader.Read(limited)
		cancel()
		if err != nil {
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
	f.past = append(f.past, f.live)
	for len(f.past) > 1 && s.At.Sub(f.past[0].At) > keep {
		f.past = f.past[1:]
	}
}

// lost notes that there is no sample. What it gives is to be said, once.
func (f *follower) lost(at time.Time, err error) string {
	if f.missing.IsZero() {
		f.missing = at
	}
	if f.told || at.Sub(f.missing) < silent && !signals.Answered(err) {
		return ""
	}
	f.told = true
	return fmt.Sprintf("%s: no sample since %s: %v", f.name, clock(f.missing), err)
}

// back notes that there is one again, and gives how long there was none, if that was said.
func (f *follower) back(at time.Time) (gone time.Duration) {
	if f.told {
		gone = at.Sub(f.missing)
	}
	f.missing, f.told = time.Time{}, false
	return gone
}
