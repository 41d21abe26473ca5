package main

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// span returns an event of one thread.
func span(cat, name string, tid, ts, dur any, args string) string {
	return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":1,"tid":%v,"ts":%v,"dur":%v,"args":{%s}},`, cat, name, tid, ts, dur, args)
}

// plain returns the events of ten healthy steps.
func plain() string {
	var b strings.Builder
	for s := range 10 {
		t := 1000 + 1000*s
		b.WriteString(span("user_annotation", "step[DECODE bs=4]", 1, t, 900, ""))
		for i := range 30 {
			name := fmt.Sprintf("gemm_%d", i%7)
			if i%10 == 9 {
				name = "ncclDevKernel_AllReduce"
			}
			args := fmt.Sprintf(`"correlation":%d`, 1000*s+i)
			b.WriteString(span("cuda_runtime", "cudaLaunchKernel", 1, t+20*i, 5, args))
			b.WriteString(span("kernel", name, 7, t+20*i+10, 8, args+`,"stream":7`))
		}
	}
	return b.String()
}

// many returns n events.
func many(n int, event func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(event(i))
	}
	return b.String()
}

// structures are valid JSON with contradictory or extreme contents.
var structures = map[string]func() string{
	"equal ids": func() string {
		return many(20_000, func(i int) string { return span("kernel", "k", 7, 1000+i, 5, `"correlation":1`) })
	},
	"flows in circles": func() string {
		return plain() + many(5000, func(i int) string {
			return fmt.Sprintf(`{"ph":"s","id":%d,"pid":1,"tid":1,"ts":%d,"cat":"ac2g","name":"ac2g"},{"ph":"f","id":%d,"pid":1,"tid":7,"ts":%d,"cat":"ac2g","name":"ac2g","bp":"e"},`, i%100, 1000+i, (i+1)%100, 999-i)
		})
	},
	"extreme times": func() string {
		var b strings.Builder
		for _, v := range []string{"9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e300", "-1e300", "9.2e15", "9223372036854775.807"} {
			b.WriteString(span("kernel", "a", 7, v, 5, "") + span("kernel", "b", 7, 5, v, "") + span("user_annotation", "step[DECODE bs=1]", 1, v, v, ""))
		}
		return plain() + b.String()
	},
	"negative durations": func() string {
		return strings.NewReplacer(`"dur":8`, `"dur":-8`, `"dur":900`, `"dur":-900`).Replace(plain())
	},
	"equal times": func() string {
		return many(30_000, func(i int) string { return span("kernel", "k", 7, 1000, 0, fmt.Sprintf(`"correlation":%d`, i)) })
	},
	"overlaps": func() string {
		return plain() + many(20_000, func(i int) string { return span("kernel", "o", 7, 1000+i/100, 5000, "") })
	},
	"deep": func() string {
		return plain() + many(20_000, func(i int) string { return span("cpu_op", "f", 1, 1000+i/10, 30_000-i, "") })
	},
	"Python in circles": func() string {
		return plain() + many(1000, func(i int) string {
			return span("python_function", "f", 1, 1000+i, 3, fmt.Sprintf(`"Python id":%d,"Python parent id":%d`, i, (i+1)%1000))
		})
	},
	"nested steps": func() string {
		return plain() + many(5000, func(i int) string { return span("user_annotation", "step[DECODE bs=4]", 1, 1000+i/10, 8000-i, "") })
	},
	"strange step names": func() string {
		return plain() + many(500, func(i int) string {
			return span("user_annotation", fmt.Sprintf("step[EXTEND bs=1%030d toks=%d]", 0, -i), 1, 1000+3*i, 2, "") + span("user_annotation", "ProfilerStep#"+strings.Repeat("9", 300), 1, 1000+3*i, 2, "")
		})
	},
	"a large group": func() string {
		return strings.ReplaceAll(plain(), `"stream":7`, `"stream":7,"Collective name":"allreduce","Group size":1000000000,"In msg nelems":1000000000000000000,"Out msg nelems":-5,"Process Group Ranks":"[`+strings.Repeat("1, ", 300)+`2]"`)
	},
	"memory": func() string {
		return plain() + many(5000, func(i int) string {
			return fmt.Sprintf(`{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":%d,"args":{"Total Allocated":-9223372036854775808,"Bytes":9223372036854775807,"Addr":%d,"Device Id":%d,"Device Type":1,"Total Reserved":1e300}},`, 1000+i, i, i%100)
		})
	},
	"open spans": func() string {
		return plain() + many(10_000, func(i int) string {
			return fmt.Sprintf(`{"ph":"B","cat":"cpu_op","name":"x","pid":1,"tid":1,"ts":%d},`, 1000+i)
		}) + many(10_000, func(int) string { return `{"ph":"E","pid":1,"tid":1,"ts":5},` })
	},
	"graphs": func() string {
		return span("cuda_runtime", "cudaGraphLaunch", 1, 1000, 1, `"correlation":7`) + plain() + many(10_000, func(i int) string {
			return span("kernel", "g", 7, 1000+i, 1, fmt.Sprintf(`"correlation":7,"graph id":1,"graph node id":%d`, 9223372036854775807-i%5))
		})
	},
	"types of ids": func() string {
		var b strings.Builder
		for i, e := range strings.SplitAfter(plain(), "},") {
			b.WriteString(strings.Replace(e, `"pid":1`, `"pid":`+[]string{"null", "true", "{}", "[]", "1.5", `"x"`, "-1", `"Spans"`}[i%8], 1))
		}
		return strings.TrimSuffix(b.String(), ",")
	},
	"equal keys": func() string {
		return many(2000, func(i int) string {
			return fmt.Sprintf(`{"ph":"X","ph":"M","cat":"kernel","cat":"cpu_op","name":"a","name":"b","ts":1,"ts":%d,"dur":1,"pid":0,"tid":7,"tid":8,"args":{"correlation":1},"args":{"stream":7}},`, i)
		})
	},
	"half characters": func() string {
		return strings.NewReplacer("gemm_1", `\ud800\udc00\udfff\ud800`, "gemm_2", `\u0000\u0007\u001b[2J`, "gemm_3", `\u202e\u2066evil\u2069`).Replace(plain())
	},
	"waits": func() string {
		return plain() + many(5000, func(i int) string {
			return span("cuda_sync", "Stream Wait Event", 7, 1000+i, 0, fmt.Sprintf(`"stream":7,"wait_on_stream":%d,"wait_on_cuda_event_record_corr_id":%d,"correlation":%d`, i, i, i)) +
				span("cuda_runtime", []string{"cudaEventRecord", "cudaStreamWaitEvent", "cudaEventSynchronize"}[i%3], 1, 1000+i, 1, fmt.Sprintf(`"correlation":%d`, i))
		})
	},
}

// structured runs the readers on traces whose structure is hostile. Each trace is that of two ranks.
func structured(a *attack) error {
	dir, done, err := a.temp()
	if err != nil {
		return err
	}
	defer done()
	cuts, others := 1, 3 // one in so many
	if *short {
		cuts, others = 8, 24
	}
	for n, name := range slices.Sorted(maps.Keys(structures)) {
		in := filepath.Join(dir, "in")
		if err := os.Mkdir(in, 0o700); err != nil {
			return err
		}
		text := document(structures[name]())
		for r := range 2 {
			head := fmt.Sprintf(`{"distributedInfo":{"backend":"nccl","rank":%d,"world_size":2},"traceEvents"`, r)
			path := filepath.Join(in, fmt.Sprintf("1700000000.x-TP-%d.trace.json", r))
			if err := os.WriteFile(path, []byte(strings.Replace(text, `{"traceEvents"`, head, 1)), 0o600); err != nil {
				return err
			}
		}
		for i, args := range readers {
			of := others
			if args[1] == "cut" {
				of = cuts
			}
			if (n+i)%of == 0 {
				a.read(dir, with(args, in))
			}
		}
		os.RemoveAll(in)
	}
	return nil
}

// binaries runs the readers on corrupted databases of Nsight Systems, reports, memory snapshots, pictures and dumps.
func binaries(a *attack) error {
	source := map[string][]byte{"x-TP-0.pickle": []byte("\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x08segments\x94]\x94s.")}
	packed, err := filepath.Glob("internal/tracefile/read/nsysdb/testdata/*.sqlite.zst")
	if err != nil || len(packed) == 0 {
		return fmt.Errorf("no databases: %v: run it in the repository", err)
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		return err
	}
	for _, path := range packed {
		text, err := os.ReadFile(path)
		if err == nil {
			text, err = d.DecodeAll(text, nil)
		}
		if err != nil {
			return err
		}
		source[strings.TrimSuffix(filepath.Base(path), ".zst")] = text
	}
	for _, path := range []string{"new.json", "older.json"} {
		if source[path], err = os.ReadFile(filepath.Join("internal/explain/report/testdata/dumps", path)); err != nil {
			return err
		}
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 64, 64))); err != nil {
		return err
	}
	source["picture.png"], source["picture-TP-0.trace.json.gz"] = picture.Bytes(), picture.Bytes()
	// A report begins like this; nsys reads the rest, so only what precedes nsys is attacked without it.
	source["window.nsys-rep"] = append([]byte("QDRP\x00\x01"), noise(1<<12)...)
	rng := draw(14)
	names := slices.Sorted(maps.Keys(source))
	for range some(120) {
		dir, done, err := a.temp()
		if err != nil {
			return err
		}
		name := names[rng.IntN(len(names))]
		text, _ := breakIt(rng, bytes.Clone(source[name]), name)
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
		a.read(dir, with(readers[rng.IntN(len(readers))], path))
		a.read(dir, with(readers[rng.IntN(len(readers))], path))
		done()
	}
	return nil
}
