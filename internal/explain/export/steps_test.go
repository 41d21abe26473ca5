package export

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/trace"
)

// kinetoJSON is a small window of two steps. The host prepares the second while the GPU runs the first.
const kinetoJSON = `{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"GPU"}],"distributedInfo":{"rank":1,"world_size":2},
"baseTimeNanoseconds":5000000000,"traceEvents":[
{"ph":"M","name":"thread_name","pid":10,"tid":11,"args":{"name":"thread 11 (python)"}},
{"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Spans","tid":"PyTorch Profiler","ts":0,"dur":100},
{"ph":"X","cat":"user_annotation","name":"step[EXTEND bs=2 toks=64]","pid":10,"tid":11,"ts":10,"dur":10,"args":{"External id":1}},
{"ph":"X","cat":"user_annotation","name":"draft step[DECODE bs=9]","pid":10,"tid":11,"ts":12,"dur":2,"args":{"External id":2}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":10,"tid":11,"ts":13,"dur":1,"args":{"External id":3,"Input Dims":[[2,3],[3,4]],"Input type":["c10::BFloat16","c10::BFloat16"]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":10,"tid":11,"ts":14,"dur":1,"args":{"External id":3,"correlation":70}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernelExC","pid":10,"tid":12,"ts":15,"dur":1,"args":{"correlation":71}},
{"ph":"X","cat":"user_annotation","name":"step[DECODE bs=2]","pid":10,"tid":11,"ts":30,"dur":30,"args":{"External id":4}},
{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":10,"tid":11,"ts":31,"dur":1,"args":{"correlation":72}},
{"ph":"X","cat":"gpu_user_annotation","name":"step[EXTEND bs=2 toks=64]","pid":0,"tid":7,"ts":35,"dur":20,"args":{"External id":1}},
{"ph":"X","cat":"gpu_user_annotation","name":"step[DECODE bs=2]","pid":0,"tid":7,"ts":36,"dur":20},
{"ph":"X","cat":"kernel","name":"nvjet_tst_64x8_64x16","pid":0,"tid":7,"ts":35.5,"dur":4,"args":{"External id":3,"device":0,"stream":7,"correlation":70,"grid":[2,66,1],"block":[384,1,1]}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(int)","pid":0,"tid":20,"ts":36,"dur":5,"args":{"device":0,"stream":20,"correlation":71,"grid":[24,1,1],"block":[544,1,1],
 "Collective name":"allreduce","In msg nelems":128,"Out msg nelems":128,"Group size":2,"dtype":"BFloat16","Process Group Name":"0","Process Group Ranks":"[0, 1]"}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoH (Device -> Pageable)","pid":0,"tid":7,"ts":70,"dur":2,"args":{"device":0,"stream":7,"correlation":72,"bytes":128}},
{"ph":"X","cat":"kernel","name":"cross_device_reduce_1stage","pid":0,"tid":7,"ts":33,"dur":1,"args":{"device":0,"stream":7,"correlation":99}},
{"ph":"X","cat":"cpu_op","name":"aten::late","pid":10,"tid":11,"ts":90,"dur":1}
]}`

// TestRows checks every column of a known trace, in the order written.
func TestRows(t *testing.T) {
	set := writeSet(t, map[string]string{"w-TP-1-DECODE.trace.json": kinetoJSON})
	const at = "TP01,1,,,,DECODE," // the beginning of each row
	const host, gpu7 = "10,11,thread 11 (python),,,", "0,7,,0,7,"
	const step0, step1 = at + "0,prefill,EXTEND,2,64,", at + "1,decode,DECODE,2,2,"
	want := []string{
		// A span that begins before the first step and contains it belongs to no step.
		at + ",,,,,Trace,,,PyTorch Profiler (0),Spans,PyTorch Profiler,,,,5000000000,100000,5000100000,,,,,,,,,,,,,,,,,,,",
		step0 + "user_annotation,,,step[EXTEND bs=2 toks=64]," + host + "5000010000,10000,5000020000,,1,,,,,,,,,,,,,,,,,",
		step0 + "user_annotation,,,draft step[DECODE bs=9]," + host + "5000012000,2000,5000014000,,2,,,,,,,,,,,,,,,,,",
		step0 + "cpu_op,,,aten::mm," + host + `5000013000,1000,5000014000,,3,,,,,,,,,,,,,,,,"[[2,3],[3,4]]","[""c10::BFloat16"",""c10::BFloat16""]"`,
		step0 + "cuda_runtime,,,cudaLaunchKernel," + host + "5000014000,1000,5000015000,70,3,,,,,,,,,,,,,,,,,",
		step1 + "user_annotation,,,step[DECODE bs=2]," + host + "5000030000,30000,5000060000,,4,,,,,,,,,,,,,,,,,",
		step1 + "cuda_runtime,,,cudaMemcpyAsync," + host + "5000031000,1000,5000032000,72,,,,,,,,,,,,,,,,,,",
		at + ",,,,,cpu_op,,,aten::late," + host + "5000090000,1000,5000091000,,,,,,,,,,,,,,,,,,,",
		// A launch of another thread belongs to the step at its time.
		step0 + "cuda_runtime,,,cudaLaunchKernelExC,10,12,,,,5000015000,1000,5000016000,71,,,,,,,,,,,,,,,,,,",
		// Without a known launch, the GPU time determines the step.
		step1 + "kernel,comm,communication,cross_device_reduce_1stage," + gpu7 + "5000033000,1000,5000034000,99,,,,,,,,,AllReduce,,,,,,,,,",
		// The GPU annotation of the first step, while the host is in the second.
		step0 + "gpu_user_annotation,,,step[EXTEND bs=2 toks=64]," + gpu7 + "5000035000,20000,5000055000,,1,,,,,,,,,,,,,,,,,",
		step0 + "kernel,gemm,GEMM,nvjet_tst_64x8_64x16," + gpu7 + "5000035500,4000,5000039500,70,3,,2,66,1,384,1,1,,,,,,,,,,",
		// A GPU annotation without the id of its host annotation.
		at + ",,,,,gpu_user_annotation,,,step[DECODE bs=2]," + gpu7 + "5000036000,20000,5000056000,,,,,,,,,,,,,,,,,,,",
		step1 + "gpu_memcpy,copy,copy,Memcpy DtoH (Device -> Pageable)," + gpu7 + "5000070000,2000,5000072000,72,,128,,,,,,,,,,,,,,,,",
		step0 + "kernel,comm,communication,ncclDevKernel_AllReduce_Sum_bf16_RING_LL(int),0,20,,0,20,5000036000,5000,5000041000,71,,,24,1,1,544,1,1,AllReduce,BFloat16,128,128,0,\"[0, 1]\",2,,,",
	}
	var b strings.Builder
	res, err := To(t.Context(), set, &b, CSV, Options{})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\r\n"), "\r\n")
	if lines[0] != strings.Join(Columns, ",") {
		t.Errorf("got header %s, want the names of Columns", lines[0])
	}
	for i, line := range lines[1:] {
		if i >= len(want) || line != want[i] {
			t.Errorf("row %d: got unexpected %s", i, line)
		}
	}
	if len(lines)-1 != len(want) {
		t.Errorf("got %d rows, want %d", len(lines)-1, len(want))
	}
	if r := res.Ranks[0]; r.Steps != 2 || r.StepRule != trace.ByAnnotations || r.Device != "GPU" || !r.Complete {
		t.Errorf("got rank %+v, want 2 steps by annotations, complete, device GPU", r)
	}
}

// TestStepRules checks the rules that find steps without forward annotations.
func TestStepRules(t *testing.T) {
	event := func(cat, name, ts string) string {
		return `{"ph":"X","cat":"` + cat + `","name":"` + name + `","pid":1,"tid":1,"ts":` + ts + `,"dur":2}`
	}
	for _, c := range []struct {
		name   string
		events []string
		rule   string
		steps  []string // step of each event, in order
	}{
		{"none", []string{event("cpu_op", "a", "1")}, trace.Uncut, []string{""}},
		{"profiler steps", []string{event("user_annotation", "ProfilerStep#4", "1"), event("cpu_op", "a", "2"), event("user_annotation", "ProfilerStep#5", "4")}, trace.ByProfiler, []string{"0 other", "0 other", "1 other"}},
		{"a single graph launch gives no steps", []string{event("cuda_runtime", "cudaGraphLaunch", "1")}, trace.Uncut, []string{""}},
		{"graphs", []string{event("cuda_runtime", "cudaGraphLaunch", "1"), event("cpu_op", "between", "4"), event("cuda_runtime", "cudaGraphLaunch", "8"), event("cpu_op", "after", "20")}, trace.ByGraphs, []string{"0 decode", "0 decode", "1 decode", ""}},
		{"annotations take precedence", []string{event("user_annotation", "ProfilerStep#1", "1"), event("user_annotation", "step[IDLE]", "2"), event("cpu_op", "a", "9")}, trace.ByAnnotations, []string{"", "0 idle", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := writeSet(t, map[string]string{"w-TP-0.trace.json": `{"traceEvents":[` + strings.Join(c.events, ",") + `]}`})
			var b strings.Builder
			res, err := To(t.Context(), set, &b, CSV, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, rec := range records(t, strings.NewReader(b.String())) {
				got = append(got, strings.TrimSpace(rec["step"]+" "+rec["step_kind"]))
			}
			if !slices.Equal(got, c.steps) || res.Ranks[0].StepRule != c.rule {
				t.Errorf("got %q by %q, want %q by %q", got, res.Ranks[0].StepRule, c.steps, c.rule)
			}
		})
	}
}
