package live

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// attend removes the frame while the process is stopped (Ctrl-Z), so that the shell finds a clean screen. When the
// process continues, attend draws the frame below the output that has been added.
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
				if s == syscall.SIGCONT { // the process was stopped by SIGSTOP, which cannot be caught
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

// again ends the current frame with end and starts a new frame.
func (v *View) again(end func(old *shown)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shown != nil {
		end(v.shown)
		v.shown = v.show()
	}
}

// behind reports whether another program owns the terminal. In that case this process runs in the background and must
// not draw.
func behind(out *os.File) bool {
	owner, err := unix.IoctlGetInt(int(out.Fd()), unix.TIOCGPGRP)
	return err == nil && owner != unix.Getpgrp()
}
