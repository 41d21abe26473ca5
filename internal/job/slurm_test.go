package job_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/job"
	"github.com/stepscope/stepscope/internal/testing/slurmtest"
)

// TestLocal runs the same files on this machine, where each worker has its own port.
func TestLocal(t *testing.T) {
	torch := read(t, "testdata/torch.yaml")
	for _, kind := range []string{"torch", "nsys"} {
		t.Run(kind, func(t *testing.T) {
			p := &place{t: t, logs: t.TempDir()}
			if kind == "nsys" {
				p.path = nsys(t)
			}
			e := p.apply(strings.Replace(torch, `type: "torch"`, `type: "`+kind+`"`, 1), nil)
			if e.status != 0 || e.steps(t, "prefill") != 20 || e.steps(t, "decode") != 20 {
				t.Fatalf("status %d\n%s", e.status, e.out)
			}
		})
	}
	t.Run("processes of a worker end with it", func(t *testing.T) {
		p := &place{t: t, logs: t.TempDir()}
		marker := filepath.Join(p.logs, "child")
		p.path = standIn(t, "setsid sh -c 'echo $$ >"+marker+"; sleep 1000' >/dev/null 2>&1 & sleep 1; exit 3")
		e := p.apply(strings.Replace(read(t, "testdata/sglang.yaml"), "/usr/share", p.logs, 1), nil)
		if e.status != 10 {
			t.Errorf("status %d\n%s", e.status, e.out)
		}
		pid := strings.TrimSpace(read(t, marker))
		for try := 0; ; try++ {
			if _, err := os.Stat("/proc/" + pid); err != nil {
				break
			}
			if try == 50 {
				t.Fatalf("the child %s is still there", pid)
			}
			time.Sleep(100 * time.Millisecond) // a killed process exists until its parent waits for it
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		p := &place{t: t, logs: t.TempDir()}
		e := p.apply(torch, func(id string) {
			s, err := job.Find(p.logs, id)
			if err != nil {
				t.Error(err)
				return
			}
			if q, err := os.FindProcess(s.PID); err != nil || q.Signal(os.Interrupt) != nil {
				t.Error("no process", s.PID)
			}
		})
		if e.status != 13 || e.state.Stage != job.Cancelled {
			t.Errorf("status %d, %+v\n%s", e.status, e.state, e.out)
		}
	})
}

const torchTree = `JOB.json
analysis_decode.html
analysis_decode.json
analysis_decode.txt
analysis_prefill.html
analysis_prefill.json
analysis_prefill.txt
bench_decode.jsonl
bench_prefill.jsonl
config.yaml
log.out
merged_decode.trace.json.gz
merged_prefill.trace.json.gz
node1_prefill_w0.out
node2_decode_w0.out
profile_decode.out
profile_prefill.out
profiles/decode/*-TP-0.trace.json.gz
profiles/decode/*-TP-1.trace.json.gz
profiles/prefill/*-TP-0.trace.json.gz
profiles/prefill/*-TP-1.trace.json.gz
sbatch_script.sh
sglang_config.yaml
state.json`

// TestSlurm runs jobs on three nodes that share only the directory of the programs: steps of the job fetch the results.
func TestSlurm(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	c := slurmtest.Start(t, slurmtest.Options{Tmpfs: []string{logs}, TmpfsSize: map[int]string{2: "100m"}, Containers: true})
	torch := read(t, "testdata/torch.yaml")
	// long has a window that does not end in time.
	long := strings.NewReplacer("start_step: 10", "start_step: 20000", "stop_step: 30", "stop_step: 20020", "start_step: 0", "start_step: 5000", "stop_step: 20", "stop_step: 5020").Replace(torch)

	sglang := read(t, "testdata/sglang.yaml")

	on := func(t *testing.T) *place { return &place{t: t, c: c, logs: logs} }
	t.Run("no shared directory", func(t *testing.T) {
		if said, err := c.Node(1).Command("touch", filepath.Join(logs, "mine")).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, said)
		}
		if _, err := os.Stat(filepath.Join(logs, "mine")); err == nil {
			t.Error("a file of node1 is visible here")
		}
		if err := c.Node(2).Command("test", "-e", filepath.Join(logs, "mine")).Run(); err == nil {
			t.Error("a file of node1 is visible on node2")
		}
	})
	t.Run("torch", func(t *testing.T) {
		e := on(t).apply(torch, nil)
		if e.status != 0 || e.state.Stage != job.Completed || len(e.state.Lacks) > 0 {
			t.Fatalf("status %d, %+v\n%s", e.status, e.state, e.out)
		}
		if got := e.tree(t); got != torchTree {
			t.Errorf("got this tree:\n%s", got)
		}
		if p, d := e.steps(t, "prefill"), e.steps(t, "decode"); p != 20 || d != 20 {
			t.Errorf("%d steps of prefill, %d of decode; want 20 each", p, d)
		}
		if len(e.state.Runs) != 2 {
			t.Errorf("runs kept: %q", e.state.Runs)
		}
		if left, _ := c.Node(2).Command("find", logs, "-type", "f").Output(); len(left) > 0 {
			t.Errorf("node2 still has files that were fetched: %s", left)
		}
	})
	t.Run("one worker over two nodes", func(t *testing.T) {
		e := on(t).apply(read(t, "testdata/two-nodes.yaml"), nil)
		if e.status != 0 || e.steps(t, "aggregated") != 20 {
			t.Fatalf("status %d, %d steps\n%s", e.status, e.steps(t, "aggregated"), e.out)
		}
		if ranks, _ := filepath.Glob(filepath.Join(e.dir, "profiles/aggregated/*-TP-[01].trace.json.gz")); len(ranks) != 2 {
			t.Errorf("ranks: %q", ranks)
		}
	})
	t.Run("SGLang's command lines in containers", func(t *testing.T) {
		p := on(t)
		p.path = standIn(t, `case "$1 $2" in "-m sglang.launch_server") ;; *) exit 9 ;; esac
[ "$SLURMTEST_IMAGE" = registry/sglang:0.5.11 ] && [ -d /model ] && [ -d /logs/profiles ] || exit 8
shift 2
for a; do
	shift
	case $was in --dist-init-addr | --nnodes | --node-rank) was=; continue ;; esac
	was=$a
	case $a in --dist-init-addr | --nnodes | --node-rank) continue ;; 0.0.0.0) a=127.0.0.1 ;; --disaggregation-mode) exit 7 ;; esac
	set -- "$@" "$a"
done
echo "$WHO: $SGLANG_TORCH_PROFILER_DIR"
exec PROGRAM serve "$@"`)
		e := p.apply(sglang, nil)
		if e.status != 0 || e.steps(t, "prefill") != 10 || e.steps(t, "decode") != 10 {
			t.Fatalf("status %d\n%s", e.status, e.out)
		}
		if log := read(t, filepath.Join(e.dir, "node1_prefill_w0.out")); !strings.Contains(log, "prefill worker: /logs/profiles/prefill\n") {
			t.Error(log)
		}
	})
	t.Run("prefill and decode workers of today's format", func(t *testing.T) {
		e := on(t).apply(read(t, "testdata/today-pd.yaml"), nil)
		paired(t, e)
		if got := e.tree(t); got != pdTree {
			t.Errorf("got this tree:\n%s", got)
		}
	})
	t.Run("nsys", func(t *testing.T) {
		p := on(t)
		p.path = nsys(t)
		e := p.apply(strings.Replace(torch, `type: "torch"`, `type: "nsys"`, 1), nil)
		if e.status != 0 || e.steps(t, "prefill") != 20 || e.steps(t, "decode") != 20 {
			t.Fatalf("status %d\n%s", e.status, e.out)
		}
		for _, name := range []string{"prefill_0", "decode_0"} {
			if _, err := os.Stat(filepath.Join(e.dir, "profiles", name+".nsys-rep")); err != nil {
				t.Error(err)
			}
		}
	})
	for _, f := range []struct {
		name   string
		file   string
		during func(id string)
		flags  []string
		status int
		says   string // part of the failure
		limit  time.Duration
	}{
		{"a bad flag", sglang, nil, nil, 10, "failed: exit status 2", 20 * time.Second},
		{"never ready", sglang, nil, []string{"--ready-timeout=3s"}, 10, "is not ready after 3s", 30 * time.Second},
		{"a worker is killed", long, func(id string) {
			c.Node(2).Command("pkill", "-KILL", "-f", "stepscope serve").Run()
		}, nil, 10, "decode_w0 on node2 failed", 40 * time.Second},
		{"scancel", long, func(id string) { c.Command("scancel", id).Run() }, nil, 13, "", 60 * time.Second},
		// The window ends seconds after the disk is full.
		{"a full disk", strings.NewReplacer("start_step: 10", "start_step: 3000", "stop_step: 30", "stop_step: 3030").Replace(torch), func(id string) {
			c.Node(2).Command("dd", "if=/dev/zero", "of="+logs+"/fill", "bs=1M").Run()
		}, nil, 12, "no space left on device", 90 * time.Second},
		{"a node is set down", long, func(string) { c.Node(2).Down() }, nil, 12, "the node node2 is down", 40 * time.Second},
	} {
		t.Run(f.name, func(t *testing.T) {
			began := time.Now()
			p := on(t)
			switch f.name {
			case "a bad flag":
				p.path = standIn(t, "echo unrecognized arguments: --no-such-flag; exit 2")
			case "never ready":
				p.path = standIn(t, "echo loading weights; exec sleep 1000")
			}
			e := p.apply(f.file, f.during, f.flags...)
			if took := time.Since(began); took > f.limit {
				t.Errorf("it took %v, over %v", took, f.limit)
			}
			if e.status != f.status || e.state.Failure == nil || !strings.Contains(e.state.Failure.What, f.says) {
				load, _ := os.ReadFile(filepath.Join(e.dir, "profile_decode.out"))
				t.Fatalf("status %d, want %d and %q\n%s\n%s", e.status, f.status, f.says, e.out, load)
			}
			if _, err := os.Stat(filepath.Join(e.dir, "config.yaml")); err != nil {
				t.Error("the results are not kept:", err)
			}
		})
		if f.name == "a full disk" {
			c.Node(2).Command("rm", "-f", logs+"/fill").Run()
		}
	}
}
