package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// server is a running server or router.
type server struct {
	url string
	cmd *exec.Cmd
	mu  sync.Mutex
	log bytes.Buffer
}

func (s *server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func (s *server) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

var listening = regexp.MustCompile(`Listening on (http://\S+)`)

// command returns a command that runs the program beside the attack.
func command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(*program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir, "SGLANG_TORCH_PROFILER_DIR="+filepath.Join(dir, "profiles"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// serving starts a server.
func serving(dir string, args ...string) (*server, error) {
	s := &server{cmd: command(dir, args...)}
	s.cmd.Stdout, s.cmd.Stderr = s, s
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for until := time.Now().Add(wide(30 * time.Second)); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if m := listening.FindStringSubmatch(s.text()); m != nil {
			s.url = m[1]
			return s, nil
		}
	}
	s.cmd.Process.Kill()
	return nil, fmt.Errorf("%s does not listen: %s", strings.Join(args, " "), tail([]byte(s.text())))
}

// stop stops the server and records the server's errors as failures.
func (s *server) stop(a *attack) {
	s.cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan error, 1)
	go func() { done <- s.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(wide(30 * time.Second)):
		a.fail("the server does not end")
		s.cmd.Process.Kill()
		<-done
	}
	log := s.text()
	for _, word := range []string{"panic", "goroutine ", "DATA RACE"} {
		if i := strings.Index(log, word); i >= 0 {
			a.fail("its log has %q: %.300s", word, log[i:])
		}
	}
	if c := control([]byte(log)); c != "" {
		a.fail("its log has %s", c)
	}
	if n := strings.Count(log, "\n"); n > 20_000 {
		a.fail("its log has %d lines", n)
	}
}

// rss returns the server's resident memory in bytes.
func (s *server) rss() int64 { return rssOf(s.cmd.Process.Pid) }

func rssOf(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var size, resident int64
	fmt.Sscan(string(text), &size, &resident)
	return resident * int64(os.Getpagesize())
}

// answers returns an error unless the server still answers requests.
func (s *server) answers() error {
	ctx, cancel := context.WithTimeout(context.Background(), wide(20*time.Second))
	defer cancel()
	status, body, err := post(ctx, s.url+"/generate", `{"text":"a","sampling_params":{"max_new_tokens":2}}`)
	if err != nil || status != 200 {
		return fmt.Errorf("does not answer any more: %d %.200s %v", status, body, err)
	}
	return nil
}

func post(ctx context.Context, url, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, string(text), err
}

// raw sends text on a connection and returns the beginning of the reply.
func (s *server) raw(text string, halfClose bool) (string, error) {
	u, err := url.Parse(s.url)
	if err != nil {
		return "", err
	}
	c, err := net.DialTimeout("tcp", u.Host, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(wide(15 * time.Second)))
	go func() {
		io.WriteString(c, text)
		if halfClose {
			c.(*net.TCPConn).CloseWrite()
		}
	}()
	b := bufio.NewReader(c)
	for { // skip informational responses
		resp, err := http.ReadResponse(b, nil)
		if err != nil {
			return "", err
		}
		if resp.StatusCode < 200 {
			continue
		}
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<12))
		return fmt.Sprintf("HTTP/1.1 %s\n%s", resp.Status, text), nil
	}
}

var routes = []string{"/generate", "/v1/completions", "/v1/chat/completions", "/tokenize", "/detokenize", "/start_profile", "/flush_cache"}

// values are invalid values for parameters.
var values = []string{
	"1e308", "-1e308", "1e-300", "1e999", "NaN", "null", "true", `"x"`, "[]", "{}", "-1", "0", "9223372036854775807", "99999999999999999999999", "0.5", `[[[]]]`, `{"1":1e308}`, `{"-1":1}`, `{"99999999":1}`, `["",null]`, `"\ud800"`,
}

var parameters = []string{
	"temperature", "top_p", "top_k", "min_p", "repetition_penalty", "frequency_penalty", "presence_penalty", "max_new_tokens", "min_new_tokens", "stop", "stop_token_ids", "logit_bias", "n", "ignore_eos", "json_schema", "regex", "seed", "sampling_seed",
}

var status = regexp.MustCompile(`^HTTP/1\.[01] (\d{3})`)

// hostileHTTP attacks a server, or a router in front of a server.
func hostileHTTP(a *attack, router bool) error {
	dir, done, err := a.temp()
	if err != nil {
		return err
	}
	defer done()
	s, err := serving(dir, "serve", "--model-path", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "4096")
	if err != nil {
		return err
	}
	target := s
	if router {
		if target, err = serving(dir, "route", "--worker-urls", s.url, "--port", "0"); err != nil {
			s.stop(a)
			return err
		}
		defer target.stop(a)
	}
	defer s.stop(a)
	// A router has just begun to look for its workers.
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if err = target.answers(); err == nil {
			break
		}
		if time.Now().After(end) {
			return err
		}
	}
	alive := func(what string) {
		if err := target.answers(); err != nil {
			a.fail("after %s it %v", what, err)
		}
	}
	mistakes(a, target)
	alive("wrong parameters")
	target.wrongRequests(a)
	alive("wrong requests")
	foreign(a, target)
	alive("requests of other sites")
	paths(a, target, dir)
	alive("hostile paths")
	slow(a, target)
	alive("slow clients")
	floods(a, target, s)
	alive("large bodies")
	return nil
}

// mistakes sends invalid parameter values. The status of each reply must be 200 or a client error.
func mistakes(a *attack, s *server) {
	rng := draw(3)
	for range some(300) {
		p, v := parameters[rng.IntN(len(parameters))], values[rng.IntN(len(values))]
		body := fmt.Sprintf(`{"text":"a","sampling_params":{"max_new_tokens":2,%q:%s}}`, p, v)
		route := "/generate"
		if rng.IntN(2) == 0 {
			route, body = "/v1/chat/completions", fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":2,%q:%s}`, p, v)
		}
		a.try()
		ctx, cancel := context.WithTimeout(context.Background(), wide(20*time.Second))
		code, text, err := post(ctx, s.url+route, body)
		cancel()
		if err != nil || code >= 500 || code < 200 {
			a.fail("%s %s: %d %.200s %v", route, body, code, text, err)
		}
	}
}

// wrongRequests sends text that is not HTTP, and HTTP requests that are wrong for the route.
func (s *server) wrongRequests(a *attack) {
	get := func(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" }
	all := map[string]string{
		"no HTTP":           "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n",
		"many headers":      get("/health") + strings.Repeat("X-A: b\r\n", 200_000) + "\r\n",
		"a long header":     get("/health") + "X-A: " + strings.Repeat("b", 8<<20) + "\r\n\r\n",
		"a long path":       get("/"+strings.Repeat("a", 4<<20)) + "\r\n",
		"two lengths":       "POST /generate HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
		"a negative length": "POST /generate HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n{}",
		"a huge length":     "POST /generate HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999\r\n\r\n{}",
		"a bad chunk":       "POST /generate HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
		"a huge chunk":      "POST /generate HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}\r\n0\r\n\r\n",
		"both":              "POST /generate HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"pipelined":         strings.Repeat(get("/health")+"\r\n", 200),
	}
	for name, text := range all {
		a.try()
		head, err := s.raw(text, true)
		if m := status.FindStringSubmatch(head); m != nil && m[1] >= "500" && m[1] != "501" && m[1] != "505" {
			a.fail("%s: %.100q, %v", name, head, err)
		}
	}
	for _, route := range routes {
		for name, body := range map[string]string{
			"nothing": "", "half": `{"text":`, "list": "[]", "null": "null", "deep": strings.Repeat("[", 1<<20), "deeper": strings.Repeat(`{"text":`, 1<<18), "number": "1e999", "noise": string(noise(4096)), "utf8": "{\"text\":\"\xff\xfe\"}",
		} {
			a.try()
			head, err := s.raw(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", route, len(body), body), true)
			// A profile and a flush need no body.
			if m := status.FindStringSubmatch(head); m == nil || m[1] >= "500" {
				a.fail("%s with %s: %.100q, %v", route, name, head, err)
			}
		}
	}
	post(context.Background(), s.url+"/stop_profile", "")
}

// foreign sends HEAD requests and requests that a browser would send for a page of another site. No such request may
// start any work.
func foreign(a *attack, s *server) {
	for _, route := range []string{"/start_profile", "/stop_profile", "/flush_cache", "/generate"} {
		for _, how := range []string{
			"GET %s HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n\r\n",
			"HEAD %s HTTP/1.1\r\nHost: localhost\r\n\r\n",
			"POST %s HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-site\r\nContent-Length: 0\r\n\r\n",
			"POST %s HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nSec-Fetch-Site: cross-site\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\na=b",
		} {
			a.try()
			head, err := s.raw(fmt.Sprintf(how, route), true)
			if m := status.FindStringSubmatch(head); m == nil || m[1] < "400" || m[1] >= "500" {
				a.fail("%s: %.100q, %v", fmt.Sprintf(strings.SplitN(how, "\r\n", 2)[0], route), head, err)
			}
		}
	}
}

// paths sends requests with paths outside the directory for profiles.
func paths(a *attack, s *server, dir string) {
	for _, body := range []string{
		`{"profile_id":"../../x"}`, `{"profile_id":"a/b"}`, `{"profile_prefix":"../x"}`, `{"profile_id":"\u0000"}`, `{"output_dir":"/proc/self/mem"}`, `{"num_steps":-1}`, `{"num_steps":1e18}`, `{"activities":["NONSENSE"]}`, `{"profile_id":"` + strings.Repeat("a", 5000) + `"}`,
	} {
		a.try()
		ctx, cancel := context.WithTimeout(context.Background(), wide(20*time.Second))
		code, text, err := post(ctx, s.url+"/start_profile", body)
		if err != nil || code >= 500 {
			a.fail("/start_profile %.100s: %d %.200s %v", body, code, text, err)
		}
		if code == 200 {
			post(ctx, s.url+"/stop_profile", "")
		}
		cancel()
	}
	for _, p := range []string{"/profile_files/../../../../etc/passwd", "/profile_files/x/..%2f..%2f..%2fetc%2fpasswd", "/profile_files/%2e%2e/%2e%2e", "/..%5c..%5c"} {
		a.try()
		head, err := s.raw("GET "+p+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", false)
		if strings.Contains(head, "root:") || !status.MatchString(head) || strings.HasPrefix(head, "HTTP/1.1 200") {
			a.fail("GET %s: %.100q, %v", p, head, err)
		}
	}
}

// slow opens connections to the server on which the client sends slowly or reads nothing.
func slow(a *attack, s *server) {
	u, _ := url.Parse(s.url)
	var open []net.Conn
	for i := range some(400) {
		a.try()
		c, err := net.DialTimeout("tcp", u.Host, 5*time.Second)
		if err != nil {
			a.fail("connection %d: %v", i, err)
			break
		}
		open = append(open, c)
		switch i % 3 {
		case 0:
			io.WriteString(c, "POST /generate HTTP/1.1\r\nHost: a\r\nX-")
		case 1:
			io.WriteString(c, "POST /generate HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n{\"text\":")
		case 2:
			body := `{"text":"a","stream":true,"sampling_params":{"max_new_tokens":200,"ignore_eos":true}}`
			fmt.Fprintf(c, "POST /generate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}
	}
	if err := s.answers(); err != nil {
		a.fail("beside %d slow clients it %v", len(open), err)
	}
	for _, c := range open {
		c.Close()
	}
	// A client that has closed its sending side after the request but still reads must get a reply.
	a.try()
	body := `{"text":"a","sampling_params":{"max_new_tokens":2}}`
	if head, err := s.raw(fmt.Sprintf("POST /generate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body), true); !strings.HasPrefix(head, "HTTP/1.1 200") {
		a.fail("a client that half-closes gets %.100q, %v", head, err)
	}
}

// Limits on the server's memory for all large bodies together. One limit applies to the peak, and the other applies
// after the bodies have been handled.
const (
	mostPeak = 2 << 30
	mostStay = 700 << 20
)

// flooding is held during floods: the limits on their time and memory are for one server.
var flooding sync.Mutex

// floods sends many large bodies at the same time.
func floods(a *attack, target, behind *server) {
	flooding.Lock()
	defer flooding.Unlock()
	n := 30
	if *short {
		n = 6
	}
	text := strings.Repeat("lorem ipsum ", 30<<20/12)
	for _, route := range []string{"/tokenize", "/generate", "/v1/chat/completions"} {
		body := fmt.Sprintf(`{"text":%q,"prompt":%q,"sampling_params":{"max_new_tokens":1}}`, text[:15<<20], text[:15<<20])
		if route == "/v1/chat/completions" {
			body = fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}],"max_tokens":1}`, text)
		}
		var wg sync.WaitGroup
		stop := make(chan struct{})
		var peak int64
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
					peak = max(peak, target.rss(), behind.rss())
				}
			}
		}()
		for range n {
			a.try()
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), wide(60*time.Second))
				defer cancel()
				// If the server refuses a request, the connection may be closed before the client has read the reply.
				if code, reply, err := post(ctx, target.url+route, body); ctx.Err() != nil {
					a.fail("%s with 30 MB: no answer in a minute: %d %.100s %v", route, code, reply, err)
				} else if code >= 500 && code != 503 {
					a.fail("%s with 30 MB: %d %.200s", route, code, reply)
				}
			})
		}
		wg.Wait()
		close(stop)
		if peak > mostPeak && !*race {
			a.fail("%d bodies of 30 MB for %s take %d MB", n, route, peak>>20)
		}
	}
	until := time.Now().Add(wide(15 * time.Second))
	for (target.rss() > mostStay || behind.rss() > mostStay) && time.Now().Before(until) {
		time.Sleep(200 * time.Millisecond)
	}
	if r := max(target.rss(), behind.rss()); r > mostStay && !*race {
		a.fail("%d MB stay after large bodies", r>>20)
	}
}

// peers sends random bytes to all ports of a prefill server and to all ports of one node of a server with two nodes.
func peers(a *attack) error {
	dir, done, err := a.temp()
	if err != nil {
		return err
	}
	defer done()
	boot := freePort()
	s, err := serving(dir, "serve", "--model-path", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "4096",
		"--disaggregation-mode", "prefill", "--disaggregation-bootstrap-port", strconv.Itoa(boot))
	if err != nil {
		return err
	}
	defer s.stop(a)
	ports := portsOf(s.cmd.Process.Pid)
	if len(ports) == 0 {
		return fmt.Errorf("a prefill server without ports")
	}
	rng := draw(4)
	for range some(200) {
		a.try()
		c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", ports[rng.IntN(len(ports))]), 5*time.Second)
		if err != nil {
			a.fail("a port does not take connections any more: %v", err)
			break
		}
		c.SetDeadline(time.Now().Add(2 * time.Second))
		switch rng.IntN(4) {
		case 0:
			c.Write(noise(1 + rng.IntN(1<<16)))
		case 1:
			c.Write(bytes.Repeat([]byte{0xff}, 64))
		case 2:
			fmt.Fprintf(c, "PUT /route HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\n\r\n{\"role\":\"\\u001b[2J\",\"rank\":-9999999999999}")
		}
		c.Close()
	}
	a.try()
	if resp, err := http.Get(s.url + "/health"); err != nil || resp.StatusCode >= 500 && resp.StatusCode != 503 {
		a.fail("it does not answer any more: %v", err)
	}
	return nil
}

func freePort() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// portsOf returns the TCP ports that a process listens on.
func portsOf(pid int) (ports []int) {
	inodes := map[string]bool{}
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:[") {
			inodes[strings.Trim(to, "socket:[]")] = true
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		text, _ := os.ReadFile("/proc/net/" + table)
		for _, line := range strings.Split(string(text), "\n") {
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != "0A" || !inodes[f[9]] {
				continue
			}
			if port, err := strconv.ParseInt(f[1][strings.LastIndex(f[1], ":")+1:], 16, 32); err == nil {
				ports = append(ports, int(port))
			}
		}
	}
	return ports
}
