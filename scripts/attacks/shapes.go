package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// sketch builds the trace of one rank. Its functions append events, with times in microseconds.
type sketch struct {
	rank, world int
	text        strings.Builder
	next        int    // the next correlation
	head        string // further members of the document
}

// event appends an event of a category. more has further members of the event, and args the members of its arguments.
func (s *sketch) event(cat, name string, pid, tid int, ts, dur float64, args string) {
	text, _ := json.Marshal(name)
	fmt.Fprintf(&s.text, `{"ph":"X","cat":%q,"name":%s,"pid":%d,"tid":%d,"ts":%.3f,"dur":%.3f,"args":{%s}},`, cat, text, pid, tid, ts, dur, args)
}

func (s *sketch) step(name string, ts, dur float64) {
	s.event("user_annotation", name, 1, 1, ts, dur, "")
}

func (s *sketch) op(name string, ts, dur float64, args string) {
	s.event("cpu_op", name, 1, 1, ts, dur, args)
}

// kernel appends a kernel and its launch.
func (s *sketch) kernel(name string, stream int, ts, dur float64, args string) {
	s.next++
	s.event("cuda_runtime", "cudaLaunchKernel", 1, 1, ts-4, 2, fmt.Sprintf(`"correlation":%d`, s.next))
	s.event("kernel", name, 0, stream, ts, dur, fmt.Sprintf(`"stream":%d,"correlation":%d%s`, stream, s.next, args))
}

// reduce appends a collective of all ranks.
func (s *sketch) reduce(ts, dur float64) {
	s.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 7, ts, dur, fmt.Sprintf(
		`,"Collective name":"allreduce","Process Group Name":"0","Process Group Ranks":"[0, ..., %d]","Group size":%d,"dtype":"BFloat16","In msg nelems":4096,"Out msg nelems":4096`, s.world-1, s.world))
}

// steps appends n steps of one millisecond. fill appends the work of a step that begins at ts.
func (s *sketch) steps(n int, fill func(i int, ts float64)) {
	for i := range n {
		ts := 1000 + float64(i)*1000
		s.step("step[DECODE bs=4]", ts, 900)
		fill(i, ts)
		s.kernel("gemm", 7, ts+500+float64(s.rank), 100, "")
		s.reduce(ts+700, 50)
	}
}

// plain appends ten steps.
func (s *sketch) plain() { s.steps(10, func(int, float64) {}) }

func (s *sketch) write(dir string) error {
	doc := fmt.Sprintf(`{"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":%d,"world_size":%d},%s"traceEvents":[%s]}`,
		s.rank, s.world, s.head, strings.TrimSuffix(s.text.String(), ","))
	return os.WriteFile(filepath.Join(dir, fmt.Sprintf("1700000000.x-TP-%d.trace.json.gz", s.rank)), gzipped(doc), 0o600)
}

// shape is a dimension of captures. Its captures of size n differ from the smaller ones only in this dimension.
type shape struct {
	name  string
	n     int // the small size
	ranks func(n int) int
	fill  func(s *sketch, n int)
}

func two(int) int { return 2 }

// spread returns the time of event i of n in the ten milliseconds of plain.
func spread(i, n int) float64 { return 1000 + 9900*float64(i)/float64(n) }

// shapes are the dimensions of captures.
var shapes = []shape{
	{"events", 5000, two, func(s *sketch, n int) {
		s.steps(10, func(_ int, ts float64) {
			for i := range n / 10 {
				s.op("aten::mm", ts+float64(i)*400/float64(n), 0.01, `"External id":1`)
				s.kernel(fmt.Sprintf("k%d", i%7), 7, ts+5+float64(i)*4000/float64(n), 0.01, "")
			}
		})
	}},
	{"steps", 5000, two, func(s *sketch, n int) { s.steps(n, func(int, float64) {}) }},
	{"steps of other names", 2500, two, func(s *sketch, n int) {
		for i := range n {
			s.step(fmt.Sprintf("step[EXTEND bs=%d toks=%d]", i%100, i), 1000+float64(i)*100, 90)
			s.kernel("gemm", 7, 1000+float64(i)*100+10, 50, "")
			s.reduce(1000+float64(i)*100+70, 10)
		}
	}},
	{"stretches of late steps", 1000, two, func(s *sketch, n int) {
		s.steps(n, func(i int, ts float64) {
			if s.rank == 1 && i/6%2 == 0 || s.rank == 0 && i%29 == 0 {
				s.kernel("more", 7, ts+300, 150, "")
				s.event("kernel", "slow", 0, 7, ts+600, 90+float64(i%5), `"stream":7`)
			}
		})
	}},
	{"steps in steps", 2500, two, func(s *sketch, n int) {
		s.plain()
		for i := range n {
			s.step("step[DECODE bs=4]", 1000+float64(i)*0.1, 9000-float64(i)*0.2)
		}
	}},
	{"ranks", 40, func(n int) int { return n }, func(s *sketch, n int) { s.plain() }},
	{"streams", 5000, two, func(s *sketch, n int) {
		s.plain()
		for i := range n {
			s.kernel("k", 100+i, spread(i, n), 5, "")
		}
	}},
	{"threads", 5000, two, func(s *sketch, n int) {
		s.plain()
		for i := range n {
			s.event("cpu_op", "aten::mm", 1, 100+i, spread(i, n), 5, "")
			s.event("cuda_runtime", "cudaLaunchKernel", 1, 100+i, spread(i, n), 2, fmt.Sprintf(`"correlation":%d`, 1e6+i))
			s.event("kernel", "k", 0, 7, spread(i, n)+10, 1, fmt.Sprintf(`"stream":7,"correlation":%d`, 1e6+i))
		}
	}},
	{"processes", 5000, two, func(s *sketch, n int) {
		s.plain()
		for i := range n {
			s.event("cpu_op", "aten::mm", 100+i, 100+i, spread(i, n), 5, "")
			fmt.Fprintf(&s.text, `{"ph":"M","name":"process_name","pid":%d,"tid":0,"ts":0,"args":{"name":"p%d"}},`, 100+i, i)
		}
	}},
	{"names", 5000, two, func(s *sketch, n int) {
		s.plain()
		for i := range n {
			s.kernel(fmt.Sprintf("void cutlass::Kernel2<cutlass_%d_gemm_%dx%d>", i+i%2*s.rank*n, i%7, i%13), 7, spread(i, n), 1, "")
			s.op(fmt.Sprintf("model.layers.%d.mlp", i), spread(i, n), 1, "")
		}
	}},
	{"length of names", 20_000, two, func(s *sketch, n int) {
		s.plain()
		for i, name := range []string{strings.Repeat("A", n), strings.Repeat("a<", n/2), "void " + strings.Repeat("a::b<c, ", n/8) + strings.Repeat(">", n/8), strings.Repeat("(", n), strings.Repeat("_1", n/2), strings.Repeat("x ", n/2), strings.Repeat("9", n), strings.Repeat("é", n/2)} {
			for k := range 3 {
				s.kernel(fmt.Sprint(name, k), 7, spread(8*k+i, 30), 90, "")
				s.op(fmt.Sprint(name, k), spread(8*k+i, 30), 5, "")
			}
		}
		s.step("step["+strings.Repeat("EXTEND bs=1 ", n/12)+"]", 11_000, 90)
		s.step("execute_context_"+strings.Repeat("1(", n/2), 11_100, 90)
	}},
	{"elements of an argument", 20_000, two, func(s *sketch, n int) {
		s.plain()
		list := strings.TrimSuffix(strings.Repeat("[1],", n), ",")
		s.op("aten::mm", 1010, 100, fmt.Sprintf(`"External id":1,"Input Dims":[%s],"Input Strides":[%s],"Input type":[%s]`, list, list, strings.TrimSuffix(strings.Repeat(`"x",`, n), ",")))
		s.kernel("ncclDevKernel_AllGather", 7, 1100, 10, fmt.Sprintf(`,"Collective name":"allgather","Process Group Name":"1","Process Group Ranks":"[%s]","Group size":%d,"In split size":"[%[1]s]"`, strings.TrimSuffix(strings.Repeat("1, ", n), ", "), n))
	}},
	{"arguments", 20_000, two, func(s *sketch, n int) {
		s.plain()
		var args strings.Builder
		for i := range n {
			fmt.Fprintf(&args, `,"a%d":%d`, i, i)
		}
		s.op("aten::mm", 1010, 100, args.String()[1:])
		s.kernel("k", 7, 1020, 10, args.String())
	}},
	{"depth", 10_000, two, func(s *sketch, n int) {
		s.plain()
		for i := range n {
			s.op(fmt.Sprintf("f%d", i%50), 1000+float64(i)*0.01, 8000-float64(i)*0.02, "")
		}
		s.kernel("k", 7, 5100, 10, "")
	}},
	{"depth of Python", 10_000, two, func(s *sketch, n int) {
		s.plain()
		for i := range n {
			s.event("python_function", fmt.Sprintf("a.py(%d): f%d", i, i), 1, 1, 1000+float64(i)*0.01, 8000-float64(i)*0.02, fmt.Sprintf(`"Python id":%d,"Python parent id":%d`, i+1, i))
		}
		for i := range 20 {
			s.kernel("k", 7, 5000+10*float64(i), 5, "")
		}
	}},
	{"kernels at one time", 2500, two, func(s *sketch, n int) {
		s.plain()
		for i := range n {
			s.kernel("over", 7, 1100+float64(i)*0.01, 5000, "")
			s.kernel("same", 8, 1100, 0, "")
		}
	}},
	{"ops at one time", 10_000, two, func(s *sketch, n int) {
		s.plain()
		for i := range n {
			s.op("over", 1000+float64(i)*0.01, 5000, "")
			s.op("same", 1000, 0, "")
		}
	}},
	{"equal correlations", 10_000, two, func(s *sketch, n int) {
		s.plain()
		for i := range n {
			s.event("kernel", "k", 0, 7, spread(i, n), 0.1, `"stream":7,"correlation":1,"External id":1`)
			s.event("cuda_runtime", "cudaLaunchKernel", 1, 1, spread(i, n), 0.1, `"correlation":1,"External id":1`)
			s.op("aten::mm", spread(i, n), 0.1, `"External id":1`)
		}
	}},
	{"kernels of a graph", 10_000, two, func(s *sketch, n int) {
		s.plain()
		for g := range 4 {
			s.next++
			s.event("cuda_runtime", "cudaGraphLaunch", 1, 1, 1100+float64(g)*2000, 5, fmt.Sprintf(`"correlation":%d`, s.next))
			for i := range n / 4 {
				s.event("kernel", fmt.Sprintf("k%d", i%9), 0, 7, 1110+float64(g)*2000+float64(i)*0.1, 0.05, fmt.Sprintf(`"stream":7,"correlation":%d,"graph id":1,"graph node id":%d`, s.next, i))
			}
		}
	}},
	{"arrows", 10_000, two, func(s *sketch, n int) {
		s.plain()
		for i := range n {
			fmt.Fprintf(&s.text, `{"ph":"s","id":%d,"pid":1,"tid":1,"ts":%.3f,"cat":"ac2g","name":"ac2g"},`, i%100, spread(i, n))
			fmt.Fprintf(&s.text, `{"ph":"f","id":%d,"pid":0,"tid":7,"ts":%.3f,"cat":"ac2g","name":"ac2g","bp":"e"},`, (i+1)%100, spread(i, n))
		}
	}},
	{"waits of streams", 5000, two, func(s *sketch, n int) {
		s.plain()
		for i := range n {
			s.event("cuda_sync", "Stream Wait Event", 0, 7+i%3, spread(i, n), 0, fmt.Sprintf(`"stream":%d,"wait_on_stream":%d,"wait_on_cuda_event_record_corr_id":%d,"correlation":%d,"wait_on_cuda_event_id":%d`, 7+i%3, i, 1e6+i, 1e6+i, i%3))
			s.event("cuda_runtime", []string{"cudaEventRecord", "cudaStreamWaitEvent", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize"}[i%5], 1, 1, spread(i, n), 0.5, fmt.Sprintf(`"correlation":%d`, 1e6+i))
		}
	}},
	{"points of memory", 10_000, two, func(s *sketch, n int) {
		s.plain()
		for i := range n {
			fmt.Fprintf(&s.text, `{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":%.3f,"s":"t","args":{"Total Allocated":%d,"Bytes":64,"Addr":%d,"Device Id":%d,"Device Type":1,"Total Reserved":1000000}},`, spread(i, n), i, i, i%100)
			fmt.Fprintf(&s.text, `{"ph":"C","name":"c%d","pid":1,"tid":1,"ts":%.3f,"args":{"v":%d}},`, i, spread(i, n), i)
		}
	}},
	{"open begins", 10_000, two, func(s *sketch, n int) {
		s.plain()
		for i := range n {
			fmt.Fprintf(&s.text, `{"ph":"B","cat":"cpu_op","name":"x","pid":1,"tid":1,"ts":%.3f},`, spread(i, n))
			fmt.Fprintf(&s.text, `{"ph":"b","cat":"a","id":"x","name":"x","pid":1,"tid":1,"ts":%.3f},`, spread(i, n))
		}
	}},
	{"collectives", 2500, two, func(s *sketch, n int) {
		s.plain()
		for i := range n {
			s.reduce(spread(i, n), 0.5)
		}
	}},
	{"process groups", 2500, two, func(s *sketch, n int) {
		s.plain()
		var groups []string
		for i := range n {
			s.kernel("ncclDevKernel_AllReduce", 7, spread(i, n), 0.5, fmt.Sprintf(`,"Collective name":"allreduce","Process Group Name":"g%d","Process Group Ranks":"[0, 1]","Group size":2`, i))
			groups = append(groups, fmt.Sprintf(`{"pg_name":"g%d","pg_desc":"x%[1]d","pg_size":2,"ranks":[0,1]}`, i))
		}
		s.head = fmt.Sprintf(`"pg_config":[%s],`, strings.Join(groups, ","))
	}},
	{"collectives of hosts", 2500, two, func(s *sketch, n int) {
		s.plain()
		for i := range n {
			s.event("user_annotation", "gloo:broadcast", 1, 9, spread(i, n), 0.5+float64(i%3), "")
		}
	}},
	{"collectives of hosts in ranks", 16, func(n int) int { return n }, func(s *sketch, n int) {
		s.plain()
		for i := range 200 {
			s.event("user_annotation", "gloo:broadcast", 1, 9, spread(i, 200), 0.5+float64((i+s.rank)%3), "")
		}
	}},
}
