package read

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/trace"
)

// ascend returns a trace in the vocabulary of torch_npu: host operators (Python), calls (CANN), tasks of two streams,
// and two all-reduces of a group of four ranks, with their parts.
func ascend(calls bool) string {
	meta := func(pid int, name string) string {
		return fmt.Sprintf(`{"ph": "M", "name": "process_name", "pid": %d, "tid": 0, "args": {"name": %q}}`, pid, name)
	}
	x := func(pid, tid int, name, ts, dur, args string) string {
		return fmt.Sprintf(`{"ph": "X", "name": %q, "pid": %d, "tid": %d, "ts": "1700000000000%s", "dur": %s, "args": {%s}}`, name, pid, tid, ts, dur, args)
	}
	task := func(kind string, id int) string { return fmt.Sprintf(`"Task Type": %q, "connection_id": %d`, kind, id) }
	part := func(from, to int64) string { return fmt.Sprintf(`"src rank": %d, "dst rank": %d`, from, to) }
	flow := func(ph string, pid, tid int, ts string) string {
		return fmt.Sprintf(`{"ph": %q, "cat": "async_npu", "name": "torch_to_npu", "id": 77, "pid": %d, "tid": %d, "ts": "1700000000000%s"}`, ph, pid, tid, ts)
	}
	events := []string{
		`{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": "1700000000000001.000", "dur": 5, "args": {}}`,
		flow("s", 1, 1, "001.000"),
		meta(1, "Python"), meta(10, "Ascend Hardware"), meta(11, "HCCL"), meta(13, "Overlap Analysis"),
		x(10, 2, "aclnnMm_MatMulV2", "010.000", "20.5", task("AI_CORE", 5)),
		flow("f", 10, 2, "010.000"),
		x(10, 2, "EVENT_WAIT", "031.000", "9", task("EVENT_WAIT_SQE", 6)),
		x(10, 2, "MEMCPY_ASYNC", "041.000", "2", task("PCIE_DMA_SQE", 7)),
		x(10, 4, "hcom_part", "050.000", "10", task("Notify Wait", 8)),
		x(11, 0, "hcom_allReduce__586_0_1", "050.000", "12", `"connection_id": 8, "data_type": "FP32", "count": 64`),
		x(11, 0, "hcom_allReduce__586_1_1", "070.000", "12", `"connection_id": 9, "data_type": "FP32", "count": 64`),
		x(11, 1, "Notify_Record", "050.000", "1", part(0, 4294967295)), x(11, 4, "Notify_Record", "051.000", "1", part(0, 3)),
		x(13, 0, "Computing", "010.000", "20.5", ""),
	}
	if calls {
		events = append(events, meta(12, "CANN"), x(12, 9, "Node@launch", "006.000", "1", `"connection_id": 5`), x(12, 9, "Runtime@KernelLaunch", "006.100", ".5", `"connection_id": 5`),
			x(12, 9, "AscendCL@aclrtSynchronizeStreamWithTimeout", "008.000", "30", ""))
	}
	return "[" + strings.Join(events, ",\n") + "]"
}

// TestAscend reads device work, collectives and launches of torch_npu's traces.
func TestAscend(t *testing.T) {
	for name, calls := range map[string]bool{"with calls": true, "level 0, linked by flows": false} {
		tr := one(t, ascend(calls))
		work, launches := []string{}, []string{}
		for _, s := range tr.Spans {
			name := tr.Strings.Get(s.Name)
			switch {
			case s.Cat.OnGPU():
				at := &tr.Tracks[s.Track]
				work = append(work, fmt.Sprintf("%s %s stream %d +%d id %d", s.Cat, name, at.Stream, s.Dur, s.Corr))
			case s.Cat == trace.Runtime:
				launches = append(launches, fmt.Sprintf("%s at %d id %d", name, s.Start%1_000_000, s.Corr))
			}
		}
		wantWork := "kernel aclnnMm_MatMulV2 stream 2 +20500 id 5; gpu_memcpy MEMCPY_ASYNC stream 2 +2000 id 7; " +
			"kernel hcom_allReduce stream 1000 +12000 id 8; kernel hcom_allReduce stream 1000 +12000 id 9"
		if got := strings.Join(work, "; "); got != wantWork {
			t.Errorf("%s: work\n%s, want\n%s", name, got, wantWork)
		}
		wantLaunches := "torch_to_npu at 1000 id 5"
		if calls {
			wantLaunches = "launch at 6000 id 5; aclrtSynchronizeStreamWithTimeout at 8000 id 0"
		}
		if got := strings.Join(launches, "; "); got != wantLaunches {
			t.Errorf("%s: launches %s, want %s", name, got, wantLaunches)
		}
		for i, c := range tr.Comms {
			if tr.Strings.Get(c.Name) != "allReduce" || tr.Strings.Get(c.Group) != "586" || c.Seq != int64(i) || c.GroupSize != 4 || c.In != 64 || tr.Strings.Get(c.DType) != "FP32" {
				t.Errorf("%s: collective %d: %+v", name, i, c)
			}
		}
	}
}

// TestForeign: a file of another program is refused by name, or with what it holds.
func TestForeign(t *testing.T) {
	process := func(name string) string {
		return fmt.Sprintf(`{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": %q}}`, name)
	}
	for name, c := range map[string]struct{ text, want string }{
		"JAX":          {doc("", process("/device:TPU:0"), process("/host:CPU"), x("", "fusion.1", "1", "2", "")), "a JAX trace (processes /device:TPU:0, /host:CPU): "},
		"another":      {doc("", process("renderer\u001b[31m"), x("gpu,frame", "draw", "1", "2", "")), "a trace of an unknown program (processes renderer\\x1b[31m; categories gpu,frame): "},
		"no names":     {doc("", x("", "a", "1", "2", "")), ""},
		"PyTorch":      {doc("", process("python3"), x("mystery", "a", "1", "2", ""), x("kernel", "k", "1", "2", "")), ""},
		"Ascend":       {ascend(true), ""},
		"XPU launches": {doc("", x("xpu_runtime", "urEnqueueKernelLaunch", "1", "2", "")), ""},
	} {
		_, err := readText(t, "a.json", c.text)
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
