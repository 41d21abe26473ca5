package watch

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/capture/torch"
)

const (
	silent   = 5 * time.Second  // time without a sample after which a server counts as lost
	patience = 10 * time.Second // timeout of a request
)

// reader samples a server: a [signals.Reader].
type reader interface {
	Read(context.Context) (*signals.Sample, error)
	Forget()
	Lacks(*signals.Sample) []string
}

// follower samples one server through its endpoints, its log or both. The fields reader and tail are used only by the
// goroutine of follow. The fields that change during the watch are used only by the receiver of the readings.
type follower struct {
	name   string
	every  time.Duration
	server *torch.Reached // nil: the follower has only a log
	reader reader         // nil: none
	tail   *signals.Tail  // reads the server's log; nil: none

	last *signals.Sample
	live *signals.Live // change since the previous sample; nil: there is only one sample so far

	missing time.Time // time of the first missing sample; zero: the last sample arrived
	told    bool

	restart time.Time // time of the last restart
	unsure  bool      // the user has been told that restarts follow each other too fast
}

// newFollower returns a follower of a server. The follower's name is the name that the user gave to the server. If the
// user gave no name, it is the URL of the server.
func newFollower(r *torch.Reached, given []torch.Target, every time.Duration, over *http.Client) *follower {
	reader := signals.NewReader(r.Base, r.Header, over)
	reader.Kind = r.Kind
	f := &follower{name: r.URL, every: every, server: r, reader: reader}
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

// meet takes the first sample of the server.
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

// unreadLog describes a log without a line about the load. It returns "" if there was such a line, or no line at all.
func (f *follower) unreadLog() string {
	if f.tail == nil {
		return ""
	}
	lines, known := f.tail.Lines()
	if known > 0 || lines == 0 {
		return ""
	}
	return fmt.Sprintf("%s: the log had %d line(s), none about the load: watch reads the batch lines of SGLang and stepscope, and vLLM's lines of throughput", f.name, lines)
}

// lacks lists the data that the server does not provide.
func (f *follower) lacks() []string {
	if f.reader == nil {
		return []string{"no latencies and no captures: these need the server's --url"}
	}
	return f.reader.Lacks(f.last)
}

// follow takes a sample at each tick and sends it.
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
			f.reader.Forget() // when samples arrive again, they may come from another server
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

// restarted records a restart. It returns the event's text, or "" if the restart is not reported. A server needs more
// than patience to restart: if restarts follow each other faster, the samples contradict each other, which is reported
// once.
func (f *follower) restarted(at time.Time) string {
	soon := !f.restart.IsZero() && at.Sub(f.restart) < patience
	f.restart = at
	switch {
	case !soon:
		return "its counters were reset, so it has restarted"
	case !f.unsure:
		f.unsure = true
		return fmt.Sprintf("its counters or its start time change from sample to sample, so its rates are unknown; restarts within %v are not reported any more", patience)
	}
	return ""
}

// lost records a missing sample. It returns a message when an outage must be reported for the first time, and ""
// otherwise.
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

// back records that samples arrive again, and returns the length of the outage if it was reported.
func (f *follower) back(at time.Time) (gone time.Duration) {
	if f.told {
		gone = at.Sub(f.missing)
	}
	f.missing, f.told = time.Time{}, false
	return gone
}
