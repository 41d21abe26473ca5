package gpus

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestLine parses lines as nvidia-smi prints them.
func TestLine(t *testing.T) {
	for _, c := range []struct {
		text string
		want State
		ok   bool
	}{
		{"0, 1980, 2619, 412.53, 700.00, 54, 97, 0x0000000000000004, GPU-a, 00000000:1B:00.0", State{UUID: "GPU-a", PCI: "00000000:1B:00.0", SM: 1980, Memory: 2619, Power: 412.53, Limit: 700, Celsius: 54, Busy: 0.97, Reasons: []string{"power cap"}}, true},
		{"3, 345, 2619, 70.10, 700.00, 31, 0, 0x0000000000000001, GPU-b, 00000000:43:00.0", State{UUID: "GPU-b", PCI: "00000000:43:00.0", GPU: 3, SM: 345, Memory: 2619, Power: 70.1, Limit: 700, Celsius: 31, Reasons: []string{}}, true},
		{"1, 1200, 6250, [N/A], [N/A], 81, [N/A], 0x0000000000000060, GPU-c, 00000000:52:00.0", State{UUID: "GPU-c", PCI: "00000000:52:00.0", GPU: 1, SM: 1200, Memory: 6250, Power: -1, Limit: -1, Celsius: 81, Busy: -1, Reasons: []string{"software thermal slowdown", "hardware thermal slowdown"}}, true},
		{"Field \"clocks_event_reasons.active\" is not a valid field to query.", State{}, false},
		{"", State{}, false},
		{"x, 1, 2, 3, 4, 5, 6, 0x1, GPU-a, 00000000:1B:00.0", State{}, false},
		{"0, 1980, 2619, 70.10, 700.00, 31, 9, [N/A], GPU-a, 00000000:1B:00.0", State{UUID: "GPU-a", PCI: "00000000:1B:00.0", SM: 1980, Memory: 2619, Power: 70.1, Limit: 700, Celsius: 31, Busy: 0.09}, true},
	} {
		if got, ok := line(c.text, 0); ok != c.ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q:\n got %+v, %v\nwant %+v", c.text, got, ok, c.want)
		}
	}
}

// states returns n samples of a GPU, one a second, with work and then without.
func states(gpu, n int, busy, idle State) (out []State) {
	for i := range n {
		s := busy
		if i >= n/2 {
			s = idle
		}
		s.GPU, s.At = gpu, int64(i)*1e9
		out = append(out, s)
	}
	return out
}

// TestUsage sums up samples: clocks and reasons while the GPU has work, energy always.
func TestUsage(t *testing.T) {
	idle := State{SM: 345, Power: 100, Limit: 700, Celsius: 40, Busy: 0, Reasons: []string{}}
	fast := State{SM: 1980, Power: 500, Limit: 700, Celsius: 60, Busy: 1, Reasons: []string{}}
	slow := State{SM: 1200, Power: 300, Limit: 300, Celsius: 60, Busy: 1, Reasons: []string{"power cap"}}
	for _, c := range []struct {
		name   string
		states []State
		tokens int
		want   []string
	}{
		{"equal GPUs", append(states(0, 10, fast, idle), states(1, 10, fast, idle)...), 1000, []string{
			"GPU 0: 1,980 MHz at work, 300 of 700 W, up to 60 °C",
			"GPU 1: 1,980 MHz at work, 300 of 700 W, up to 60 °C",
			"energy: 5,400 J in all, 5.4 J per output token",
		}},
		{"a GPU with a power cap", append(states(0, 10, fast, idle), states(1, 10, slow, idle)...), 0, []string{
			"GPU 0: 1,980 MHz at work, 300 of 700 W, up to 60 °C",
			"GPU 1: 1,200 MHz at work, 200 of 700 W, up to 60 °C, power cap in 100 % of the samples",
			"slower than the others (1,980 MHz): GPU 1 (1,200 MHz), power cap in 100 %",
		}},
		{"an idle GPU", states(2, 4, idle, idle), 0, []string{"GPU 2: never at work, 100 of 700 W, up to 40 °C"}},
		{"nothing known", []State{{SM: -1, Power: -1, Limit: -1, Celsius: -1, Busy: -1}}, 10, []string{"GPU 0: never at work"}},
		{"none", nil, 10, nil},
	} {
		if got := Lines(Summarize(c.states, 0, 1e18), c.tokens); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
	if got := Summarize(states(0, 10, fast, idle), 2e9, 4e9); len(got) != 1 || got[0].Samples != 3 {
		t.Errorf("a part of the time: %+v", got)
	}
}

// smi puts a program named nvidia-smi in the path.
func smi(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, Local), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// TestLocal samples with a program that answers as nvidia-smi does.
func TestLocal(t *testing.T) {
	const sample = `echo "0, 1980, 2619, 412.53, 700.00, 54, 97, 0x0000000000000000, GPU-a, 00000000:1B:00.0"; exec sleep 60`
	host, _ := os.Hostname()
	for _, c := range []struct{ name, script, servers, warning, err string }{
		{"a server here", sample, "http://127.0.0.1:30000", "", ""},
		{"servers here and elsewhere", sample, "http://203.0.113.7:30000 http://" + host + ":30000", "", ""},
		{"a server elsewhere", sample, "http://203.0.113.7:30000", "http://203.0.113.7:30000 is not an address of this machine: the samples of nvidia-smi are those of this machine's GPUs", ""},
		{"a name without an address", sample, "http://none.invalid:30000", "", ""},
		{"an older driver", `case "$1" in *event*) echo 'Field "clocks_event_reasons.active" is not a valid field to query.'; exit 2;; esac; ` + sample, "", "", ""},
		{"no driver", `echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."; exit 9`, "http://203.0.113.7:30000", "", "nvidia-smi: no sample of a GPU: nvidia-smi: NVIDIA-SMI has failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			smi(t, c.script)
			warning := ""
			s, err := Start(t.Context(), Local, func(line string) { warning += line }, strings.Fields(c.servers)...)
			if (warning != "") != (c.warning != "") || !strings.HasPrefix(warning, c.warning) {
				t.Errorf("warning %q, want %q", warning, c.warning)
			}
			if err != nil {
				if c.err == "" || !strings.HasPrefix(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			states, err := s.End()
			if err != nil || len(states) != 1 || states[0].SM != 1980 || states[0].Host != host || states[0].Unsure != (c.warning != "") || c.err != "" {
				t.Errorf("%+v, %v", states, err)
			}
		})
	}
}

const exporter = `# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).
# TYPE DCGM_FI_DEV_SM_CLOCK gauge
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-a",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",Hostname="node1"} 1980
DCGM_FI_DEV_SM_CLOCK{gpu="1",UUID="GPU-b",device="nvidia1",modelName="NVIDIA H100 80GB HBM3",Hostname="node1"} 1200
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",Hostname="node1"} 412.5
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-b",device="nvidia1",modelName="NVIDIA H100 80GB HBM3",Hostname="node1"} 98
DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu="1",UUID="GPU-b",device="nvidia1",modelName="NVIDIA H100 80GB HBM3",Hostname="node1"} 4
`

// TestExporter reads the metrics of a DCGM exporter, and names what is none.
func TestExporter(t *testing.T) {
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			fmt.Fprint(w, exporter)
		}
	}))
	defer hs.Close()
	s, err := Start(t.Context(), hs.URL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	states, err := s.End()
	if err != nil || len(states) < 2 || states[0].Host != "node1" || states[0].Power != 412.5 || states[1].SM != 1200 || states[1].Busy != 0.98 || states[1].Power != -1 || fmt.Sprint(states[1].Reasons) != "[power cap]" || states[0].Reasons != nil || states[1].UUID != "GPU-b" {
		t.Errorf("%+v, %v", states, err)
	}
	for source, want := range map[string]string{
		hs.URL + "/other": "these are no metrics of a DCGM exporter",
		"dcgm":            "dcgm: give nvidia-smi, or the URL of a DCGM exporter's metrics",
	} {
		if _, err := Start(t.Context(), source, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", source, err, want)
		}
	}
}

// TestThinning keeps every GPU when samples are dropped.
func TestThinning(t *testing.T) {
	s := &Sampler{}
	for i := range mostStates/2 + 10 {
		s.add(State{At: int64(i), GPU: 0}, State{At: int64(i), GPU: 1})
	}
	n := map[int]int{}
	for _, x := range s.states {
		n[x.GPU]++
	}
	if len(s.states) > mostStates || n[0] < mostStates/5 || n[0] != n[1] {
		t.Errorf("%d samples: %v", len(s.states), n)
	}
}
