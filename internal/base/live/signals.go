package live

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stopping is the time that the process waits for the end of its own stop, which Go may tell late.
const stopping = 200 * time.Millisecond

// leader reports whether the process leads its session, as in a container or with ssh -t. No shell could continue it, so
// that it is not stopped; nor would the kernel stop it.
func leader() bool {
	session, err := unix.Getsid(0)
	return err == nil && session == os.Getpid()
}

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
			if s == syscall.SIGTSTP && leader() {
				continue
			}
			v.mu.Lock()
			if s == syscall.SIGCONT { // the process was stopped by SIGSTOP, and the contents of the screen are unknown
				if time.Since(v.at) > every { // otherwise it was drawn after the stop
					v.drawn = nil
				}
			} else {
				v.write(v.erase(), nil)
				syscall.Kill(os.Getpid(), syscall.SIGSTOP)
				for end := time.After(stopping); s == syscall.SIGTSTP; {
					select {
					case s = <-signals:
					case <-end:
						s = syscall.SIGCONT
					}
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
