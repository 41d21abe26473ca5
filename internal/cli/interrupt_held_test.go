package cli

import (
	"bytes"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// TestInterruptHeld: what a verb does with signals, by its name, while it does not end by itself.
func TestInterruptHeld(t *testing.T) {
	const waits = "stepscope: interrupted: waiting for the servers to write their windows, at most 30s; another interrupt stops waiting\n"
	const ended = "stepscope: interrupted\n"
	for _, c := range []struct {
		what    string
		verb    string
		signals []time.Duration // when they come
		left    bool            // nobody looks on any more, before any signal
		ends    time.Duration   // when the process ends; 0: when the verb does
		said    string
	}{
		{"a verb that reads ends within a second", "trace merge", []time.Duration{0}, false, 400 * time.Millisecond, ended},
		{"a copy of the signal is none", "analyze", []time.Duration{0, 100 * time.Millisecond}, false, 400 * time.Millisecond, ended},
		{"a second one ends it at once", "analyze", []time.Duration{0, 300 * time.Millisecond}, false, 300 * time.Millisecond, ended},
		{"summaries of nsys are read", "nsys stats", []time.Duration{0}, false, 400 * time.Millisecond, ended},
		{"a window is closed first, in 30 seconds", "profile", []time.Duration{0}, false, 250*time.Millisecond + 30*time.Second, waits + ended},
		{"a second one ends the waiting", "profile", []time.Duration{0, 5 * time.Second}, false, 5 * time.Second, waits + ended},
		{"and ends it before anything is said of it", "profile", []time.Duration{0, 500 * time.Millisecond}, false, 500 * time.Millisecond, ended},
		{"a server has limits of its own", "serve", []time.Duration{0}, false, 0, ""},
		{"a job, too", "job apply", []time.Duration{0}, false, 0, ""},
		{"a lost session is an interrupt", "analyze", nil, true, 400 * time.Millisecond, ended},
		{"of what is closed first, too", "profile", nil, true, 250*time.Millisecond + 30*time.Second, waits + ended},
		{"a signal after it is the second", "profile", []time.Duration{5 * time.Second}, true, 5 * time.Second, waits + ended},
		{"a job gathers what there is", "job apply", nil, true, 0, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out, said bytes.Buffer
				e := newEnv(nil, &out, &said)
				e.holdBy(c.verb)
				began, signals, finished := time.Now(), make(chan os.Signal, 1), make(chan struct{})
				var cancelled, aside bool
				var ends time.Duration
				abandon := func() {} // files of other tests
				go e.interrupts(signals, finished, func() { cancelled = true }, func() { aside = true }, abandon, func(status int) {
					if ends = time.Since(began); status != exitInterrupted {
						t.Errorf("status %d", status)
					}
				})
				if c.left {
					e.alone()
					e.alone() // terminals and shells both send SIGHUP
				}
				for _, at := range c.signals {
					time.Sleep(at - time.Since(began))
					select {
					case signals <- os.Interrupt:
					default:
					}
				}
				time.Sleep(time.Hour)
				close(finished)
				if !cancelled || ends != c.ends || said.String() != c.said || aside != (c.ends == 0) {
					t.Errorf("cancelled %t, aside %t, ended after %v, want %v; said %q", cancelled, aside, ends, c.ends, &said)
				}
			})
		})
	}
}
