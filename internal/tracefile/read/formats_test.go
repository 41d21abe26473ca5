package read

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/sqlitedb"
	"github.com/stepscope/stepscope/internal/tracefile/format"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// database makes a SQLite database at path by the statements.
func database(t *testing.T, path string, sql ...string) {
	t.Helper()
	db, err := sqlitedb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range sql {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%.80s: %v", s, err)
		}
	}
}

func sample(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// schema3 changes a rocpd database of schema 2 to schema 3, whose rows refer to tables of tracks and timestamps.
func schema3(sql string) string {
	const suffix = "_00001f2a_0198"
	for _, table := range []string{"kernel_dispatch", "memory_copy", "region"} {
		agent, queue, stream := "NULL", "NULL", "NULL"
		switch table {
		case "kernel_dispatch":
			agent, queue, stream = "agent_id", "queue_id", "stream_id"
		case "memory_copy":
			stream = "stream_id"
		}
		sql += strings.NewReplacer("ROWS", "rocpd_"+table+suffix, "SUFFIX", suffix, "KIND", table,
			"AGENT", agent, "QUEUE", queue, "STREAM", stream).Replace(`
			CREATE TABLE IF NOT EXISTS rocpd_trackSUFFIX (id INTEGER PRIMARY KEY, name TEXT, tid INTEGER, agent_id INTEGER, queue_id INTEGER, stream_id INTEGER);
			CREATE TABLE IF NOT EXISTS rocpd_timestampSUFFIX (id INTEGER PRIMARY KEY, value BIGINT);
			ALTER TABLE ROWS ADD COLUMN track_id INTEGER;
			ALTER TABLE ROWS ADD COLUMN start_id INTEGER;
			ALTER TABLE ROWS ADD COLUMN end_id INTEGER;
			INSERT INTO rocpd_trackSUFFIX SELECT id + (SELECT COUNT(*) FROM rocpd_trackSUFFIX), 'KIND', tid, AGENT, QUEUE, STREAM FROM ROWS;
			UPDATE ROWS SET track_id = id + (SELECT COUNT(*) FROM rocpd_trackSUFFIX WHERE name <> 'KIND');
			INSERT INTO rocpd_timestampSUFFIX SELECT track_id*2, start FROM ROWS;
			INSERT INTO rocpd_timestampSUFFIX SELECT track_id*2+1, "end" FROM ROWS;
			UPDATE ROWS SET start_id = track_id*2, end_id = track_id*2+1;
			ALTER TABLE ROWS DROP COLUMN start;
			ALTER TABLE ROWS DROP COLUMN "end";
			ALTER TABLE ROWS DROP COLUMN tid;`)
	}
	return sql
}

// largeIDs adds a large number to the ids of a JSON file of rocprofv3.
func largeIDs(text string) string {
	return regexp.MustCompile(`"(handle|thread_id|internal|key|kernel_id)":\d+`).ReplaceAllStringFunc(text, func(member string) string {
		name, id, _ := strings.Cut(member, ":")
		n, _ := strconv.Atoi(id)
		return fmt.Sprintf("%s:1844674407370955%04d", name, 1000+n)
	})
}

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	w.Close()
	return b.String()
}

const plainKernel = `{"traceEvents": [
	{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 2, "args": {"device": 0, "stream": 7, "correlation": 1}}]}`

// rocprofRank is what each rank of the samples of rocprofv3 holds.
const rocprofRank = `AMD Instinct MI300X on node1, %s
kernel Cijk_Ailk_Bljk_BBS_MT64x32x256 +20000 device %[2]d grid 2 block 256, launched by hipLaunchKernel
kernel ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>) +30000 device %[2]d grid 2 block 256 (allreduce), launched by hipLaunchKernel
gpu_memset __amd_rocclr_fillBufferAligned +1000 device %[2]d grid 2 block 256, launched by hipLaunchKernel
gpu_memcpy Memcpy HtoD +2000 device %[2]d 4096 bytes, launched by hipMemcpyAsync
user_annotation step %[2]d +90000
user_annotation NCCL:ncclGroupStart +100
user_annotation NCCL:ncclAllReduce +100
user_annotation NCCL:ncclGroupEnd +3600
cuda_runtime hipStreamSynchronize +58000
`

// TestFormats holds each row of the table of formats against a file: it is recognised by its contents, under any name,
// and read, or refused by name.
func TestFormats(t *testing.T) {
	rocprofBoth := fmt.Sprintf(rocprofRank, "0000:75:00.0", 0) + fmt.Sprintf(rocprofRank, "0000:05:00.0", 1)
	kernel := "kernel k +2000 device 0\n"
	rocprofWith := func(value string) string { // with an unknown member
		return strings.Replace(sample(t, "rocprof.json"), `"metadata"`, `"x":`+value+`,"metadata"`, 1)
	}
	const hostCopy = `{"kind":3,"operation":1,"thread_id":101,"correlation_id":{"internal":99},"start_timestamp":1000001000,"end_timestamp":1000002000,"dst_agent_id":{"handle":10},"src_agent_id":{"handle":10},"stream_id":{"handle":7},"bytes":64},`
	operators := strings.Repeat(`{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": "1700000000000000.000", "dur": 0.5, "args": {}},`, 3000)
	for _, c := range []struct {
		name   string
		text   string // the contents or, of a database, its statements
		format format.Format
		want   string // what describe returns, or a part of the error
	}{
		{"kineto", plainKernel, format.Kineto, kernel},
		{"kineto, packed", zipped(plainKernel), format.Kineto, kernel},
		{"kineto behind a line feed", "\n" + plainKernel, format.Kineto, kernel},
		{"ascend", ascend(true), format.Ascend, "gpu_memcpy MEMCPY_ASYNC +2000 device 0"},
		{"ascend without blanks, names of processes late", strings.ReplaceAll("["+operators+ascend(true)[1:], `": `, `":`), format.Ascend, "gpu_memcpy MEMCPY_ASYNC +2000 device 0"},
		{"kineto without blanks", strings.ReplaceAll(plainKernel, `": `, `":`), format.Kineto, kernel},
		{"nsys report", "NVIDIA Tegra Profiler Report 363980", format.NsysReport, "give its SQLite export"},
		{"nsys export", `CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
			INSERT INTO StringIds VALUES (1, 'k');
			CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, "end", deviceId, streamId, correlationId, globalPid, demangledName, shortName);
			INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 2005, 0, 7, 1, 167772160, 1, 1)`, format.NsysExport, kernel},
		{"rocprofv3", sample(t, "rocprof.json"), format.Rocprof, rocprofBoth},
		{"rocprofv3, packed", zipped(sample(t, "rocprof.json")), format.Rocprof, rocprofBoth},
		{"rocprofv3, cut", sample(t, "rocprof.json")[:3000], format.Rocprof, "cut off at byte 2727"},
		{"rocprofv3, copies from host to host", strings.Replace(sample(t, "rocprof.json"), `"memory_copy":[`, `"memory_copy":[`+hostCopy, 1), format.Rocprof,
			strings.Replace(rocprofBoth, "gpu_memcpy Memcpy HtoD +2000 device 1", "gpu_memcpy Memcpy HtoH +1000 device 1 64 bytes\ngpu_memcpy Memcpy HtoD +2000 device 1", 1)},
		{"rocprofv3, only copies from host to host", `{"rocprofiler-sdk-tool": [{"agents": [{"id": {"handle": 10}, "type": 1}], "strings": {"buffer_records": [{"kind": "HIP_RUNTIME_API", "operations": ["hipMemcpy"]}]},
			"buffer_records": {"memory_copy": [` + strings.TrimSuffix(hostCopy, ",") + `], "hip_api": [{"start_timestamp": 1000000500, "end_timestamp": 1000002500}]}}]}`, format.Rocprof, "cuda_runtime hipMemcpy +2000\n"},
		{"rocprofv3, large ids", largeIDs(sample(t, "rocprof.json")), format.Rocprof, rocprofBoth},
		{"rocprofv3, an impossible time", strings.Replace(sample(t, "rocprof.json"), `"end_timestamp":1000070000`, `"end_timestamp":18446744073709551615`, 1), format.Rocprof,
			strings.Replace(rocprofBoth, "cuda_runtime hipStreamSynchronize +58000\n", "", 1)},
		{"rocprofv3, a long value", rocprofWith(`"` + strings.Repeat("x", 30<<20) + `"`), format.Rocprof, rocprofBoth},
		{"rocprofv3, a value too long", zipped(rocprofWith(`"` + strings.Repeat("x", 33<<20) + `"`)), format.Rocprof, "the value at byte 29 of its text is larger than 32 MiB"},
		{"rocprofv3, many blanks", rocprofWith(strings.Repeat(" ", 33<<20) + "1"), format.Rocprof, "the value at byte 29 of its text is larger than 32 MiB"},
		{"rocprofv3, deep", rocprofWith(strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000)), format.Rocprof, rocprofBoth},
		{"rocprofv3, too deep", rocprofWith(strings.Repeat("[", 20_000)), format.Rocprof, "nested too deep"},
		{"rocprofv3, nothing", `{"rocprofiler-sdk-tool": [{"metadata": {"pid": 1}}]}`, format.Rocprof, "--kernel-trace"},
		{"rocpd", sample(t, "rocpd.sql"), format.Rocpd, rocprofBoth},
		{"rocpd, schema 3", schema3(sample(t, "rocpd.sql")), format.Rocpd, rocprofBoth},
		{"torch_npu's database", `CREATE TABLE PYTORCH_API (startNs)`, format.AscendDB, "give trace_view.json"},
		{"another database", `CREATE TABLE runs (id); CREATE TABLE users (id)`, format.OtherDB,
			"a SQLite database of another program (tables runs, users): stepscope reads exports of Nsight Systems"},
		{"a damaged database", "SQLite format 3\x00", format.OtherDB, "shorter than its header"},
		{"JAX", "\n\x40\x08\x01\x12\x0d/device:GPU:0", format.XPlane, "a JAX trace"},
		{"Perfetto", "\n\x08\x32\x06\x0a\x04\x08\x01\x10\x02", format.Perfetto, "give the files from which it was made"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "unnamed")
			if strings.HasPrefix(c.text, "CREATE") {
				database(t, path, c.text)
			} else if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
				t.Fatal(err)
			}
			if got := format.Of(path); got != c.format {
				t.Fatalf("%v, want %v", got, c.format)
			}
			traces, err := ReadFile(context.Background(), set.File{Path: path}, Options{})
			got := ""
			if err != nil {
				got = err.Error()
			}
			for _, tr := range traces {
				got += describe(tr)
			}
			if exact := err == nil && c.format != format.Ascend; exact && got != c.want || !strings.Contains(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
	for f := format.Kineto; f > format.Unknown; f-- {
		if refused := f.Refuse("nosuch") != nil; refused == (readers[f] != nil) {
			t.Errorf("%v: it is either read or refused", f)
		}
	}
}

// describe lists what a trace holds: its source, then its spans without the launches of GPU work.
func describe(t *trace.Trace) string {
	launch := map[int64]string{}
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat.Launch() && s.Corr != 0 {
			launch[s.Corr] = t.Strings.Get(s.Name)
		}
	}
	var b strings.Builder
	if t.Source.Device != "" {
		fmt.Fprintf(&b, "%s on %s, %s\n", t.Source.Device, t.Source.Host, t.Source.PCI)
	}
	worked := map[int64]bool{}
	var order []*trace.Span
	for i := range t.Spans {
		s := &t.Spans[i]
		worked[s.Corr] = worked[s.Corr] || s.Cat.OnGPU()
		order = append(order, s)
	}
	slices.SortStableFunc(order, func(a, b *trace.Span) int { // GPU work first, markers next
		of := func(s *trace.Span) int {
			return slices.Index([]bool{s.Cat.OnGPU(), s.Cat == trace.UserAnnotation, true}, true)
		}
		return of(a) - of(b)
	})
	for _, s := range order {
		if s.Cat.Launch() && worked[s.Corr] {
			continue
		}
		fmt.Fprintf(&b, "%v %s +%d", s.Cat, t.Strings.Get(s.Name), s.Dur)
		if s.Cat.OnGPU() {
			op := &t.Ops[s.Detail]
			fmt.Fprintf(&b, " device %d", t.Tracks[s.Track].Device)
			if op.Block[0] > 0 {
				fmt.Fprintf(&b, " grid %d block %d", op.Grid[0], op.Block[0])
			}
			if op.Bytes > 0 {
				fmt.Fprintf(&b, " %d bytes", op.Bytes)
			}
			if op.Comm >= 0 && t.Comms[op.Comm].Name != 0 {
				fmt.Fprintf(&b, " (%s)", t.Strings.Get(t.Comms[op.Comm].Name))
			}
			if by := launch[s.Corr]; by != "" {
				b.WriteString(", launched by " + by)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
