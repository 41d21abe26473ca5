package load

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stepscope/stepscope/bench"
)

const stampFlags = unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE

// setup enables two kernel features: receive timestamps, and the number of bytes that remain unread after a read.
// Either feature may be unavailable.
func (c *conn) setup(t *net.TCPConn, stamps bool) {
	raw, err := t.SyscallConn()
	if err != nil {
		return
	}
	err = raw.Control(func(fd uintptr) {
		c.kernel = stamps && unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stampFlags) == nil
		_ = unix.SetsockoptInt(int(fd), unix.SOL_TCP, unix.TCP_INQ, 1)
	})
	if err == nil {
		c.raw = raw
	}
}

// open reports whether an idle connection is still open and has no unread data.
func (c *conn) open() bool {
	if c.raw == nil {
		return true
	}
	silent := false
	err := c.raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		silent = errors.Is(err, unix.EAGAIN)
	})
	return err == nil && silent
}

// growFiles enlarges the file table of the process for n more open files, before the clock starts. When the file table
// of a multithreaded process is full, the kernel doubles the table, which blocks the process for about 10 ms.
func growFiles(n int) {
	var limit unix.Rlimit
	f, err := os.Open(os.DevNull)
	if err != nil || unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return
	}
	defer f.Close()
	const others = 64
	if last := min(uint64(n)+others, limit.Cur-1); last > others {
		if fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, int(last)); err == nil {
			unix.Close(fd)
		}
	}
}

// scratch holds the buffers of one read. A scratch is used only during a read, so ten thousand silent streams hold no
// buffers.
type scratch struct {
	hdr  unix.Msghdr
	iov  unix.Iovec
	oob  [128]byte
	data [64 << 10]byte
}

var scratches = sync.Pool{New: func() any {
	s := &scratch{}
	s.iov.Base = &s.data[0]
	s.iov.SetLen(len(s.data))
	s.hdr.Iov = &s.iov
	s.hdr.SetIovlen(1)
	s.hdr.Control = &s.oob[0]
	return s
}}

// read receives the available data without waiting. The result n is the number of bytes; 0: end of the stream. The
// result stamp is the wall-clock time at which the kernel received the last of these bytes; 0: unknown. The result left
// is the number of bytes that remain unread; -1: unknown.
func (s *scratch) read(fd int) (n int, stamp int64, left int, err error) {
	s.hdr.SetControllen(len(s.oob))
	// RawSyscall does not notify Go's scheduler. A notification is unnecessary, because the call does not block.
	r, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.hdr)), unix.MSG_DONTWAIT)
	if errno != 0 {
		return 0, 0, -1, errno
	}
	left = -1
	const head = unix.SizeofCmsghdr
	for b := s.oob[:s.hdr.Controllen]; len(b) >= head; {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
		size := int(h.Len)
		if size < head || size > len(b) {
			break
		}
		value := b[head:size]
		switch {
		case h.Level == unix.SOL_SOCKET && h.Type == unix.SO_TIMESTAMPING && len(value) >= int(unsafe.Sizeof(unix.Timespec{})):
			stamp = (*unix.Timespec)(unsafe.Pointer(&value[0])).Nano()
		case h.Level == unix.SOL_TCP && h.Type == unix.TCP_INQ && len(value) >= 4:
			left = int(*(*int32)(unsafe.Pointer(&value[0])))
		}
		const word = int(unsafe.Sizeof(uintptr(0)))
		size = (size + word - 1) &^ (word - 1)
		if size >= len(b) {
			break
		}
		b = b[size:]
	}
	return int(r), stamp, left, nil
}

// receiveRaw implements receive for a socket that is read directly. The whole stream is read inside one Read of the raw
// connection. When the callback returns false, Read waits for the next edge of the poller, including an edge that came
// while the callback ran. After a read that leaves no unread bytes, a second read to confirm that the socket is empty
// is therefore unnecessary. An event thus costs one system call.
func (f *flight) receiveRaw(c *conn) error {
	var ended error
	read := func(fd uintptr) bool {
		for {
			s := scratches.Get().(*scratch)
			n, wall, left, err := s.read(int(fd))
			switch {
			case err == unix.EINTR:
				scratches.Put(s)
				continue
			case err == unix.EAGAIN:
				scratches.Put(s)
				return false
			case err != nil || n == 0:
				if ended = err; err == nil {
					ended = io.EOF
				}
				scratches.Put(s)
				return true
			}
			f.user = f.run.clock.now()
			f.feed(s.data[:n], f.stamp(c, wall))
			scratches.Put(s)
			if f.over {
				return true
			}
			// Check this after each read, because Read never waits if the server never pauses.
			if f.kill.Load() != alive {
				ended = errKilled
				return true
			}
			if left == 0 {
				return false
			}
		}
	}
	for {
		ended = nil
		err := c.raw.Read(read)
		if err == nil && ended == nil {
			return nil
		}
		if err == nil {
			return ended
		}
		if err = f.woken(c, err); err != nil {
			return err
		}
	}
}

// stamp returns the receive time of a read. If the kernel's timestamp is valid, the receive time is the timestamp;
// otherwise it is the time of the read.
func (f *flight) stamp(c *conn, wall int64) int64 {
	if !c.kernel {
		return f.user
	}
	h := &f.run.health
	if wall == 0 {
		h.unstamped.Add(1)
		return f.user
	}
	at := f.run.clock.fromWall(wall)
	// The two clocks are read one after the other, so the offset between them has a small error.
	const slack = 20 * int64(time.Microsecond)
	floor := f.rec.Sent
	if f.rec.Done != bench.Never {
		floor = f.rec.Done
	}
	if at > f.user+slack || at < floor-slack {
		h.unsound.Add(1)
		return f.user
	}
	at = min(max(at, floor), f.user)
	h.lag.Add(f.user - at)
	return at
}

// kernelStamps reports whether this kernel timestamps received TCP data. Some kernels accept the socket option without
// effect. The kernel enables timestamping asynchronously when the first socket requests it. For this reason
// kernelStamps also waits until timestamping is active. Timestamping stays active until stop is called.
func kernelStamps() (ok bool, stop func()) {
	none := func() {}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return false, none
	}
	defer l.Close()
	out, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return false, none
	}
	in, err := l.Accept()
	if err != nil {
		out.Close()
		return false, none
	}
	stop = func() { out.Close(); in.Close() }
	c := &conn{Conn: in}
	c.setup(in.(*net.TCPConn), true)
	if !c.kernel || c.raw == nil {
		stop()
		return false, none
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for range 50 {
		if _, err := out.Write([]byte{1}); err != nil {
			break
		}
		in.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		var stamp int64
		c.raw.Read(func(fd uintptr) bool {
			var err error
			_, stamp, _, err = s.read(int(fd))
			return err != unix.EAGAIN
		})
		if stamp != 0 {
			return true, stop
		}
		time.Sleep(time.Millisecond)
	}
	stop()
	return false, none
}
