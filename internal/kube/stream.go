package kube

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ExitError is the error of a command that ended with a status other than 0.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

// Channels of a command's stream: the first byte of each message.
const (
	chanOut    = 1
	chanErr    = 2
	chanStatus = 3
)

func podPath(namespace, pod string) string {
	return "/api/v1/namespaces/" + url.PathEscape(namespace) + "/pods/" + url.PathEscape(pod)
}

// exec runs a command in a container and copies its output. If the command fails, the error is an *ExitError.
func (c *Client) exec(ctx context.Context, namespace, pod, container string, command []string, out, errs io.Writer) error {
	query := url.Values{"command": command, "stdout": {"true"}, "stderr": {"true"}}
	if container != "" {
		query.Set("container", container)
	}
	s, err := c.open(ctx, podPath(namespace, pod)+"/exec", query, "v5.channel.k8s.io", "v4.channel.k8s.io")
	if err != nil {
		return err
	}
	defer s.Close()
	defer context.AfterFunc(ctx, func() { s.Close() })()
	for buf := []byte(nil); ; {
		if buf, err = s.next(buf); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("the stream ended before the command: %w", err)
		}
		if len(buf) == 0 {
			continue
		}
		switch to := buf[0]; to {
		case chanOut:
			_, err = out.Write(buf[1:])
		case chanErr:
			_, err = errs.Write(buf[1:])
		case chanStatus:
			return exitOf(buf[1:])
		}
		if err != nil {
			return err
		}
	}
}

// exitOf returns the error of the Status object with which a command ends.
func exitOf(text []byte) error {
	var s struct {
		Status, Message, Reason string
		Details                 struct {
			Causes []struct{ Reason, Message string }
		}
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("the command ended with %q, which is no status", text)
	}
	if s.Status == "Success" {
		return nil
	}
	for _, cause := range s.Details.Causes {
		if code, err := strconv.Atoi(cause.Message); err == nil && cause.Reason == "ExitCode" {
			return &ExitError{code}
		}
	}
	return errors.New(s.Message)
}

// forward opens a connection to a port of a pod.
func (c *Client) forward(ctx context.Context, namespace, pod string, port int) (net.Conn, error) {
	s, err := c.open(ctx, podPath(namespace, pod)+"/portforward", url.Values{"ports": {strconv.Itoa(port)}}, "v4.channel.k8s.io")
	if err != nil {
		return nil, err
	}
	return &forwarded{socket: s, name: podAddr(net.JoinHostPort(pod+"."+namespace, strconv.Itoa(port))), port: uint16(port)}, nil
}

// podAddr is the address of a port of a pod.
type podAddr string

func (podAddr) Network() string  { return "kube" }
func (a podAddr) String() string { return string(a) }

// forwarded is a connection to a port of a pod. It has no deadlines and no half-close, which HTTP/1.1 does not need.
type forwarded struct {
	*socket
	name  podAddr
	port  uint16
	read  sync.Mutex
	begun [2]bool // the first message of each channel is the port
	buf   []byte
	rest  []byte // of the last message
}

// Read returns data of channel 0. A message of channel 1 is an error.
func (f *forwarded) Read(p []byte) (int, error) {
	f.read.Lock()
	defer f.read.Unlock()
	for len(f.rest) == 0 {
		m, err := f.next(f.buf)
		if err != nil {
			return 0, err
		}
		if f.buf = m; len(m) == 0 {
			continue
		}
		channel, data := m[0], m[1:]
		switch {
		case channel > 1:
			return 0, fmt.Errorf("%s: unexpected channel %d", f.name, channel)
		case !f.begun[channel]:
			if f.begun[channel] = true; len(data) != 2 || binary.LittleEndian.Uint16(data) != f.port {
				return 0, fmt.Errorf("%s: the stream does not begin with the port", f.name)
			}
		case channel == 0:
			f.rest = data
		case strings.Contains(string(data), "connection refused"):
			return 0, fmt.Errorf("%s: %w", f.name, syscall.ECONNREFUSED)
		default:
			return 0, fmt.Errorf("%s: %s", f.name, strings.TrimSpace(string(data)))
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// Write sends data on channel 0.
func (f *forwarded) Write(p []byte) (n int, err error) {
	for n < len(p) {
		part := p[n:min(len(p), n+32<<10)]
		if err := f.send(opBinary, []byte{0}, part); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

func (f *forwarded) LocalAddr() net.Addr              { return podAddr("local") }
func (f *forwarded) RemoteAddr() net.Addr             { return f.name }
func (f *forwarded) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (f *forwarded) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (f *forwarded) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }
