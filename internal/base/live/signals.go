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
			v.mu.Lock()
			if s == syscall.SIGCONT { // the process was stopped by SIGSTOP, and the contents of the screen are unknown
				v.drawn = nil
			} else {
				v.write(v.erase(), nil)
				syscall.Kill(os.Getpid(), syscall.SIGSTOP)
				for s != syscall.SIGCONT {
					s = <-signals
				}
			}
			v.mu.Unlock()
		}
	}
}

// behind reports whether another program owns the terminal. In that case this process runs in the background and must
// not draw.
func behind(out *os.File) bool {
	owner, err := unix.IoctlGetInt(int(out.Fd()), unix.TIOCGPGRP)
	return err == nil && owner != unix.Getpgrp()
}
