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

// An interrupt ends the context of the verb. A verb that only reads and computes has then written only hidden files. If
// such a verb does not end within a moment, the hidden files are removed and the process ends. A verb that has opened a
// window or started processes first closes the window or ends the processes.
//
// SIGINT and SIGTERM are interrupts. The loss of the user is an interrupt, too. It has two forms: SIGHUP, for example
// after a lost SSH session, unless nohup makes the process ignore it; and a write to stdout or stderr when no one reads
// them any more, for example with | head -1. The loss counts only once, because terminals and shells both send SIGHUP.

const (
	// sentTwice is the time after a signal in which the same signal counts as a copy. timeout(1) sends a signal first
	// to the process and then to its process group.
	sentTwice = 250 * time.Millisecond
	// grace is the time that a verb which only reads may take to end by itself. tidy is the time that removing the
	// verb's files may take.
	grace, tidy = 400 * time.Millisecond, 300 * time.Millisecond
	// holdLimit is the time that closing windows and processes may take. holdSay is the delay after which the user is
	// informed that this is in progress.
	holdLimit, holdSay = 30 * time.Second, time.Second
)

// held lists, by the beginning of a verb's name, the work for which the verb waits after an interrupt. "" marks verbs
// that handle signals and time limits themselves.
var held = []struct{ verb, what string }{
	{"serve", ""}, {"route", ""}, {"nsys run", ""}, {"job", ""}, {"bench mock", ""},
	{"nsys start", "nsys, which writes its report and may go on with it"}, {"nsys stop", "nsys, which writes its report and may go on with it"},
	{"profile", "the servers to write their windows"}, {"watch", "the capture under way"}, {"demo", "the server of the demo to write its window"},
	{"bench", "the load to end and its window to be written"}, {"send", "the server"}, {"ci gate", "the load and the server to end"}, {"generate", "the pipeline to write its window"},
}

// hold registers work that must be finished after an interrupt. what describes the work, as in held.
func (e *env) hold(what string) { e.holds.Store(&what) }

// holdBy registers the work that held lists for the verb.
func (e *env) holdBy(verb string) {
	for _, h := range held {
		if verb == h.verb || strings.HasPrefix(verb, h.verb+" ") {
			e.hold(h.what)
			return
		}
	}
}

// listen starts receiving signals as interrupts. aside restores the default effect of SIGINT and SIGTERM.
func (e *env) listen() (signals <-chan os.Signal, aside func()) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	// Without this call, a write to a closed stdout or stderr would end the program at once. The signal itself is
	// ignored, because closed sockets raise SIGPIPE, too. The writers of stdout and stderr detect the closed pipe
	// instead.
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

// alone records that the user is gone.
func (e *env) alone() { e.leave.Do(func() { close(e.left) }) }

// unread records that no one reads the output any more. The reason why the verb ends is not printed, since no one would
// read it. The verb only sees its context end.
func (e *env) unread() {
	e.interrupted.Do(func() {})
	e.lost.Store(true)
	e.alone()
	e.cancel()
}

// outlet wraps stdout or stderr and detects that no one reads the stream any more.
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

// interrupts ends the verb on a signal. cancel ends the context of the verb, aside restores the default effect of
// signals, and abandon removes unfinished files. exit ends the process, unless the verb has finished.
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

// hurry returns a channel that is closed by the second signal. The first signal is the signal that ended ctx. On the
// second signal, a server abandons the requests for which it waits, and writes its recordings. The third signal has its
// default effect.
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
