package nsysdb

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/packedtest"

	"github.com/stepscope/stepscope/internal/testing/sqlitedb"
	"github.com/stepscope/stepscope/trace"
)

// report decompresses an export of testdata.
func report(t testing.TB, name string) string {
	t.Helper()
	return packedtest.File(t, filepath.Join("testdata", name+".sqlite.zst"))
}

func read(t testing.TB, path string) []*trace.Trace {
	t.Helper()
	ts, err := Read(context.Background(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

// describe returns the content of a rank in one line: spans by category.
func describe(tr *trace.Trace) string {
	var count [16]int
	for i := range tr.Spans {
		count[tr.Spans[i].Cat]++
	}
	line := tr.Source.Rank.String()
	for c, n := range count {
		if n > 0 {
			line += fmt.Sprintf(" %s:%d", trace.Category(c), n)
		}
	}
	passes, rule := trace.Passes(tr)
	if len(passes) > 0 {
		line += fmt.Sprintf("; %d steps by %s", len(passes), rule)
	}
	return line
}

// The content of each export: synthetic GPU work in the schemas of two versions, real ranges of programs without a GPU,
// and six steps of a real job with four GPUs.
func TestRead(t *testing.T) {
	for name, want := range map[string][]string{
		"gpu-2022.4.2-rank0": {"Unknown user_annotation:16 cuda_runtime:25 kernel:18 gpu_memcpy:3 gpu_memset:1 cuda_sync:3"},
		"gpu-2023.4.4-rank1": {"Unknown user_annotation:16 cuda_runtime:25 kernel:18 gpu_memcpy:3 gpu_memset:1 cuda_sync:3"},
		"nvtx-c-2022.4.2":    {"Unknown other:15 user_annotation:24 overhead:4"},
		"nvtx-go-2023.4.4":   {"Unknown user_annotation:16 overhead:8"},
		"tp4-work": {
			"TP00 user_annotation:50 cuda_runtime:1035 cuda_driver:575 kernel:413 gpu_memcpy:10 gpu_memset:8 cuda_sync:208; 5 steps by forward annotations",
			"TP01 user_annotation:50 cuda_runtime:1036 cuda_driver:575 kernel:413 gpu_memcpy:10 gpu_memset:8 cuda_sync:208; 5 steps by forward annotations",
			"TP02 user_annotation:50 cuda_runtime:1263 cuda_driver:975 kernel:717 gpu_memcpy:10 gpu_memset:16 cuda_sync:205; 5 steps by forward annotations",
			"TP03 user_annotation:50 cuda_runtime:1043 cuda_driver:575 kernel:413 gpu_memcpy:10 gpu_memset:8 cuda_sync:212; 5 steps by forward annotations",
		},
	} {
		var got []string
		for _, tr := range read(t, report(t, name)) {
			got = append(got, describe(tr))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", name, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
}

// The summaries match those of `nsys stats`, which created testdata/stats, and the sums over the timeline.
func TestSummaries(t *testing.T) {
	files, err := filepath.Glob("testdata/stats/*.csv")
	if err != nil || len(files) == 0 {
		t.Fatal("no reference results", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".csv")
		at := strings.LastIndexByte(name, '.')
		name, which := name[:at], name[at+1:]
		answer, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, report(t, name), which, string(answer))
	}
}

// compare compares one summary of an export with nsys' result.
func compare(t *testing.T, path, which, answer string) {
	t.Helper()
	label := filepath.Base(path) + " " + which
	sums, err := Summaries(context.Background(), path, []string{which})
	if err != nil {
		t.Fatal(err)
	}
	table, err := csv.NewReader(strings.NewReader(answer)).ReadAll()
	if err != nil || len(table) < 2 {
		t.Fatal(label, "no reference result:", err)
	}
	want := map[string][]float64{}
	columns := []string{"Total Time", "Total", "Instances", "Num Calls", "Count", "Avg", "Med", "Min", "Max", "StdDev"}
	for _, line := range table[1:] {
		// Versions of a call that nsys distinguishes by a longer number.
		name := apiVersion.ReplaceAllString(line[len(line)-1], "")
		var figures []float64
		for i, head := range table[0] {
			if head, _, _ = strings.Cut(head, " ("); slices.Contains(columns, head) {
				n, err := strconv.ParseFloat(line[i], 64)
				if err != nil {
					t.Fatal(label, line)
				}
				figures = append(figures, n)
			}
		}
		want[name] = figures
	}
	if len(sums[0].Rows) != len(want) {
		t.Errorf("%s: %d names, nsys has %d", label, len(sums[0].Rows), len(want))
	}
	unit, slack := 1.0, 0.0501 // nsys prints one decimal
	if sums[0].Unit == "bytes" {
		unit, slack = 1e6, 0.000501
	}
	for _, row := range sums[0].Rows {
		w := want[row.Name]
		got := []float64{float64(row.Total) / unit, float64(row.Count), row.Mean / unit, row.Median / unit, float64(row.Min) / unit, float64(row.Max) / unit, row.StdDev / unit}
		if len(w) != len(got) {
			t.Errorf("%s: %s is not in nsys' answer", label, row.Name)
			continue
		}
		for i := range got {
			if math.Abs(got[i]-w[i]) > slack {
				t.Errorf("%s: %s: got %v, nsys %v", label, row.Name, got, w)
				break
			}
		}
	}
}

// sums adds up the GPU work of all ranks by name.
func sums(ts []*trace.Trace, cat trace.Category) map[string][2]int64 {
	by := map[string][2]int64{}
	for _, tr := range ts {
		for i := range tr.Spans {
			if s := &tr.Spans[i]; s.Cat == cat {
				name := tr.Strings.Get(s.Name)
				by[name] = [2]int64{by[name][0] + s.Dur, by[name][1] + 1}
			}
		}
	}
	return by
}

// No kernel is lost or counted twice on its way into the timeline.
func TestTimelineKeepsKernels(t *testing.T) {
	for _, name := range []string{"gpu-2022.4.2-rank0", "gpu-2023.4.4-rank1", "tp4-work"} {
		path := report(t, name)
		got := sums(read(t, path), trace.Kernel)
		want, err := Summaries(context.Background(), path, []string{"cuda_gpu_kern_sum"})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range want[0].Rows {
			if g := got[row.Name]; g != [2]int64{row.Total, row.Count} {
				t.Errorf("%s: %s: %v, want %d ns of %d", name, row.Name, g, row.Total, row.Count)
			}
			delete(got, row.Name)
		}
		if len(got) > 0 {
			t.Errorf("%s: unexpected kernels: %v", name, got)
		}
	}
}

// The real nsys, if installed, gives the same sums for whole captures.
func TestAgainstNsys(t *testing.T) {
	nsys := os.Getenv("STEPSCOPE_NSYS")
	if nsys == "" {
		nsys = "nsys"
	}
	nsys, err := exec.LookPath(nsys)
	if err != nil {
		t.Skip("no nsys here (STEPSCOPE_NSYS names one)")
	}
	paths := []string{report(t, "tp4-work")}
	if data := os.Getenv("STEPSCOPE_DATA"); data != "" {
		more, _ := filepath.Glob(filepath.Join(data, "nsys", "*.sqlite"))
		paths = append(paths, more...)
	}
	for _, path := range paths {
		for _, which := range []string{"cuda_gpu_kern_sum", "cuda_api_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "nvtx_sum"} {
			out, err := exec.Command(nsys, "stats", "-q", "-f", "csv", "-r", which, "-o", "-", path).Output()
			if err != nil {
				t.Fatalf("%s %s: %v", path, which, err)
			}
			compare(t, path, which, string(out))
		}
	}
}

// exportOf creates an export by SQL, with the tables of a GPU capture.
func exportOf(t *testing.T, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.sqlite")
	db, err := sqlitedb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range append([]string{
		`CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)`,
		`INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel_v7000'), (3, 'main'), (4, 'ncclAllReduce')`,
		`CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "end" INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER,
			globalPid INTEGER, demangledName INTEGER, shortName INTEGER)`,
		`CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, "end" INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER)`,
		`CREATE TABLE NVTX_EVENTS (start INTEGER, "end" INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER, domainId INTEGER)`,
		`CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER)`,
		`INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000)`,
	}, statements...) {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return path
}

// global returns a global id: hardware 0, machine 1, process and thread.
func global(pid, tid int64) int64 { return 1<<48 | pid<<tidBits | tid }

// Only calls have versions: kernels whose names end alike are different kernels.
func TestSummaryNames(t *testing.T) {
	path := exportOf(t, `INSERT INTO StringIds VALUES (5, 'attention_v1'), (6, 'attention_v2'), (7, 'cudaLaunchKernel_v11060')`,
		fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 1, %[1]d, 5, 5), (30, 45, 0, 7, 2, %[1]d, 6, 6)`, global(10, 0)),
		fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, %[1]d, 1, 2), (3, 4, 0, %[1]d, 2, 7)`, global(10, 10)))
	all, err := Summaries(context.Background(), path, []string{"cuda_gpu_kern_sum", "cuda_api_sum"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"attention_v2:1 attention_v1:1", "cudaLaunchKernel:2"} {
		var got []string
		for _, r := range all[i].Rows {
			got = append(got, fmt.Sprint(r.Name, ":", r.Count))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %s", all[i].Report, got, want)
		}
	}
}

// Ranks are processes with their GPUs, whatever their numbers.
func TestRanks(t *testing.T) {
	kernel := func(pid, device, start, n int64) string {
		return fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL WITH RECURSIVE k(n) AS (SELECT 0 UNION ALL SELECT n+1 FROM k WHERE n < %d)
			SELECT %d+n*10, %d+n*10+5, %d, 7, %d+n, %d, 1, 1 FROM k`, n-1, start, start, device, start, global(pid, 0))
	}
	launch := func(pid, tid, start, n int64) string {
		return fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME WITH RECURSIVE k(n) AS (SELECT 0 UNION ALL SELECT n+1 FROM k WHERE n < %d)
			SELECT %d+n*10-3, %d+n*10-1, 0, %d, %d+n, 2 FROM k`, n-1, start, start, global(pid, tid), start)
	}
	processes := func(names ...string) (list []string) {
		list = append(list, `CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT)`)
		for i, name := range names {
			list = append(list, fmt.Sprintf(`INSERT INTO PROCESSES VALUES (%d, %d, '%s')`, global(int64(10+i), 0), 10+i, name))
		}
		return list
	}
	for _, c := range []struct {
		name string
		sql  []string
		want []string
	}{
		{"one process a GPU, in the order of the GPUs",
			[]string{kernel(11, 0, 100, 20), kernel(10, 1, 100, 30), launch(10, 10, 100, 30), launch(11, 11, 100, 20)},
			[]string{"TP00 cuda_runtime:20 kernel:20", "TP01 cuda_runtime:30 kernel:30"}},
		{"the processes say their rank",
			append(processes("sglang::scheduler_TP1", "sglang::scheduler_TP0"), kernel(10, 0, 100, 20), kernel(11, 1, 100, 30)),
			[]string{"TP00 kernel:30", "TP01 kernel:20"}},
		{"names that do not tell them apart do not count",
			append(processes("VLLM::Worker_TP0", "VLLM::Worker_TP0"), kernel(10, 0, 100, 20), kernel(11, 1, 100, 30)),
			[]string{"TP00 kernel:20", "TP01 kernel:30"}},
		{"data and pipeline parallel",
			append(processes("VLLM::Worker_DP1_PP0_TP0_EP2", "VLLM::Worker_DP0_PP0_TP0_EP0"), kernel(10, 0, 100, 20), kernel(11, 1, 100, 30)),
			[]string{"TP00-DP00-PP00-EP00 kernel:30", "TP00-DP01-PP00-EP02 kernel:20"}},
		{"a little work of each process on GPU 0 makes no rank",
			[]string{kernel(10, 0, 100, 100), kernel(11, 1, 100, 100), kernel(11, 0, 9000, 1)},
			[]string{"TP00 kernel:100", "TP01 kernel:101"}},
		{"one process with two GPUs, a thread each",
			[]string{kernel(10, 0, 1000, 50), kernel(10, 1, 5000, 60), launch(10, 31, 1000, 50), launch(10, 32, 5000, 60),
				fmt.Sprintf(`INSERT INTO NVTX_EVENTS VALUES (990, 2000, 59, 'DECODE step 1', NULL, %d, 0), (4990, 6000, 59, 'DECODE step 1', NULL, %d, 0)`, global(10, 31), global(10, 32))},
			[]string{"TP00 user_annotation:1 cuda_runtime:50 kernel:50; 1 steps by forward annotations", "TP01 user_annotation:1 cuda_runtime:60 kernel:60; 1 steps by forward annotations"}},
		{"a process without GPU work is left out",
			[]string{kernel(10, 0, 100, 5), launch(77, 77, 100, 5), fmt.Sprintf(`INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, 'tokenise', NULL, %d, 0)`, global(77, 77))},
			[]string{"Unknown kernel:5"}},
		{"a frontend that uses a rank's GPU a little is none, whatever numbers they have for it",
			[]string{kernel(9, 0, 100, 4), launch(9, 9, 100, 4), kernel(10, 0, 100, 100), kernel(11, 0, 100, 100),
				`CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER)`,
				`INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 0, 9), (0, 0, 10), (1, 0, 11)`},
			[]string{"TP00 kernel:100", "TP01 kernel:100"}},
		{"but one with little work and a GPU, or steps, of its own is one",
			[]string{kernel(9, 0, 100, 4), kernel(10, 0, 100, 100), kernel(11, 0, 100, 2),
				`CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER)`,
				`INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 0, 9), (0, 0, 10), (0, 0, 11)`,
				fmt.Sprintf(`INSERT INTO NVTX_EVENTS VALUES (90, 200, 59, 'DECODE step 1', NULL, %d, 0)`, global(11, 11))},
			[]string{"TP00 kernel:100", "TP01 user_annotation:1 kernel:2; 1 steps by forward annotations", "TP02 kernel:4"}},
		{"no GPU work: threads that run steps are ranks, by their names",
			[]string{`CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER)`,
				`INSERT INTO StringIds VALUES (20, 'scheduler TP1'), (21, 'scheduler TP0')`,
				fmt.Sprintf(`INSERT INTO ThreadNames VALUES (20, 0, %d), (21, 0, %d)`, global(10, 41), global(10, 42)),
				fmt.Sprintf(`INSERT INTO NVTX_EVENTS VALUES (1, 9, 59, 'step[DECODE bs=1]', NULL, %d, 0), (2, 3, 59, 'layer', NULL, %[1]d, 0),
					(1, 9, 59, 'step[DECODE bs=1]', NULL, %d, 0), (1, 5, 59, 'http', NULL, %d, 0)`, global(10, 41), global(10, 42), global(10, 43))},
			[]string{"TP00 user_annotation:1; 1 steps by forward annotations", "TP01 user_annotation:2; 1 steps by forward annotations"}},
		{"no GPU work and no steps: a process is one rank",
			[]string{fmt.Sprintf(`INSERT INTO NVTX_EVENTS VALUES (1, 9, 59, 'a', NULL, %d, 0), (2, 3, 59, NULL, 3, %d, 0)`, global(10, 41), global(10, 42))},
			[]string{"Unknown user_annotation:2"}},
	} {
		ts := read(t, exportOf(t, c.sql...))
		var got []string
		for _, tr := range ts {
			got = append(got, describe(tr))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.name, strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
		}
	}
}

// Texts, domains and times of ranges.
func TestRanges(t *testing.T) {
	thread := global(10, 10)
	ts := read(t, exportOf(t, fmt.Sprintf(`INSERT INTO NVTX_EVENTS VALUES
		(0, NULL, 75, 'NCCL', NULL, %[1]d, 1),
		(10, 90, 59, 'DECODE step 1', NULL, %[1]d, 0),
		(20, 40, 59, NULL, 4, %[1]d, 1),
		(30, NULL, 59, 'open', NULL, %[1]d, 0),
		(15, 95, 60, 'request 1', NULL, %[1]d, 0),
		(50, 50, 34, 'a mark', NULL, %[1]d, 0)`, thread)))
	var got []string
	for i := range ts[0].Spans {
		s := &ts[0].Spans[i]
		got = append(got, fmt.Sprintf("%s: %d+%d on %s", ts[0].Strings.Get(s.Name), s.Start-1700000000000000000, s.Dur, ts[0].Tracks[s.Track].TID))
	}
	want := []string{"DECODE step 1: 10+80 on 10", "NCCL:ncclAllReduce: 20+20 on 10", "open: 30+65 on 10", "request 1: 15+80 on 10 ranges"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A range still open at the end lasts as long as the GPU work, also in a window that begins after it.
func TestOpenRanges(t *testing.T) {
	path := exportOf(t,
		fmt.Sprintf(`INSERT INTO NVTX_EVENTS VALUES (10, NULL, 59, 'DECODE step 9', NULL, %[1]d, 0), (20, 30, 59, 'layer', NULL, %[1]d, 0)`, global(10, 10)),
		fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (25, 35, 0, 7, 1, %[1]d, 1, 1), (60, 90, 0, 7, 2, %[1]d, 1, 1)`, global(10, 0)))
	for _, opt := range []Options{{}, {From: 50}, {From: 50, To: 70}} {
		ts, err := Read(context.Background(), path, opt)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range ts[0].Spans {
			if s := &ts[0].Spans[i]; s.Cat == trace.UserAnnotation && ts[0].Strings.Get(s.Name) != "layer" {
				got = append(got, fmt.Sprintf("%d+%d", s.Start-1700000000000000000, s.Dur))
			}
		}
		end := int64(90)
		if opt.To != 0 {
			end = opt.To
		}
		if want := []string{fmt.Sprintf("10+%d", end-10)}; !slices.Equal(got, want) {
			t.Errorf("%+v: %q, want %q", opt, got, want)
		}
	}
}

// A capture too long for memory is read from its beginning, with a note; a window can be requested.
func TestBounded(t *testing.T) {
	path := report(t, "tp4-work")
	whole := read(t, path)
	total := 0
	for _, tr := range whole {
		total += len(tr.Spans)
	}
	ts, err := Read(context.Background(), path, Options{MaxSpans: int64(total / 3)})
	if err != nil {
		t.Fatal(err)
	}
	part := 0
	for _, tr := range ts {
		part += len(tr.Spans)
	}
	if part < total/4 || part > total*2/5 {
		t.Errorf("%d spans of %d read, want about a third", part, total)
	}
	if n := ts[0].Notes; !slices.ContainsFunc(n, func(n trace.Note) bool {
		return n.Severity() == trace.Loss && strings.Contains(n.Text(), "too long to hold in memory: 0.000 s to ")
	}) {
		t.Errorf("no note of the omitted part: %v", n)
	}
	first := whole[0].Spans[0].Start - whole[0].Source.BaseNS
	for _, tr := range whole {
		for i := range tr.Spans {
			first = min(first, tr.Spans[i].Start-tr.Source.BaseNS)
		}
	}
	ts, err = Read(context.Background(), path, Options{From: first + 20e6, To: first + 50e6})
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range ts {
		for i := range tr.Spans {
			if s := &tr.Spans[i]; s.End() < tr.Source.BaseNS+first+20e6 || s.Start >= tr.Source.BaseNS+first+50e6 {
				t.Fatalf("a span outside the window: %d+%d", s.Start-tr.Source.BaseNS, s.Dur)
			}
		}
	}
	if _, err := Read(context.Background(), path, Options{From: 1e15, To: 2e15}); err == nil || !strings.Contains(err.Error(), "in the requested window") {
		t.Errorf("an empty window: %v", err)
	}
}

// Databases that are not exports, or contain impossible rows.
func TestOdd(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other.sqlite")
	db, err := sqlitedb.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE runs (id)`); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if _, err := Read(context.Background(), exportOf(t), Options{}); err == nil || !strings.Contains(err.Error(), "neither GPU work nor NVTX ranges") {
		t.Errorf("an empty report: %v", err)
	}
	ts := read(t, exportOf(t, fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
		(10, 5, 0, 7, 1, %[1]d, 1, 1), (10, 9223372036854775807, 0, 7, 1, %[1]d, 1, 1), (10, 20, 0, 7, 1, %[1]d, NULL, 99)`, global(10, 0))))
	if got := describe(ts[0]); got != "Unknown kernel:1" {
		t.Error(got)
	}
	var notes []string
	for _, n := range ts[0].Notes {
		notes = append(notes, fmt.Sprint(n.Severity(), " ", n.Count, " ", n.Text()))
	}
	if want := []string{"loss 1 rows that end before they start", "loss 1 rows with impossible times"}; !slices.Equal(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	// Nor do they count towards the limit or the memory.
	path := exportOf(t, fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
		(10, 20, 0, 7, 1, %[1]d, 1, 1), (30000, 30010, 0, 7, 2, %[1]d, 1, 1), (9223372036854775806, 9223372036854775806, 0, 7, 3, %[1]d, 1, 1)`, global(10, 0)),
		`CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER)`,
		fmt.Sprintf(`INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (5, %[1]d, 0, 64, 2, 0), (9223372036854775806, %[1]d, 0, 64, 2, 0)`, global(10, 0)))
	for most, want := range map[int64]string{0: "Unknown kernel:2", 1: "Unknown kernel:1"} {
		if ts, err := Read(context.Background(), path, Options{MaxSpans: most}); err != nil || describe(ts[0]) != want || len(ts[0].Memory) != 1 {
			t.Errorf("at most %d: %v, %v", most, ts, err)
		}
	}
	if _, err := Summaries(context.Background(), other, []string{"nosuch"}); err == nil {
		t.Error("a summary with an unknown name was created")
	}
}
