package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/packedtest"
)

// twoHosts makes two network namespaces with a cable between them, and gives for
// each the beginning of a command line that runs there, under a host name of its
// own. The test is skipped where that cannot be done.
func twoHosts(t *testing.T) (first, second []string, addr string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}
	ip := func(args ...string) error {
		out, err := exec.CommandContext(t.Context(), "ip", args...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
		}
		return err
	}
	a, b := fmt.Sprintf("stepscope-a%d", os.Getpid()), fmt.Sprintf("stepscope-b%d", os.Getpid())
	t.Cleanup(func() {
		for _, ns := range []string{a, b} {
			_ = exec.Command("ip", "netns", "del", ns).Run()
		}
	})
	for _, line := range []string{
		"netns add " + a, "netns add " + b, "link add cable netns " + a + " type veth peer name cable netns " + b,
		"-n " + a + " addr add 10.77.0.1/24 dev cable", "-n " + b + " addr add 10.77.0.2/24 dev cable",
		"-n " + a + " link set cable up", "-n " + b + " link set cable up", "-n " + a + " link set lo up", "-n " + b + " link set lo up",
	} {
		if err := ip(strings.Fields(line)...); err != nil {
			t.Skipf("no network namespaces here: %v", err)
		}
	}
	host := func(ns, name string) []string {
		return []string{"ip", "netns", "exec", ns, "unshare", "--uts", "sh", "-c", "hostname " + name + ` && exec "$@"`, "sh"}
	}
	if out, err := exec.CommandContext(t.Context(), "ip", append(host(a, "host-a")[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("no host names of its own here: %v: %s", err, out)
	}
	return host(a, "host-a"), host(b, "host-b"), "10.77.0.1:29500"
}

// TestTwoHosts serves with a rank on each of two hosts, of which the second has a
// clock that is wrong by a known time, and a slow device. A capture through the first
// brings both traces; the merge finds the time within what it says of itself, and the
// slow rank is named.
func TestTwoHosts(t *testing.T) {
	first, second, addr := twoHosts(t)
	const wrong = 250_000_000 // ns
	serve := []string{"serve", "--model-path", "builtin:llama-tiny", "--port", "30000", "--max-total-tokens", "4096", "--tp-size", "2", "--nnodes", "2",
		"--dist-init-addr", addr, "--dist-shm", "off", "--device-fault", "rank=1,extra_kernels=1,extra_time=2ms"}
	one := startNode(t, first, append(serve, "--node-rank", "0")...)
	two := startNode(t, second, append(serve, "--node-rank", "1", "--clock-offset", "250ms")...)
	url := one.listens(t)

	home, onServer := t.TempDir(), t.TempDir()
	bench := exec.CommandContext(t.Context(), first[0], append(first[1:], "stepscope", "bench", "serving", "--url", url, "--dataset-name", "random", "--random-input", "16",
		"--random-output", "32", "--num-prompts", "4", "--disable-tqdm", "--output-file", filepath.Join(home, "out.jsonl"), "--run-dir", home,
		"--profile", "--profile-num-steps", "30", "--profile-output-dir", onServer)...)
	bench.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
	out, err := bench.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\nnode 0:\n%s\nnode 1:\n%s", err, out, one.log, two.log)
	}
	if !strings.Contains(string(out), "TP01 is late from step 0 on") {
		t.Errorf("TP01 is not named:\n%s", out)
	}

	// All files are on the first host, those of the second under its name.
	files, _ := filepath.Glob(filepath.Join(onServer, "*", "*-TP-?.trace.json.gz"))
	var hosts []string
	for _, f := range files {
		hosts = append(hosts, readTrace[struct {
			Host string `json:"host_name"`
		}](t, f).Host)
	}
	slices.Sort(hosts)
	if !slices.Equal(hosts, []string{"host-a", "host-b"}) {
		t.Errorf("traces %v of hosts %v", files, hosts)
	}
	merged := filepath.Join(home, "merged.trace.json.gz")
	if status, _, errs := run(t, t.Context(), append([]string{"trace", "merge", "-o", merged}, files...)...); status != exitOK {
		t.Fatalf("merge: %d %s", status, errs)
	}
	m := readTrace[struct {
		Self struct {
			Notes []string
			Ranks []struct {
				Host        string  `json:"host_name"`
				Shift       int64   `json:"shift_ns"`
				Uncertainty int64   `json:"shift_uncertainty_ns"`
				Interval    []int64 `json:"shift_interval_ns"`
			}
		} `json:"stepscope"`
	}](t, merged)
	if len(m.Self.Ranks) != 2 {
		t.Fatalf("merged of %+v", m)
	}
	r := m.Self.Ranks[1]
	if miss := max(r.Shift+wrong, -r.Shift-wrong); r.Host != "host-b" || miss > r.Uncertainty {
		t.Errorf("%s is moved by %d ± %d ns, %d is right: %q", r.Host, r.Shift, r.Uncertainty, -wrong, m.Self.Notes)
	}
	if len(r.Interval) != 2 || r.Interval[0] > -wrong || r.Interval[1] < -wrong {
		t.Errorf("no collective should forbid %d, but they allow %v", -wrong, r.Interval)
	}
	t.Logf("%+v", r)
}

// readTrace reads the members of a compressed trace that T has.
func readTrace[T any](t *testing.T, path string) (v T) {
	t.Helper()
	if err := json.Unmarshal(packedtest.Read(t, path), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
