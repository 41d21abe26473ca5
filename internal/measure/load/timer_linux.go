package load

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timer waits with microsecond precision. Go's own timers round up to a millisecond when a thread sleeps in epoll_wait.
// A timerfd wakes the thread on time.
type timer struct {
	f *os.File
}

func newTimer() (*timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return &timer{os.NewFile(uintptr(fd), "timer")}, nil
}

func (t *timer) close() { t.f.Close() }

// wait waits for d. It returns false if ctx ends first.
func (t *timer) wait(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	if d <= 0 {
		return true
	}
	raw, err := t.f.SyscallConn()
	if err != nil {
		return false
	}
	raw.Control(func(fd uintptr) {
		at := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
		err = unix.TimerfdSettime(int(fd), 0, &at, nil)
	})
	if err != nil {
		return false
	}
	stop := context.AfterFunc(ctx, func() { t.f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var b [8]byte
	_, err = t.f.Read(b[:])
	return err == nil && ctx.Err() == nil
}
