//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// largeTrace writes a rank of many events, each kernel of a name of its own, that every verb works on for seconds.
func largeTrace(t *testing.T, path string, events int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprint(w, `{"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":2},"traceEvents":[`+"\n")
	for i := range events {
		at := 10 * i
		if i%1000 == 0 {
			fmt.Fprintf(w, `{"ph":"X","cat":"user_annotation","name":"step[DECODE bs=%d]","pid":9,"tid":9,"ts":%d,"dur":9000},`+"\n", i%7, at)
		}
		fmt.Fprintf(w, `{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":%d,"dur":2,"args":{"correlation":%d}},`+"\n", at, i+1)
		fmt.Fprintf(w, `{"ph":"X","cat":"kernel","name":"void cutlass::Kernel2<cutlass_80_tensorop_%d, half>(Params)","pid":0,"tid":7,"ts":%d,"dur":5,"args":{"device":0,"stream":7,"correlation":%d}},`+"\n", i, at+4, i+1)
	}
	fmt.Fprint(w, `{"ph":"M","name":"process_name","pid":9,"args":{"name":"end"}}]}`+"\n")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// endWithin is how long a verb may take to end after a signal.
var endWithin = time.Second

// TestInterruptVerbs: the first signal ends every verb that reads or computes within a second, wherever it is, and
// nothing of what it began is left.
func TestInterruptVerbs(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: works on 300 MB")
	}
	in := t.TempDir()
	first := filepath.Join(in, "w-TP-0.trace.json")
	largeTrace(t, first, 400_000)
	for i := 1; i < 4; i++ {
		if err := os.Link(first, filepath.Join(in, fmt.Sprintf("w-TP-0-DP-%d.trace.json", i))); err != nil {
			t.Fatal(err)
		}
	}
	other := t.TempDir()
	if err := os.Link(first, filepath.Join(other, "w-TP-0.trace.json")); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	for _, v := range []struct {
		name string
		args []string
	}{
		{"check", []string{"trace", "check", in}},
		{"merge", []string{"trace", "merge", in, "-o", filepath.Join(out, "a.json.gz"), "--level", "9"}},
		{"merge as JSON", []string{"trace", "merge", in, "-o", filepath.Join(out, "a.json")}},
		{"merge for Perfetto", []string{"trace", "merge", in, "-o", filepath.Join(out, "a.pftrace")}},
		{"merge for Perfetto to stdout", []string{"trace", "merge", in, "--format", "pftrace", "-o", "-"}},
		{"cut", []string{"trace", "cut", in, "--steps", "1-300", "--merge", "-o", filepath.Join(out, "cut.json.gz")}},
		{"redact", []string{"trace", "cut", in, "--redact", "--merge", "-o", filepath.Join(out, "a.json.gz")}},
		{"export to Parquet", []string{"trace", "export", in, "-o", filepath.Join(out, "a.parquet")}},
		{"export to CSV", []string{"trace", "export", in, "-o", filepath.Join(out, "a.csv.gz")}},
		{"export to SQLite", []string{"trace", "export", in, "-o", filepath.Join(out, "a.db")}},
		{"open", []string{"trace", "open", in}},
		{"analyze", []string{"analyze", in, "--html", filepath.Join(out, "a.html")}},
		{"summarize", []string{"analyze", in, "--summary", filepath.Join(out, "a.ranks")}},
		{"analyze one", []string{"analyze", other}},
		{"compare", []string{"compare", in, other}},
	} {
		t.Run(v.name, func(t *testing.T) {
			cut := 0
			for i, after := range []time.Duration{100 * time.Millisecond, 300 * time.Millisecond, 900 * time.Millisecond} {
				var said bytes.Buffer
				tmp := t.TempDir()
				cmd := exec.Command("stepscope", v.args...)
				cmd.Stderr = &said
				cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				select {
				case <-ended: // it is faster than that
					for _, e := range entries(t, out) {
						os.RemoveAll(filepath.Join(out, e))
					}
					continue
				case <-time.After(after):
				}
				cut++
				sent := time.Now()
				cmd.Process.Signal([]os.Signal{os.Interrupt, syscall.SIGTERM}[i%2])
				<-ended
				took := time.Since(sent)
				// On a busy machine a signal may come before Main is there to hear it, however late: it has hardly run then.
				ran := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
				early := cmd.ProcessState.ExitCode() < 0 && said.Len() == 0 && ran < hardlyRun
				if status := cmd.ProcessState.ExitCode(); !early && (status != exitInterrupted || !strings.HasSuffix("\n"+said.String(), "\nstepscope: interrupted\n")) {
					t.Errorf("after %v: status %d, %q", after, status, &said)
				}
				if took > endWithin {
					t.Errorf("after %v: it took %v to end", after, took)
				}
				if left := append(entries(t, out), entries(t, tmp)...); len(left) > 0 {
					t.Errorf("after %v: %q is left", after, left)
					for _, e := range entries(t, out) {
						os.RemoveAll(filepath.Join(out, e))
					}
				}
				t.Logf("after %v: %v", after, took)
			}
			if cut < 2 {
				t.Errorf("only %d signals came before the end", cut)
			}
		})
	}
}

// hardlyRun is what a verb needs of a core, at most, until Main hears signals; reading traces takes longer.
const hardlyRun = 300 * time.Millisecond

// entries names what is in a directory.
func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}
