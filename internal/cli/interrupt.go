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

// What an interrupt does. It ends the context. A verb that only reads and computes has until then written nothing but
// hidden files: if it has not noticed after a moment, wherever it is, these are removed and the process ends. A verb
// that holds a window or processes closes these first.
//
// SIGINT and SIGTERM are interrupts. So is the loss of who looks on: SIGHUP, as a lost SSH session has it, unless nohup
// had it ignored, and a write to stdout or stderr that nobody reads any more, as under | head -1. It counts once: a
// second SIGHUP, which terminals and shells both send, hurries nothing.

const (
	// sentTwice is how long after a signal the same one is its copy: timeout(1)
	// sends it to the process and then to its group.
	sentTwice = 250 * time.Millisecond
	// grace is how long a verb that only reads may take to end by itself, and tidy how long removing what it began.
	grace, tidy = 400 * time.Millisecond, 300 * time.Millisecond
	// holdLimit is how long closing what a verb holds may take, and holdSay after what time that is said.
	holdLimit, holdSay = 30 * time.Second, time.Second
)

// held is what verbs hold, by how they begin: what they wait for once they are interrupted. "": they handle signals,
// and limits of time, themselves.
var held = []struct{ verb, what string }{
	{"serve", ""}, {"route", ""}, {"nsys run", ""}, {"job", ""}, {"bench mock", ""},
	{"nsys start", "nsys, which writes its report and may go on with it"}, {"nsys stop", "nsys, which writes its report and may go on with it"},
	{"profile", "the servers to write their windows"}, {"watch", "the capture under way"}, {"demo", "the server of the demo to write its window"},
	{"bench", "the load to end and its window to be written"}, {"send", "the server"}, {"generate", "the pipeline to write its window"},
}

// hold says that the verb has something to close, as held has it.
func (e *env) hold(what string) { e.holds.Store(&what) }

// holdBy does so by the verb's name.
func (e *env) holdBy(verb string) {
	for _, h := range held {
		if verb == h.verb || strings.HasPrefix(verb, h.verb+" ") {
			e.hold(h.what)
			return
		}
	}
}

// listen makes signals interrupts. aside gives SIGINT and SIGTERM their usual effect again.
func (e *env) listen() (signals <-chan os.Signal, aside func()) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	// Without this a write to a closed pipe ends a Go program on the spot. Closed sockets cause it as well, so the writers
	// of stdout and stderr tell.
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

// alone says that nobody looks on any more.
func (e *env) alone() { e.leave.Do(func() { close(e.left) }) }

// unread says that nobody reads what is written, nor will read why the verb ends. Who wrote it sees that its context has
// ended.
func (e *env) unread() {
	e.interrupted.Do(func() {})
	e.lost.Store(true)
	e.alone()
	e.cancel()
}

// outlet is stdout or stderr.
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

// interrupts ends the verb when a signal comes: cancel ends its context, aside gives signals their usual effect again,
// abandon removes what was begun, exit ends the process, unless the verb has finished.
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
		go func() { // what cannot be done in time (a pipe that nobody reads, a disk that hangs) is left
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
			e.Warn("interrupted: waiting for %s, at most %v; another interrupt ends that at once", *what, holdLimit)
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

// sayInterrupted says so once.
func (e *env) sayInterrupted() {
	e.interrupted.Do(func() {
		e.Clear()
		e.Warn("interrupted")
	})
}

// hurry is closed by the second signal, after that which ended ctx: a server then gives up the requests that it waits
// for, and writes what it has recorded. The third has its usual effect.
func hurry(ctx context.Context) <-chan struct{} {
	out := make(chan struct{})
	context.AfterFunc(ctx, func() {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(signals)
		time.Sleep(sentTwice) // a copy of the first is no second
		select {
		case <-signals:
		default:
		}
		<-signals
		close(out)
	})
	return out
}
