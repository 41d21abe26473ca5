package live

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// attend takes the frame away while the process is stopped (Ctrl-Z), so that the shell
// finds a clean screen, and draws it again below what is there afterwards.
func (v *View) attend(heard chan<- struct{}) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTSTP, syscall.SIGCONT)
	defer signal.Stop(signals)
	close(heard)
	for {
		select {
		case <-v.quit:
			return
		case s := <-signals:
			v.again(func(old *shown) {
				if s == syscall.SIGCONT { // nobody could say that it stops
					old.leave()
					return
				}
				old.end()
				syscall.Kill(os.Getpid(), syscall.SIGSTOP)
				for s := range signals {
					if s == syscall.SIGCONT {
						return
					}
				}
			})
		}
	}
}

// again ends the frame and begins another.
func (v *View) again(end func(old *shown)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shown != nil {
		end(v.shown)
		v.shown = v.show()
	}
}

// behind tells whether the terminal is another program's now: what runs in the background
// does not draw over it.
func behind(out *os.File) bool {
	owner, err := unix.IoctlGetInt(int(out.Fd()), unix.TIOCGPGRP)
	return err == nil && owner != unix.Getpgrp()
}
