package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// An interrupt ends the context. A verb that only reads and computes has written nothing but hidden files by then: if
// it does not react after a moment, these files are removed and the process ends. A verb that holds a window or
// processes closes these first.
//
// SIGINT and SIGTERM are interrupts. So is the loss of the user: SIGHUP, as after a lost SSH session, unless nohup
// ignores it, and a write to stdout or stderr that no one reads any more, as under | head -1. This loss counts only
// once, because terminals and shells both send SIGHUP.

const (
	// sentTwice is how long after a signal the same signal counts as a copy: timeout(1) sends it to the process and
	// then to its group.
	sentTwice = 250 * time.Millisecond
	// grace is how long a verb that only reads may take to end by itself, and tidy how long removing its files may
	// take.
	grace, tidy = 400 * time.Millisecond, 300 * time.Millisecond
	// holdLimit is how long closing held resources may take, and holdSay after how long the user is informed.
	holdLimit, holdSay = 30 * time.Second, time.Second
)

// held lists, by the start of the verb, the work that the verb waits for once it is interrupted. "" marks verbs that
// handle signals and time limits themselves.
var held = []struct{ verb, what string }{
	{"serve", ""}, {"route", ""}, {"nsys run", ""}, {"job", ""}, {"bench mock", ""},
	{"nsys start", "nsys, which writes its report and may go on with it"}, {"nsys stop", "nsys, which writes its report and may go on with it"},
	{"profile", "the servers to write their windows"}, {"watch", "the capture under way"}, {"demo", "the server of the demo to write its window"},
	{"bench", "the load to end and its window to be written"}, {"send", "the server"}, {"generate", "the pipeline to write its window"},
}

// hold registers work to finish on an interrupt, in the words of held.
func (e *env) hold(what string) { e.holds.Store(&what) }

// holdBy registers it by the verb's name.
func (e *env) holdBy(verb string) {
	for _, h := range held {
		if verb == h.verb || strings.HasPrefix(verb, h.verb+" ") {
			e.hold(h.what)
			return
		}
	}
}

// listen turns signals into interrupts. aside restores the default effect of SIGINT and SIGTERM.
func (e *env) listen() (signals <-chan os.Signal, aside func()) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	// Without this, a write to a closed pipe ends a Go program at once. Closed sockets also raise SIGPIPE, so the
	// writers of stdout and stderr detect the closed pipe instead.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if !signal.Ignored(syscall.SIGHUP) {
		hangup := make(chan os.Signal, 1)
		signal.Notify(hangup, syscall.SIGHUP)
		go func() {
			<-hangup
			e.alone()
		}()
	}
	return told, func() { signal.Stop(told) }
}

// alone records that no one is watching any more.
func (e *env) alone() { e.leave.Do(func() { close(e.left) }) }

// unread records that no one reads the output any more, nor the reason why the verb ends. The writer sees its context
// end.
func (e *env) unread() {
	e.interrupted.Do(func() {})
	e.lost.Store(true)
	e.alone()
	e.cancel()
}

// outlet wraps stdout or stderr and detects that no one reads it.
type outlet struct {
	io.Writer
	e *env
}

func (o outlet) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		o.e.unread()
	}
	return n, err
}

// interrupts ends the verb on a signal: cancel ends its context, aside restores the default effect of signals, abandon
// removes unfinished files, and exit ends the process unless the verb has finished.
func (e *env) interrupts(signals <-chan os.Signal, finished <-chan struct{}, cancel, aside, abandon func(), exit func(status int)) {
	select {
	case <-signals:
	case <-e.left:
	case <-finished:
		return
	}
	cancel()
	copies := time.After(sentTwice)
	for copied := true; copied; {
		select {
		case <-signals:
		case <-copies:
			copied = false
		}
	}
	what := e.holds.Load()
	switch {
	case what == nil:
		select {
		case <-signals:
		case <-time.After(grace - sentTwice):
		}
		done := make(chan struct{})
		go func() { // abandoned if it takes too long (an unread pipe, a hanging disk)
			abandon()
			e.sayInterrupted()
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(tidy):
		}
	case *what == "":
		aside()
		return
	default:
		limit := time.After(holdLimit)
		select {
		case <-signals:
		case <-time.After(holdSay):
			e.Warn("interrupted: waiting for %s, at most %v; another interrupt stops waiting", *what, holdLimit)
			select {
			case <-signals:
			case <-limit:
			}
		}
		e.sayInterrupted()
	}
	select {
	case <-finished:
	default:
		exit(exitInterrupted)
	}
}

// sayInterrupted prints "interrupted" once.
func (e *env) sayInterrupted() {
	e.interrupted.Do(func() {
		e.Clear()
		e.Warn("interrupted")
	})
}

// hurry returns a channel that the second signal closes, after the one that ended ctx: a server then abandons the
// requests that it waits for, and writes its recordings. The third signal has its default effect.
func hurry(ctx context.Context) <-chan struct{} {
	out := make(chan struct{})
	context.AfterFunc(ctx, func() {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(signals)
		time.Sleep(sentTwice) // a copy of the first signal does not count as the second
		select {
		case <-signals:
		default:
		}
		<-signals
		close(out)
	})
	return out
}
