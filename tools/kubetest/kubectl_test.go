// Package kubetest holds stepscope's client and the API server of its tests against programs of Kubernetes: kubectl, and
// the streaming server of kubelets (k8s.io/cri-streaming). It is a module of its own, so that stepscope does not depend
// on theirs.
package kubetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/kube"
	"github.com/stepscope/stepscope/internal/testing/fakekube"
)

// kubelet answers streams as the kubelets of Kubernetes do.
type kubelet struct {
	c *fakekube.Cluster
	p *fakekube.Pod
}

func (k kubelet) ExecInContainer(_ context.Context, _, _, _ string, words []string, in io.Reader, out, errs io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	cmd := k.c.Command(k.p, words)
	if out != nil {
		cmd.Stdout = out
	}
	if errs != nil {
		cmd.Stderr = errs
	}
	if in != nil {
		stdin, err := cmd.StdinPipe() // the command may end before its input
		if err != nil {
			return err
		}
		go func() {
			io.Copy(stdin, in)
			stdin.Close()
		}()
	}
	err := cmd.Run()
	if exit, ok := err.(*exec.ExitError); ok {
		return utilexec.CodeExitError{Err: err, Code: exit.ExitCode()}
	}
	return err
}

func (k kubelet) PortForward(_ context.Context, _, _ string, _ int32, stream io.ReadWriteCloser) error {
	conn, err := net.Dial("tcp", k.p.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	go io.Copy(conn, stream)
	_, err = io.Copy(stream, conn)
	return err
}

// withKubelet starts a cluster whose streams a kubelet answers, except those of the websocket protocols given.
func withKubelet(t *testing.T, protocols ...string) *fakekube.Cluster {
	c := fakekube.New(t)
	c.Protocols = protocols
	c.Kubelet = func(w http.ResponseWriter, r *http.Request, p *fakekube.Pod) {
		const idle, create = time.Minute, 10 * time.Second
		q := r.URL.Query()
		if strings.HasSuffix(r.URL.Path, "/exec") {
			is := func(name string) bool { return q.Get(name) == "true" }
			remotecommand.ServeExec(w, r, kubelet{c, p}, p.Name, "", p.Container, q["command"],
				&remotecommand.Options{Stdin: is("stdin"), Stdout: is("stdout"), Stderr: is("stderr"), TTY: is("tty")}, idle, create,
				[]string{"v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"})
			return
		}
		var ports []int32
		for _, text := range q["ports"] {
			n, _ := strconv.ParseInt(text, 10, 32)
			ports = append(ports, int32(n))
		}
		o, err := portforward.BuildV4Options(ports)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		portforward.ServePortForward(w, r, kubelet{c, p}, p.Name, "", o, idle, create, []string{"portforward.k8s.io"})
	}
	return c
}

// web is a server that echoes the size of what it receives, and sends 3 MB.
func web(t *testing.T) *httptest.Server {
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%d\n", n)
		w.Write(bytes.Repeat([]byte("x"), 3<<20))
	}))
	t.Cleanup(hs.Close)
	return hs
}

// TestKubelet runs stepscope's client against the streams of kubelets.
func TestKubelet(t *testing.T) {
	c := withKubelet(t)
	c.Add(&fakekube.Pod{Name: "web", Labels: map[string]string{"app": "web"}, Ports: map[string]int{"http": 8000}, Addr: web(t).Listener.Addr().String()})
	t.Setenv("KUBECONFIG", c.Kubeconfig(t, t.TempDir()))
	config, err := kube.Load("")
	if err != nil {
		t.Fatal(err)
	}
	k, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	pods, _, err := k.Select(t.Context(), []kube.Selector{{Labels: "app=web"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		command   []string
		out, errs int
		err       string
	}{
		{[]string{"head", "-c", "20000000", "/dev/zero"}, 20000000, 0, "<nil>"},
		{[]string{"sh", "-c", "printf abc; printf de >&2; exit 7"}, 3, 2, "exit status 7"},
	} {
		var out, errs bytes.Buffer
		err := pods.Exec(t.Context(), "web.default", false, r.command, &out, &errs)
		if out.Len() != r.out || errs.Len() != r.errs || fmt.Sprint(err) != r.err {
			t.Errorf("%q: %d and %d bytes, %v", r.command, out.Len(), errs.Len(), err)
		}
	}
	for range 3 {
		res, err := client.Over(pods.Dial).Post(pods.Servers[0].URL, "text/plain", bytes.NewReader(make([]byte, 1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if head, body, _ := strings.Cut(string(text), "\n"); err != nil || head != "1048576" || len(body) != 3<<20 {
			t.Errorf("%q and %d bytes, %v", head, len(body), err)
		}
	}
}

// TestKubectl runs kubectl against the API server of stepscope's tests: get, logs, exec, cp and port-forward. The
// websockets are those that stepscope's client uses, if kubectl knows them.
func TestKubectl(t *testing.T) {
	kubectl := os.Getenv("STEPSCOPE_KUBECTL")
	if kubectl == "" {
		var err error
		if kubectl, err = exec.LookPath("kubectl"); err != nil {
			t.Skip("kubectl is not installed (Debian: kubernetes-client)")
		}
	}
	c := withKubelet(t, "v5.channel.k8s.io", "v4.channel.k8s.io")
	dir, here := t.TempDir(), t.TempDir()
	c.Add(&fakekube.Pod{Name: "web", Dir: dir, Labels: map[string]string{"app": "web"}, Addr: web(t).Listener.Addr().String(), Log: func() string { return "Listening\nready\n" },
		Ports: map[string]int{"http": 8000}})
	c.Add(&fakekube.Pod{Name: "other", Labels: map[string]string{"app": "other"}})
	config := c.Kubeconfig(t, t.TempDir())
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), kubectl, append([]string{"--kubeconfig", config, "--cache-dir", here}, args...)...)
		cmd.Dir = here
		return cmd
	}
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	if err := os.WriteFile(filepath.Join(dir, "file"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		args, stdin string
		want        string // regular expression
		status      int
	}{
		{"get pods -l app=web -o name", "", `^pod/web\n$`, 0},
		{"get pod web -o jsonpath={.status.phase}", "", `^Running$`, 0},
		{"get pod none", "", `pods "none" not found`, 1},
		{"logs web", "", `^Listening\nready\n$`, 0},
		{"exec web -- cat file", "", "^" + string(data[:32]), 0},
		{"exec -i web -- sh -c cat;echo,to,stderr>&2;exit,7", "hello", `(?s)hello.*exit code 7`, 7},
		{"cp web:" + dir + "/file copied", "", "", 0},
		{"cp copied web:" + dir + "/back", "", "", 0},
	} {
		args := strings.Fields(r.args)
		args[len(args)-1] = strings.ReplaceAll(args[len(args)-1], ",", " ")
		cmd := command(args...)
		cmd.Stdin = strings.NewReader(r.stdin)
		out, _ := cmd.CombinedOutput()
		if status := cmd.ProcessState.ExitCode(); status != r.status || !regexp.MustCompile(r.want).Match(out) {
			t.Errorf("kubectl %s: status %d, want %d and %s\n%.2000s", r.args, status, r.status, r.want, out)
		}
	}
	for _, file := range []string{filepath.Join(here, "copied"), filepath.Join(dir, "back")} {
		if text, err := os.ReadFile(file); err != nil || sha256.Sum256(text) != sha256.Sum256(data) {
			t.Errorf("%s: %d bytes, %v", file, len(text), err)
		}
	}
	cmd := command("port-forward", "pod/web", ":8000")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	line := make([]byte, 200)
	n, _ := out.Read(line)
	at := regexp.MustCompile(`127\.0\.0\.1:\d+`).Find(line[:n])
	res, err := http.Post("http://"+string(at), "text/plain", bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%q: %v", line[:n], err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || !strings.HasPrefix(string(text), strconv.Itoa(len(data))+"\n") || len(text) < 3<<20 {
		t.Errorf("port-forward: %d bytes, %v", len(text), err)
	}
}
