//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/testing/fakekube"
)

// podServer starts a stepscope server as a pod. Its profiles are in a directory that, if the host allows it, no other
// process sees.
func podServer(t *testing.T, c *fakekube.Cluster, p *fakekube.Pod) *fakekube.Pod {
	t.Helper()
	dir := t.TempDir()
	line := []string{"stepscope", "serve", "--model-path", "builtin:llama-tiny", "--port", "0", "--tp", "2", "--max-total-tokens", "4096"}
	profiles := dir
	prefix, isolated := fakekube.Isolated(dir)
	if isolated {
		line, profiles = append(prefix, line...), fakekube.Mount
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), "SGLANG_TORCH_PROFILER_DIR="+profiles)
	log := &syncBuffer{}
	cmd.Dir, cmd.Stderr = dir, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	t.Cleanup(func() { cmd.Process.Kill(); <-done })
	at := regexp.MustCompile(`Listening on http://(\S+)`)
	for range 1200 {
		if m := at.FindStringSubmatch(log.String()); m != nil {
			if p.Addr, p.Dir, p.Log = m[1], dir, log.String; isolated {
				p.PID = cmd.Process.Pid
			}
			return c.Add(p)
		}
		select {
		case <-done:
			t.Fatalf("the server ended:\n%s", log)
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatalf("the server does not listen:\n%s", log)
	return nil
}

// TestProfilePods profiles servers in pods: all files come by commands in the pods.
func TestProfilePods(t *testing.T) {
	c := fakekube.New(t)
	t.Setenv("KUBECONFIG", c.Kubeconfig(t, t.TempDir()))
	for _, name := range []string{"web-0", "web-1"} {
		podServer(t, c, &fakekube.Pod{Name: name, Namespace: "serving", Labels: map[string]string{"app": "sglang"}, Ports: map[string]int{"http": 30000}})
	}
	c.Add(&fakekube.Pod{Name: "web-2", Namespace: "serving", Labels: map[string]string{"app": "sglang"}, Phase: "Pending"})
	local := filepath.Join(t.TempDir(), "local")
	status, out, errs := stepscope(t, "profile", "--pods", "serving/app=sglang", "-o", local, "--probe", "--num-steps", "4", "--json")
	if status != exitOK {
		t.Fatalf("status %d:\n%s%s", status, out, errs)
	}
	t.Log(errs)
	for _, want := range []string{"left out: pod serving/web-2 is Pending", "http://web-0.serving:30000: pod serving/web-0, container server, port 30000"} {
		if !strings.Contains(errs, want) {
			t.Errorf("stderr lacks %q:\n%s", want, errs)
		}
	}
	var doc struct {
		Servers []struct {
			Name, URL, Merged string
			Traces            []string
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	_, _ = bytes.MinRead, fmt.Sprint
	_, _ = slices.Max[[]int], syscall.SIGHUP
	for _, s := range doc.Servers {
		if len(s.Traces) != 2 || filepath.Dir(s.Traces[0]) != filepath.Join(local, s.Name) || s.Merged == "" {
			t.Errorf("%+v", s)
		}
	}
	t.Log(strings.Join(c.Commands(), "\n"))
}
