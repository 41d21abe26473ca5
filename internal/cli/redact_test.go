package cli

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/packedtest"

	"github.com/stepscope/stepscope/internal/explain/result"
)

// secretTrace has a secret wherever a trace can have a text. RANK and HOST are
// put in. The words of secretWords are in no other place.
const secretTrace = `{"schemaVersion":1,"host_name":"HOST.acme-corp.internal","trace_id":"1F2E3D4CRANK","traceName":"/home/zoltan/acme/trace.json",
"environment":{"HF_TOKEN":"hf_plantedPLANTED0001"},"command_line":"python -m sglang --api-key sk-plantedPLANTED0002 --model /models/acme-70b","zoltan's notes":1,
"deviceProperties":[{"id":0,"name":"NVIDIA H200","uuid":"GPU-plantedid"}],"baseTimeNanoseconds":1790857026000000000,
"distributedInfo":{"backend":"nccl","rank":RANK,"world_size":2,"master_addr":"HOST.acme-corp.internal","pg_config":[{"pg_name":"0","pg_desc":"the acme merger","ranks":[0,1]}]},
"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"step[DECODE bs=2]","pid":48151,"tid":48151,"ts":1000.000,"dur":90.000,"args":{"External id":1,"rids":"cmpl-plantedreq,chat-plantedRANK","prompt":"tell zoltan about the merger"}},
{"ph":"X","cat":"user_annotation","name":"Dear zoltan, the password is hunter2planted","pid":48151,"tid":48151,"ts":1001.000,"dur":5.000,"args":{"External id":2,"Concrete Inputs":["/models/acme-70b","-1"]}},
{"ph":"X","cat":"gpu_user_annotation","name":"Dear zoltan, the password is hunter2planted","pid":0,"tid":7,"ts":1022.000,"dur":2.000,"args":{"External id":2}},
{"ph":"X","cat":"python_function","name":"/home/zoltan/acme/secret_sauce.py(12): forward","pid":48151,"tid":48151,"ts":1002.000,"dur":50.000,"args":{"Python id":1,"Call stack":"/home/zoltan/acme/x.py(1): f"}},
{"ph":"X","cat":"python_function","name":"/home/zoltan/venv/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py(900): event_loop","pid":48151,"tid":48151,"ts":1001.500,"dur":60.000,"args":{"Python id":2}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":48151,"tid":48151,"ts":1003.000,"dur":20.000,"args":{"External id":3,"Input Dims":[[4,8],[8,16]],"Input type":["float","zoltan's own"]}},
{"ph":"X","cat":"cpu_op","name":"zoltan_ops::route ghp_plantedPLANTED0003","pid":48151,"tid":48151,"ts":1004.000,"dur":2.000,"args":{"External id":4,"kernel_file":"/tmp/torchinductor_zoltan/ab.py"}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":48151,"tid":48151,"ts":1010.000,"dur":1.000,"args":{"External id":3,"correlation":9}},
{"ph":"s","id":9,"pid":48151,"tid":48151,"ts":1010.000,"cat":"ac2g","name":"ac2g"},
{"ph":"X","cat":"kernel","name":"gemm<(lambda at /home/zoltan/acme/k.cu:3:1)> WANDB_API_KEY=plantedkey","pid":0,"tid":7,"ts":1022.000,"dur":2.000,"args":{"device":0,"stream":7,"correlation":9,"External id":3,"tag":"HOST"}},
{"ph":"f","id":9,"pid":0,"tid":7,"ts":1022.000,"cat":"ac2g","name":"ac2g","bp":"e"},
{"ph":"X","cat":"acme category","name":"http://HOST:8000/v1?key=plantedquery","pid":48151,"tid":48152,"ts":1030.000,"dur":2.000,"cname":"zoltan"},
{"ph":"i","s":"t","name":"mail zoltan@acme-corp.internal","pid":48151,"tid":48151,"ts":1031.000},
{"ph":"C","name":"acme load","pid":48151,"ts":1032.000,"args":{"of zoltan":3}},
{"ph":"M","name":"process_name","pid":48151,"tid":0,"args":{"name":"/home/zoltan/venv/bin/python -m sglang --api-key sk-plantedPLANTED0002"}},
{"ph":"M","name":"process_labels","pid":48151,"tid":0,"args":{"labels":"HOST zoltan"}},
{"ph":"M","name":"thread_name","pid":48151,"tid":48152,"args":{"name":"zoltan's thread"}},
{"ph":"M","name":"thread_name","pid":48151,"tid":48151,"args":{"name":"thread 48151 (acme-server)"}}
],"notes":"HOST said hello to zoltan"}`

// secretWords is all that a stranger must not see.
var secretWords = regexp.MustCompile(`(?i)planted|hunter2|zoltan|acme|merger|brindle|quokka|4815\d|1F2E3D4C|/home|/models|/tmp|\b(?:hf_|sk-|ghp_)|(?:SECRET|TOKEN|KEY)=[^s]`)

func TestRedact(t *testing.T) {
	hosts := []string{"brindle", "quokka"}
	files := map[string]string{}
	for i, host := range hosts {
		text := strings.NewReplacer("RANK", string(rune('0'+i)), "HOST", host).Replace(secretTrace)
		if !json.Valid([]byte(text)) || !secretWords.MatchString(text) {
			t.Fatal("the test's own trace is wrong")
		}
		files["acme-1763750000.5-TP-"+string(rune('0'+i))+".trace.json"] = text
	}
	for _, c := range []struct{ args, out string }{
		{"--redact -o SET/out", "out/*"},
		{"--redact --keep-names -o SET/out", "out/*"},
		{"--redact --steps 0 -o SET/out", "out/*"},
		{"--redact --from 0s --to 1s -o SET/out", "out/*"},
		{"--redact --merge", "merged-redacted-1763750000.5.trace.json.gz"},
		{"--redact", "redacted-1763750000.5/*"},
	} {
		t.Run(c.args, func(t *testing.T) {
			set := folder(t, files)
			t.Setenv("TMPDIR", t.TempDir())
			var stdout, stderr strings.Builder
			args := strings.Fields("trace cut SET " + c.args)
			for i := range args {
				args[i] = strings.Replace(args[i], "SET", set, 1)
			}
			if status := Main(args, nil, &stdout, &stderr); status != 0 || stderr.Len() > 0 {
				t.Fatalf("status %d: %s", status, stderr.String())
			}
			outs, err := filepath.Glob(filepath.Join(set, c.out))
			if err != nil || len(outs) == 0 {
				t.Fatal(outs, err)
			}
			all := ""
			for _, path := range outs {
				text := string(packedtest.Read(t, path))
				all += text
				if found := secretWords.FindAllString(filepath.Base(path)+text, -1); found != nil && !strings.Contains(c.args, "keep-names") {
					t.Errorf("%s: %q is still there, in\n%s", path, found, text)
				}
			}
			for _, want := range []string{"host-0", "host-1", `"rids":"r0,r1"`, `"rids":"r0,r2"`, "sglang/srt/managers/scheduler.py(900): event_loop", "path-0.py(12): forward", "aten::mm", "step[DECODE bs=2]"} {
				if !strings.Contains(all, want) && !(want == "host-1" && strings.Contains(c.args, "merge")) {
					t.Errorf("no %s in\n%s", want, all)
				}
			}
			for _, want := range []string{"request ids", "file paths", `"environment" (2)`, "Look at the file"} {
				if !strings.Contains(stdout.String(), want) {
					t.Errorf("it does not say %q: %s", want, stdout.String())
				}
			}
		})
	}
}

// The analysis says the same of a redacted capture, but for the names.
func TestRedactedAnalysis(t *testing.T) {
	for _, name := range []string{"stacks", "graph_work", "g_mixed"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("..", "..", "testdata", "traces", name)
			out := filepath.Join(t.TempDir(), "out")
			var stdout, stderr strings.Builder
			if status := Main([]string{"trace", "cut", dir, "--redact", "-o", out}, nil, &stdout, &stderr); status != 0 {
				t.Fatalf("status %d: %s", status, stderr.String())
			}
			want, got := findings(t, dir), findings(t, out)
			if len(want) == 0 || got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// findings are the findings and the tables of a capture.
func findings(t *testing.T, dir string) string {
	t.Helper()
	var stdout, stderr strings.Builder
	if status := Main([]string{"analyze", dir, "--json"}, nil, &stdout, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, stderr.String())
	}
	var r result.Report
	if err := json.Unmarshal([]byte(stdout.String()), &r); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal([]any{r.Findings, r.Times, r.Steps, r.Collectives, r.Classes, r.Kernels, r.Memory, r.Gaps})
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "make_traces.py", "path-0.py") // the one file of the captures that is no public package's
}
