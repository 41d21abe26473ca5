package live

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// attend removes the frame while the process is stopped (Ctrl-Z), so that the shell finds a clean screen. It redraws
// the frame below the later output.
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
				if s == syscall.SIGCONT { // after SIGSTOP, which cannot be caught
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

// again ends the frame and starts another.
func (v *View) again(end func(old *shown)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shown != nil {
		end(v.shown)
		v.shown = v.show()
	}
}

// behind reports whether another program owns the terminal. A background process does not draw over it.
func behind(out *os.File) bool {
	owner, err := unix.IoctlGetInt(int(out.Fd()), unix.TIOCGPGRP)
	return err == nil && owner != unix.Getpgrp()
}
