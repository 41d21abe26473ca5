package kube

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/testing/fakekube"
)

// of returns a client of a fake cluster.
func of(t *testing.T, c *fakekube.Cluster) *Client {
	t.Helper()
	k, err := New(&Config{Cluster: Cluster{Server: c.URL, CA: c.CA()}, User: User{Token: fakekube.Token}})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestExec runs commands by both protocols: all output arrives, and a failure has its status.
func TestExec(t *testing.T) {
	for _, protocol := range []string{"v5.channel.k8s.io", "v4.channel.k8s.io"} {
		c := fakekube.New(t)
		c.Protocols = []string{protocol}
		c.Add(&fakekube.Pod{Name: "web", Dir: t.TempDir()})
		k := of(t, c)
		for _, r := range []struct {
			command   []string
			out, errs int
			err       string
		}{
			{[]string{"head", "-c", "5000000", "/dev/zero"}, 5000000, 0, ""},
			{[]string{"sh", "-c", "printf abc; printf de >&2; exit 7"}, 3, 2, "exit status 7"},
			{[]string{"true"}, 0, 0, ""},
			{[]string{"stepscope-no-such-program"}, 0, 0, "error executing command in container"},
		} {
			var out, errs bytes.Buffer
			err := k.exec(t.Context(), "default", "web", "server", r.command, &out, &errs)
			if out.Len() != r.out || errs.Len() != r.errs || (err == nil) != (r.err == "") || err != nil && !strings.Contains(err.Error(), r.err) {
				t.Errorf("%s %q: %d and %d bytes, %v", protocol, r.command, out.Len(), errs.Len(), err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		err := k.exec(ctx, "default", "web", "", []string{"sh", "-c", "echo begun; sleep 60"}, cancels{cancel}, io.Discard)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a command that was ended: %v", protocol, err)
		}
	}
	c := fakekube.New(t)
	c.Protocols = []string{"channel.k8s.io"}
	c.Add(&fakekube.Pod{Name: "web"})
	if err := of(t, c).exec(t.Context(), "default", "web", "", []string{"true"}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "answers 400") {
		t.Errorf("without a common protocol: %v", err)
	}
}

// cancels is a writer that ends a context.
type cancels struct{ cancel context.CancelFunc }

func (c cancels) Write(p []byte) (int, error) { c.cancel(); return len(p), nil }

// TestForward sends HTTP through a pod's port: large bodies both ways, several requests on one connection, and a port on
// which nothing listens.
func TestForward(t *testing.T) {
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%s %d\n", r.Host, n)
		w.Write(bytes.Repeat([]byte("x"), 3<<20))
	}))
	defer hs.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	c := fakekube.New(t)
	labels := map[string]string{"app": "web"}
	c.Add(&fakekube.Pod{Name: "a", Labels: labels, Addr: hs.Listener.Addr().String(), IP: "10.1.2.3"})
	c.Add(&fakekube.Pod{Name: "b", Labels: labels, Addr: closed.Addr().String()})
	gone := c.Add(&fakekube.Pod{Name: "c", Labels: labels, Addr: hs.Listener.Addr().String()})
	pods, _, err := of(t, c).Select(t.Context(), []Selector{{Labels: "app=web", Port: 8000}}, "")
	if err != nil || len(pods.Servers) != 3 { // on two pages
		t.Fatalf("%+v, %v", pods, err)
	}
	web := client.Over(pods.Dial)
	for range 3 {
		for _, host := range []string{"a.default", "10.1.2.3"} { // a router names its workers by address
			res, err := web.Post("http://"+host+":8000", "text/plain", bytes.NewReader(make([]byte, 1<<20)))
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(res.Body)
			res.Body.Close()
			if head, body, _ := strings.Cut(string(text), "\n"); err != nil || head != "localhost:8000 1048576" || len(body) != 3<<20 {
				t.Errorf("%s: %q and %d bytes, %v", host, head, len(body), err)
			}
		}
	}
	if n := c.Forwards(); n != 2 {
		t.Errorf("%d connections, want one for each host", n)
	}
	c.Delete(gone)
	for host, want := range map[string]error{"b.default": syscall.ECONNREFUSED, "c.default": client.ErrEnded} {
		if _, err := web.Get("http://" + host + ":8000"); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", host, err, want)
		}
	}
	for host, want := range map[string]string{"10.9.9.9": "has the address 10.9.9.9", "example.org": "none of the selected pods"} {
		if _, err := web.Get("http://" + host); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", host, err, want)
		}
	}
}

// TestGroups selects the pods of LeaderWorkerSet groups: a command that lists runs in all pods of a group, and one that
// reads runs where the file is. A group with a pod that is not ready is left out.
func TestGroups(t *testing.T) {
	c := fakekube.New(t)
	dirs := []string{t.TempDir(), t.TempDir()}
	for i, dir := range dirs {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("file", i)), []byte(fmt.Sprint("text", i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for group := range 2 {
		for _, worker := range []int{1, 0} {
			c.Add(&fakekube.Pod{Name: fmt.Sprintf("big-%d-%d", group, 1-worker), Dir: dirs[worker], NotReady: group == 1 && worker == 1, Ports: map[string]int{"http": 30000}, Labels: map[string]string{
				lwsName: "big", lwsGroup: fmt.Sprint(group), lwsWorker: fmt.Sprint(worker), "role": "decode",
			}})
		}
	}
	s, err := ParseLWS("default/big")
	if err != nil {
		t.Fatal(err)
	}
	pods, left, err := of(t, c).Select(t.Context(), []Selector{s}, "")
	if err != nil || len(pods.Servers) != 1 || pods.Servers[0].URL != "http://big-0-1.default:30000" || pods.Servers[0].Role != "decode" {
		t.Fatalf("%+v, %v", pods.Servers, err)
	}
	if want := "default/big-1-0 is not Ready; default/big-1-1 belongs to the same group"; strings.Join(left, "; ") != want {
		t.Errorf("left out: %q, want %s", left, want)
	}
	for _, r := range []struct {
		all           bool
		command, want string
		fails         bool
	}{
		{true, "ls .", "file0\nfile1\n", false},
		{true, "ls file1", "file1\n", false},
		{false, "cat file1", "text1", false},
		{false, "cat file0", "text0", false},
		{false, "cat file2", "", true},
		{true, "ls file2", "", true},
	} {
		var out, errs bytes.Buffer
		err := pods.Exec(t.Context(), "big-0-1.default", r.all, strings.Fields(r.command), &out, &errs)
		if out.String() != r.want || (err != nil) != r.fails {
			t.Errorf("%s: %q, %v", r.command, &out, err)
		}
	}
}

// TestBegin: commands fail in a pod that was restarted or replaced since a window began, and run after the next beginning.
func TestBegin(t *testing.T) {
	for name, change := range map[string]func(*fakekube.Cluster, *fakekube.Pod){
		"restarted": func(c *fakekube.Cluster, p *fakekube.Pod) { c.Restart(p) },
		"replaced": func(c *fakekube.Cluster, p *fakekube.Pod) {
			c.Delete(p)
			c.Add(&fakekube.Pod{Name: p.Name, Dir: p.Dir})
		},
	} {
		c := fakekube.New(t)
		p := c.Add(&fakekube.Pod{Name: "web", Dir: t.TempDir(), Labels: map[string]string{"app": "web"}})
		pods, _, err := of(t, c).Select(t.Context(), []Selector{{Labels: "app=web", Port: 1}}, "")
		if err != nil {
			t.Fatal(err)
		}
		run := func() error {
			return pods.Exec(t.Context(), "web.default", false, []string{"cat", "/dev/null"}, io.Discard, io.Discard)
		}
		before := run()
		change(c, p)
		lost := run()
		began := pods.Begin(t.Context())
		if after := run(); before != nil || !errors.Is(lost, client.ErrEnded) || began != nil || after != nil {
			t.Errorf("%s: before %v, after the change %v, Begin %v, then %v", name, before, lost, began, after)
		}
	}
}

// TestPorts chooses the port and the container of a server.
func TestPorts(t *testing.T) {
	for _, r := range []struct {
		ports map[string]int
		given int
		want  string
	}{
		{map[string]int{"http": 8080, "metrics": 30000}, 0, "http://web.default:8080"},
		{map[string]int{"a": 8000, "b": 30000}, 0, "http://web.default:30000"},
		{map[string]int{"a": 8000, "b": 9000}, 0, "http://web.default:8000"},
		{map[string]int{"http": 8080}, 9, "http://web.default:9"},
		{nil, 9, "http://web.default:9"},
		{map[string]int{"grpc": 9000}, 0, "!none of its ports (grpc=9000)"},
		{nil, 0, "!none of its ports (it declares none)"},
	} {
		c := fakekube.New(t)
		c.Add(&fakekube.Pod{Name: "web", Ports: r.ports, Labels: map[string]string{"app": "web"}})
		pods, _, err := of(t, c).Select(t.Context(), []Selector{{Labels: "app=web", Port: r.given}}, "")
		if want, fails := strings.CutPrefix(r.want, "!"); fails != (err != nil) || fails && !strings.Contains(err.Error(), want) || !fails && pods.Servers[0].URL != want {
			t.Errorf("%v, %d: %v, want %s", r.ports, r.given, err, r.want)
		}
	}
}

func TestParseSelector(t *testing.T) {
	for text, want := range map[string]Selector{
		"app=sglang":                              {"", "app=sglang", 0},
		"serving/app=sglang:30000":                {"serving", "app=sglang", 30000},
		"app.kubernetes.io/name=x,role in (a, b)": {"", "app.kubernetes.io/name=x,role in (a, b)", 0},
		"serving/app.kubernetes.io/name=x":        {"serving", "app.kubernetes.io/name=x", 0},
	} {
		if got, err := ParseSelector(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "serving/", ":30000", "app=x:0", "app=x:65536"} {
		if got, err := ParseSelector(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// TestPlugin runs an exec plugin: its token is kept until it expires or is refused, and its errors are one line.
func TestPlugin(t *testing.T) {
	c := fakekube.New(t)
	c.Add(&fakekube.Pod{Name: "web"})
	dir := t.TempDir()
	script := func(text string) *Client {
		file := filepath.Join(dir, "plugin")
		if err := os.WriteFile(file, []byte("#!/bin/sh\necho run >> "+dir+"/runs\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(dir, "runs"))
		k, err := New(&Config{Cluster: Cluster{Server: c.URL, CA: c.CA()}, User: User{Exec: &Plugin{
			APIVersion: execGroup + "v1", Command: file, Env: []string{"GIVEN=" + fakekube.Token}, ClusterInfo: true, Hint: "install it",
		}}})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	credential := func(token, expires string) string {
		return `echo "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"` + token + `\"` + expires + `}}"` + "\n"
	}
	for _, r := range []struct {
		what, script, err string
		runs              int
	}{
		{"a token", credential("$GIVEN", ""), "", 1},
		{"a token that expires", credential("$GIVEN", `,\"expirationTimestamp\":\"2020-01-01T00:00:00Z\"`), "", 2},
		{"the first token is refused", "[ -e " + dir + "/again ] || GIVEN=old\ntouch " + dir + "/again\n" + credential("$GIVEN", ""), "", 2},
		{"the cluster", `case "$KUBERNETES_EXEC_INFO" in *'"server":"` + c.URL + `"'*) ;; *) exit 1;; esac` + "\n" + credential("$GIVEN", ""), "", 1},
		{"a token that is refused", credential("wrong", ""), "check the user of the kubeconfig's context", 3},
		{"a failure", "echo log in first >&2; exit 3", "plugin: exit status 3: log in first", 2},
		{"no JSON", "echo hello", "is no ExecCredential", 2},
		{"no token", credential("", ""), "neither a token nor a certificate", 2},
	} {
		k := script(r.script)
		for range 2 {
			var p pod
			err := k.get(t.Context(), podPath("default", "web"), nil, &p)
			if (err == nil) != (r.err == "") || err != nil && (!strings.Contains(err.Error(), r.err) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%s: %v", r.what, err)
			}
		}
		runs, _ := os.ReadFile(filepath.Join(dir, "runs"))
		if n := bytes.Count(runs, []byte("\n")); n != r.runs {
			t.Errorf("%s: the plugin ran %d times, want %d", r.what, n, r.runs)
		}
	}
	k, err := New(&Config{Cluster: Cluster{Server: c.URL, CA: c.CA()}, User: User{Exec: &Plugin{Command: "stepscope-no-such-plugin", Hint: "install it"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.get(t.Context(), "/version", nil, &struct{}{}); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "install it") {
		t.Errorf("a plugin that is missing: %v", err)
	}
}

// TestAuth: a token file is read again, and the certificate of the API server is verified.
func TestAuth(t *testing.T) {
	c := fakekube.New(t)
	file := filepath.Join(t.TempDir(), "token")
	for _, r := range []struct {
		what, token string
		cluster     Cluster
		err         string
	}{
		{"the wrong token", "wrong", Cluster{CA: c.CA()}, "answers 401"},
		{"a renewed token", fakekube.Token + "\n", Cluster{CA: c.CA()}, ""},
		{"the authorities of the system", fakekube.Token, Cluster{}, "certificate signed by unknown authority"},
		{"another name", fakekube.Token, Cluster{CA: c.CA(), TLSServerName: "api.prod"}, "certificate is valid for example.com"},
		{"the name of the certificate", fakekube.Token, Cluster{CA: c.CA(), TLSServerName: "example.com"}, ""},
		{"without verification", fakekube.Token, Cluster{Insecure: true}, ""},
	} {
		if err := os.WriteFile(file, []byte(r.token), 0o600); err != nil {
			t.Fatal(err)
		}
		r.cluster.Server = c.URL
		k, err := New(&Config{Cluster: r.cluster, User: User{TokenFile: file}})
		if err == nil {
			err = k.get(t.Context(), "/version", nil, &struct{}{})
		}
		if (err == nil) != (r.err == "") || err != nil && !strings.Contains(err.Error(), r.err) {
			t.Errorf("%s: %v, want %q", r.what, err, r.err)
		}
	}
}

// TestRedirect: credentials follow no redirect of an API server.
func TestRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer other.Close()
	api := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer api.Close()
	k, err := New(&Config{Cluster: Cluster{Server: api.URL}, User: User{Token: "secret"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.get(t.Context(), "/version", nil, &struct{}{}); err == nil || !strings.Contains(err.Error(), "answers 302") {
		t.Error(err)
	}
}

// frames is a connection that supplies frames and drops what is written.
type frames struct{ io.Reader }

func (frames) Write(p []byte) (int, error) { return len(p), nil }
func (frames) Close() error                { return nil }

// TestFrames checks messages in parts, pings between the parts, and broken frames.
func TestFrames(t *testing.T) {
	for _, c := range []struct{ bytes, want string }{
		{"\x82\x02hi\x88\x00", "hi|EOF"},
		{"\x02\x01h\x89\x01p\x80\x01i\x88\x02\x03\xe8", "hi|EOF"},
		{"\x82\x7e\x00\x01x\x82\x7f\x00\x00\x00\x00\x00\x00\x00\x01y", "x|y|unexpected EOF"},
		{"\x88\x05\x03\xf3abc", "websocket: closed with code 1011 abc"},
		{"\x82\x82", "websocket: the server's frame is masked or has an extension"},
		{"\xc2\x00", "websocket: the server's frame is masked or has an extension"},
		{"\x80\x00", "websocket: parts of messages are mixed"},
		{"\x02\x00\x82\x00", "websocket: parts of messages are mixed"},
		{"\x83\x00", "websocket: not a valid frame"},
		{"\x89\x7e\x01\x00", "websocket: not a valid frame"},
		{"\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff", "websocket: a message exceeds 16777216 bytes"},
		{"\x82\x05hi", "unexpected EOF"},
	} {
		s := newSocket(frames{strings.NewReader(c.bytes)})
		var got []string
		for {
			m, err := s.next(nil)
			if err != nil {
				got = append(got, err.Error())
				break
			}
			got = append(got, string(m))
		}
		if text := strings.Join(got, "|"); text != c.want {
			t.Errorf("%q: %s, want %s", c.bytes, text, c.want)
		}
	}
}

// FuzzFrames: no bytes of a server cause a crash or a message beyond the limit, neither for a command nor for a port.
func FuzzFrames(f *testing.F) {
	for _, text := range []string{"\x82\x03\x01hi\x82\x13\x03{\"status\":\"Success\"}", "\x02\x01h\x89\x01p\x80\x01i\x88\x02\x03\xe8", "\x82\x7e\x00\x03\x00\x40\x1f\x82\x7f\x00\x00\x00\x00\x00\x00\x00\x02\x01x"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := newSocket(frames{bytes.NewReader(text)})
		for {
			m, err := s.next(nil)
			if err != nil {
				break
			}
			if len(m) > len(text) {
				t.Fatalf("%d bytes became a message of %d", len(text), len(m))
			}
			_ = exitOf(m)
		}
		c := &forwarded{socket: newSocket(frames{bytes.NewReader(text)}), port: 8000}
		if _, err := io.Copy(io.Discard, bufio.NewReader(c)); err == nil && len(text) == 0 {
			t.Error("a stream without a close ended well")
		}
	})
}
