package fakekube

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// stream returns the handler of a stream, which this server or the kubelet answers.
func (c *Cluster) stream(do func(r *http.Request, p *Pod, s *socket)) func(http.ResponseWriter, *http.Request, *Pod) {
	return func(w http.ResponseWriter, r *http.Request, p *Pod) {
		offered := []string{}
		for _, line := range r.Header.Values("Sec-Websocket-Protocol") {
			for p := range strings.SplitSeq(line, ",") {
				offered = append(offered, strings.TrimSpace(p))
			}
		}
		i := slices.IndexFunc(c.Protocols, func(p string) bool { return slices.Contains(offered, p) })
		tunnel := slices.ContainsFunc(offered, func(p string) bool { return strings.HasPrefix(p, "SPDY/") })
		switch {
		case i >= 0:
		case c.Kubelet == nil || tunnel: // kubectl then uses SPDY itself
			refuse(w, http.StatusBadRequest, "BadRequest", fmt.Sprintf("none of the protocols %v is known", offered))
			return
		default:
			c.Kubelet(w, r, p)
			return
		}
		s := accept(w, r, c.Protocols[i])
		if s == nil {
			return
		}
		defer s.conn.Close()
		c.mu.Lock()
		gone := p.gone
		c.mu.Unlock()
		over := make(chan struct{})
		defer close(over)
		go func() {
			select {
			case <-gone:
				s.conn.Close()
			case <-over:
			}
		}()
		do(r, p, s)
	}
}

// socket is the server's side of a websocket.
type socket struct {
	conn net.Conn
	r    *bufio.Reader
	mu   sync.Mutex
}

// accept answers the handshake. It returns nil if that fails.
func accept(w http.ResponseWriter, r *http.Request, protocol string) *socket {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	sum := sha1.Sum([]byte(r.Header.Get("Sec-Websocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(sum[:]), protocol)
	return &socket{conn: conn, r: rw.Reader}
}

// send sends a message on a channel.
func (s *socket) send(channel byte, data []byte) error {
	return s.frame(2, append([]byte{channel}, data...))
}

func (s *socket) frame(op byte, data []byte) error {
	head := []byte{0x80 | op}
	switch n := len(data); {
	case n < 126:
		head = append(head, byte(n))
	case n < 1<<16:
		head = binary.BigEndian.AppendUint16(append(head, 126), uint16(n))
	default:
		head = binary.BigEndian.AppendUint64(append(head, 127), uint64(n))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.conn.Write(append(head, data...))
	return err
}

// next returns the channel and the data of the next message.
func (s *socket) next() (channel byte, data []byte, err error) {
	for {
		var h [8]byte
		if _, err := io.ReadFull(s.r, h[:2]); err != nil {
			return 0, nil, err
		}
		op, n := h[0]&15, uint64(h[1]&127)
		switch {
		case h[0]&0x80 == 0 || h[1]&0x80 == 0:
			return 0, nil, errors.New("a client's frames are whole and masked")
		case n == 126:
			_, err = io.ReadFull(s.r, h[:2])
			n = uint64(binary.BigEndian.Uint16(h[:2]))
		case n == 127:
			_, err = io.ReadFull(s.r, h[:8])
			n = binary.BigEndian.Uint64(h[:8])
		}
		var mask [4]byte
		if err == nil {
			_, err = io.ReadFull(s.r, mask[:])
		}
		data := make([]byte, n)
		if err == nil {
			_, err = io.ReadFull(s.r, data)
		}
		if err != nil {
			return 0, nil, err
		}
		for i := range data {
			data[i] ^= mask[i&3]
		}
		switch {
		case op == 9:
			err = s.frame(10, data)
		case op == 8:
			s.frame(8, data)
			return 0, nil, io.EOF
		case op == 2 && n > 0:
			return data[0], data[1:], nil
		}
		if err != nil {
			return 0, nil, err
		}
	}
}

// on is a channel as a writer.
type on struct {
	s       *socket
	channel byte
}

func (o on) Write(p []byte) (int, error) { return len(p), o.s.send(o.channel, p) }

// Command returns a command that runs in a pod. The cluster remembers it.
func (c *Cluster) Command(p *Pod, words []string) *exec.Cmd {
	c.mu.Lock()
	c.commands = append(c.commands, p.Name+": "+strings.Join(words, " "))
	c.mu.Unlock()
	if p.PID > 0 {
		words = append([]string{"nsenter", "-m", "-t", strconv.Itoa(p.PID), "--wd=" + p.Dir, "--"}, words...)
	}
	cmd := exec.Command(words[0], words[1:]...)
	if p.PID == 0 {
		cmd.Dir = p.Dir
	}
	return cmd
}

// exec runs a command.
func (c *Cluster) exec(r *http.Request, p *Pod, s *socket) {
	cmd := c.Command(p, r.URL.Query()["command"])
	if r.FormValue("stdout") == "true" {
		cmd.Stdout = on{s, 1}
	}
	if r.FormValue("stderr") == "true" {
		cmd.Stderr = on{s, 2}
	}
	if r.FormValue("stdin") == "true" {
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return
		}
		go func() {
			defer stdin.Close()
			for {
				channel, data, err := s.next()
				if err != nil || channel == 255 { // 255, since v5: the end of the channel in the data
					return
				}
				stdin.Write(data)
			}
		}()
	}
	s.send(3, Status(cmd.Run()))
	s.frame(8, []byte{0x03, 0xe8}) // 1000: normal
	if r.FormValue("stdin") != "true" {
		s.next() // the client's close
	}
}

// Status returns the Status object with which a command ends.
func Status(err error) []byte {
	status := map[string]any{"metadata": map[string]any{}, "status": "Success"}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		status["status"], status["reason"] = "Failure", "NonZeroExitCode"
		status["message"] = "command terminated with non-zero exit code: " + err.Error()
		status["details"] = map[string]any{"causes": []any{map[string]string{"reason": "ExitCode", "message": strconv.Itoa(exit.ExitCode())}}}
	} else if err != nil {
		status["status"], status["reason"], status["message"], status["code"] = "Failure", "InternalError", "error executing command in container: "+err.Error(), 500
	}
	text, _ := json.Marshal(status) // cannot fail: it has only texts and numbers
	return text
}

// forward forwards a connection. Data has channel 0, errors have channel 1.
func (c *Cluster) forward(r *http.Request, p *Pod, s *socket) {
	c.mu.Lock()
	c.forwards++
	c.mu.Unlock()
	port, _ := strconv.ParseUint(r.FormValue("ports"), 10, 16)
	for channel := range byte(2) {
		s.send(channel, binary.LittleEndian.AppendUint16(nil, uint16(port)))
	}
	conn, err := net.Dial("tcp", p.Addr)
	if err != nil {
		s.send(1, []byte(fmt.Sprintf("an error occurred forwarding %d: %v", port, err)))
		s.next()
		return
	}
	defer conn.Close()
	go func() {
		io.Copy(on{s, 0}, conn)
		s.frame(8, []byte{0x03, 0xe8})
		s.conn.Close()
	}()
	for {
		channel, data, err := s.next()
		if err != nil {
			return
		}
		if channel == 0 {
			conn.Write(data)
		}
	}
}
