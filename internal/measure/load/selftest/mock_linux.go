package selftest

import (
	"bytes"
	"container/heap"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// mock is a token server that keeps an exact schedule: one thread, one loop, one write per event. Each event carries
// the time (CLOCK_MONOTONIC) at which it was handed to the operating system. A client on the same host can therefore
// determine the error of its own times. The mock does not validate requests, so it must not be used for any other
// cause.
type mock struct {
	period   int64 // between the events of a stream, ns
	spread   int64 // number of phases, which are assigned to streams in turn; 1: all streams step together
	instant  bool  // answer each request at once
	next     int64 // phase of the next stream
	poll     int
	timer    int
	listener int
	conns    map[int]*mockConn
	due      mockQueue
	buf      [64 << 10]byte
}

type mockConn struct {
	fd     int
	in     []byte
	out    []byte // data that the socket has not accepted yet
	native bool
	left   int   // events to send; the last one ends the stream
	sent   int   // events sent
	due    int64 // time of the next event, CLOCK_MONOTONIC
	place  int   // index in the queue; -1: not queued
}

// monotonic returns CLOCK_MONOTONIC, which is the same for all processes of a host.
func monotonic() int64 {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

// serveMock writes the URL of the mock server to out, and serves until in ends.
func serveMock(in *os.File, out io.Writer, period time.Duration, spread int, instant bool) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m := &mock{period: int64(period), spread: int64(max(spread, 1)), instant: instant, conns: map[int]*mockConn{}}
	if err := m.open(int(in.Fd())); err != nil {
		return err
	}
	defer m.close()
	addr, err := unix.Getsockname(m.listener)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "http://127.0.0.1:%d\n", addr.(*unix.SockaddrInet4).Port)
	return m.loop(int(in.Fd()))
}

func (m *mock) open(stdin int) (err error) {
	if m.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create", err)
	}
	if m.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return os.NewSyscallError("timerfd_create", err)
	}
	if m.listener, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
		return os.NewSyscallError("socket", err)
	}
	if err = unix.Bind(m.listener, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return os.NewSyscallError("bind", err)
	}
	if err = unix.Listen(m.listener, 4096); err != nil {
		return os.NewSyscallError("listen", err)
	}
	for _, fd := range []int{m.timer, m.listener, stdin} {
		if err = m.watch(fd); err != nil {
			return err
		}
	}
	return nil
}

func (m *mock) watch(fd int) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(m.poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(fd)}))
}

func (m *mock) close() {
	for fd := range m.conns {
		unix.Close(fd)
	}
	for _, fd := range []int{m.listener, m.timer, m.poll} {
		unix.Close(fd)
	}
}

func (m *mock) loop(stdin int) error {
	events := make([]unix.EpollEvent, 64)
	for {
		// Events that are due are sent first, but only a limited number at a time, so that new connections are
		// accepted.
		now := monotonic()
		for n := 0; n < 256 && len(m.due) > 0 && m.due[0].due <= now; n++ {
			now = m.step(m.due[0])
		}
		wait := -1
		if len(m.due) > 0 {
			wait = 0
			if ahead := m.due[0].due - now; ahead > 0 {
				at := unix.ItimerSpec{Value: unix.NsecToTimespec(m.due[0].due)}
				if err := unix.TimerfdSettime(m.timer, unix.TFD_TIMER_ABSTIME, &at, nil); err != nil {
					return os.NewSyscallError("timerfd_settime", err)
				}
				wait = -1
			}
		}
		n, err := unix.EpollWait(m.poll, events, wait)
		if err != nil && err != unix.EINTR {
			return os.NewSyscallError("epoll_wait", err)
		}
		for _, e := range events[:max(n, 0)] {
			switch fd := int(e.Fd); fd {
			case stdin:
				if n, _ := unix.Read(fd, m.buf[:]); n == 0 {
					return nil
				}
			case m.timer:
				unix.Read(fd, m.buf[:8])
			case m.listener:
				m.accept()
			default:
				m.read(m.conns[fd])
			}
		}
	}
}

func (m *mock) accept() {
	for {
		fd, _, err := unix.Accept4(m.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err != nil {
			return
		}
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		if m.watch(fd) != nil {
			unix.Close(fd)
			continue
		}
		c := &mockConn{fd: fd, place: -1}
		m.conns[fd] = c
	}
}

func (m *mock) drop(c *mockConn) {
	if c.place >= 0 {
		heap.Remove(&m.due, c.place)
	}
	delete(m.conns, c.fd)
	unix.Close(c.fd)
}

// read receives part of a request, and starts the stream once the request is complete.
func (m *mock) read(c *mockConn) {
	if c == nil {
		return
	}
	n, err := unix.Read(c.fd, m.buf[:])
	if n <= 0 {
		if err != unix.EAGAIN && err != unix.EINTR {
			m.drop(c)
		}
		return
	}
	c.in = append(c.in, m.buf[:n]...)
	head, body, ok := bytes.Cut(c.in, []byte("\r\n\r\n"))
	if !ok || len(body) < contentLength(head) {
		return
	}
	c.native = bytes.HasPrefix(head, []byte("POST /generate"))
	c.left, c.sent = max(askedTokens(body), 1), 0
	c.in = c.in[:0]
	now := monotonic()
	switch {
	case m.instant:
		c.due = now
	default:
		phase := m.next * m.period / m.spread
		m.next = (m.next + 1) % m.spread
		c.due = (now/m.period+2)*m.period + phase
	}
	m.write(c, []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"))
	heap.Push(&m.due, c)
}

// step sends the event of c that is due.
func (m *mock) step(c *mockConn) int64 {
	c.sent++
	last := c.sent == c.left
	b := m.buf[:0]
	b = c.event(b, last)
	at := len(b) - len(stampTail) + len(`"t":"`)
	if last {
		b = append(b, "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"...)
	}
	// The send time is taken immediately before the write.
	now := monotonic()
	writeStamp(b[at:], now)
	m.write(c, b)
	if last {
		heap.Remove(&m.due, c.place)
		return now
	}
	c.due += m.period
	heap.Fix(&m.due, c.place)
	return now
}

// write sends data, and buffers the part that the socket does not accept.
func (m *mock) write(c *mockConn, b []byte) {
	if len(c.out) > 0 {
		c.out = append(c.out, b...)
		b = c.out
	}
	n, err := unix.Write(c.fd, b)
	if err != nil {
		n = 0 // if the client has closed the connection, a later read detects this
	}
	if n < len(b) {
		c.out = append([]byte(nil), b[n:]...)
	} else {
		c.out = nil
	}
}

// stampTail ends each event; its digits are overwritten.
const stampTail = `"t":"0000000000000000000"}` + "\n\n\r\n"

// event appends one event as an HTTP chunk. The chunk is about as large as the chunks of real servers.
func (c *mockConn) event(b []byte, last bool) []byte {
	from := len(b)
	b = append(b, "0000\r\ndata: "...)
	if c.native {
		b = append(b, `{"text":" token token","output_ids":[15043,3186],"meta_info":{"id":"7d1f0c2e5b8a4c0e9f3a6b7c8d9e0f1a","finish_reason":`...)
		if last {
			b = append(b, `{"type":"length"}`...)
		} else {
			b = append(b, "null"...)
		}
		b = append(b, `,"prompt_tokens":128,"weight_version":"default","total_retractions":0,"completion_tokens":`...)
		b = strconv.AppendInt(b, int64(c.sent), 10)
		b = append(b, `,"cached_tokens":0},`...)
	} else {
		b = append(b, `{"id":"chatcmpl-7d1f0c2e5b8a4c0e9f3a","object":"chat.completion.chunk","created":1764000000,"model":"mock","choices":[{"index":0,"delta":{"content":" token"},"text":" token","logprobs":null,"finish_reason":`...)
		if last {
			b = append(b, `"length"`...)
		} else {
			b = append(b, "null"...)
		}
		b = append(b, `,"matched_stop":null}],"usage":null,`...)
	}
	b = append(b, stampTail...)
	size := len(b) - from - len("0000\r\n") - len("\r\n")
	for i := 3; i >= 0; i-- {
		b[from+i] = "0123456789abcdef"[size&15]
		size >>= 4
	}
	return b
}

func writeStamp(b []byte, ns int64) {
	for i := 18; i >= 0; i-- {
		b[i] = byte('0' + ns%10)
		ns /= 10
	}
}

// sentStamp parses the send time in a mock event.
func sentStamp(data []byte) (ns int64) {
	const tail = len(`0000000000000000000"}`)
	if len(data) < tail {
		return 0
	}
	for _, c := range data[len(data)-tail:][:19] {
		ns = ns*10 + int64(c-'0')
	}
	return ns
}

func contentLength(head []byte) int {
	for line := range bytes.Lines(head) {
		name, value, _ := bytes.Cut(line, []byte{':'})
		if bytes.EqualFold(name, []byte("Content-Length")) {
			n, _ := strconv.Atoi(string(bytes.TrimSpace(value)))
			return n
		}
	}
	return 0
}

// askedTokens returns the number of tokens that a body of any backend requests.
func askedTokens(body []byte) (n int) {
	for _, key := range []string{`"max_tokens":`, `"max_new_tokens":`, `"max_completion_tokens":`} {
		if _, after, ok := bytes.Cut(body, []byte(key)); ok {
			fmt.Sscan(string(after[:min(len(after), 20)]), &n)
		}
	}
	return n
}

// mockQueue is a heap of streams ordered by the time of their next event.
type mockQueue []*mockConn

func (q mockQueue) Len() int           { return len(q) }
func (q mockQueue) Less(i, j int) bool { return q[i].due < q[j].due }
func (q mockQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}
func (q *mockQueue) Push(x any) {
	c := x.(*mockConn)
	c.place = len(*q)
	*q = append(*q, c)
}
func (q *mockQueue) Pop() any {
	old := *q
	c := old[len(old)-1]
	*q = old[:len(old)-1]
	c.place = -1
	return c
}
