package torch

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestVLLMDirOf checks the trace directory given by a command line and an environment.
func TestVLLMDirOf(t *testing.T) {
	for _, c := range []struct {
		args string // separated by |
		env  string
		want string
	}{
		{`vllm|serve|m|--profiler-config|{"profiler": "torch", "torch_profiler_dir": "/traces/"}`, "", "/traces"},
		{`vllm|serve|m|--profiler-config={"profiler":"torch","torch_profiler_dir":"/traces"}`, "", "/traces"},
		{`vllm|serve|m|--profiler_config.torch_profiler_dir|/traces`, "", "/traces"},
		{`vllm|serve|m|--profiler-config.torch_profiler_dir=rel`, "", "/srv/rel"},
		{`vllm|serve|m`, "VLLM_TORCH_PROFILER_DIR=/old", "/old"},
		{`vllm|serve|m|--profiler-config={"torch_profiler_dir":"~/t"}`, "HOME=/home/me", "/home/me/t"},
		{`vllm|serve|m|--profiler-config|{"profiler": "cuda"}`, "", ""},
		{`vllm|serve|m|--profiler-config|{"torch_profiler_dir": "gs://bucket/t"}`, "", ""},
		{`vllm|serve|m|--profiler-config`, "", ""},
		{`vllm|serve|m|--profiler-config|{broken`, "", ""},
	} {
		if got := vllmDirOf(strings.Split(c.args, "|"), []string{c.env}, "/srv"); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.args, c.env, got, c.want)
		}
	}
}

// TestVLLMDirOfProcess checks that the directory of a server on this host comes from the process that listens on its
// port.
func TestVLLMDirOfProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("wants /proc")
	}
	const helper = "STEPSCOPE_TEST_LISTEN"
	if os.Getenv(helper) != "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("port", l.Addr().(*net.TCPAddr).Port)
		_, _ = bufio.NewReader(os.Stdin).ReadByte() // until the other process ends
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestVLLMDirOfProcess$", "serve", "--profiler-config", `{"profiler":"torch","torch_profiler_dir":"/traces"}`)
	cmd.Env = append(os.Environ(), helper+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); _ = cmd.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, number, _ := strings.Cut(strings.TrimSpace(line), " ")
	port, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	if dir, pid := vllmDir("/proc", port); dir != "/traces" || pid != cmd.Process.Pid {
		t.Errorf("directory %q of process %d, want /traces of %d", dir, pid, cmd.Process.Pid)
	}
}

// TestVLLMNowhere checks that no window is started if nobody would find its traces.
func TestVLLMNowhere(t *testing.T) {
	t.Parallel()
	f := newVLLM(t, t.TempDir())
	_, err := Start(t.Context(), []Target{{URL: f.url}}, Window{NumSteps: 4}, quick(Options{}))
	if err == nil || !strings.Contains(err.Error(), "give --output-dir DIR") || f.called() != "" {
		t.Errorf("%v; called %q", err, f.called())
	}
}
