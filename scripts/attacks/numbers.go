package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// huge are numbers that must size neither memory nor a loop.
var huge = []string{"2000000000", "9223372036854775807", "-9223372036854775808", "1e300", "65536"}

// numbers tries huge numbers in every place of traces, job files and replies of servers.
func numbers(a *attack) error {
	dir, done, err := a.temp()
	if err != nil {
		return err
	}
	defer done()
	if err := a.traceNumbers(dir); err != nil {
		return err
	}
	if err := a.jobNumbers(dir); err != nil {
		return err
	}
	return a.serverNumbers(dir)
}

// traceNumbers replaces each number of a small trace by huge numbers.
func (a *attack) traceNumbers(dir string) error {
	s := &sketch{rank: 0, world: 2, head: `"baseTimeNanoseconds":1700000000000000000,"deviceProperties":[{"id":0,"numSms":132,"totalGlobalMem":80000000000}],"pg_config":[{"pg_name":"0","pg_size":2,"ranks":[0,1]}],`}
	s.steps(6, func(i int, ts float64) {
		s.step(fmt.Sprintf("ProfilerStep#%d", i+7), ts+1, 800)
		s.event("python_function", "a.py(3): f", 1, 1, ts+2, 600, `"Python id":1,"Python parent id":2`)
		s.op("aten::mm", ts+3, 20, `"External id":4,"Input Dims":[[5,6]],"Input Strides":[[7,8]],"Sequence number":9,"Ev Idx":10`)
		s.event("cuda_sync", "Stream Wait Event", 0, 7, ts+4, 0, `"stream":11,"wait_on_stream":12,"wait_on_cuda_event_record_corr_id":13,"wait_on_cuda_event_id":14`)
		s.event("kernel", "g", 0, 7, ts+5, 1, `"stream":7,"device":15,"context":16,"correlation":17,"graph id":18,"graph node id":19,"grid":[20,21,22],"block":[23,24,25],"registers per thread":26,"shared memory":27,"est. achieved occupancy %":28`)
		s.text.WriteString(`{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":1003,"args":{"Total Allocated":29,"Bytes":30,"Device Id":31,"Device Type":1,"Total Reserved":32}},`)
	})
	if err := s.write(dir); err != nil {
		return err
	}
	name := filepath.Join(dir, "1700000000.x-TP-0.trace.json.gz")
	all, err := texts(dir)
	if err != nil {
		return err
	}
	text := string(all[filepath.Base(name)])
	in := filepath.Join(dir, "in")
	os.Mkdir(in, 0o700)
	seen := map[string]bool{}
	for at, k := 0, 0; at < len(text); at++ {
		end := at
		for end < len(text) && strings.IndexByte("0123456789.", text[end]) >= 0 {
			end++
		}
		if end == at {
			continue
		}
		// Each kind of number, by the text before it, is tried once.
		key := text[max(0, at-12):at]
		if before := strings.LastIndexByte(text[:at], '"'); before >= 0 && at-before < 40 {
			key = text[max(0, before-12):at]
		}
		if from := at; !seen[key] {
			seen[key] = true
			for i, number := range huge {
				if k++; *short && k%20 != 0 || !*short && (k+i)%3 != 0 {
					continue
				}
				changed := text[:from] + number + text[end:]
				if strings.HasSuffix(key, "ProfilerStep#") || strings.Contains(key, "rank") {
					changed = strings.ReplaceAll(text, text[max(0, from-6):end], text[max(0, from-6):from]+number)
				}
				if err := os.WriteFile(filepath.Join(in, filepath.Base(name)), gzipped(changed), 0o600); err != nil {
					return err
				}
				a.read(dir, with(readers[k%len(readers)], in))
			}
		}
		at = end
	}
	return nil
}

// jobNumbers tries huge numbers in a job file.
func (a *attack) jobNumbers(dir string) error {
	for _, number := range huge {
		for _, key := range []string{"gpus_per_node", "agg_nodes", "agg_workers", "tp-size", "isl", "concurrency", "stop_step"} {
			value := func(k, usual string) string {
				if k == key {
					return number
				}
				return usual
			}
			text := fmt.Sprintf("name: p\nmodel: {path: builtin:llama-tiny, precision: bf16}\n"+
				"resources: {gpu_type: cpu, gpus_per_node: %s, agg_nodes: %s, agg_workers: %s}\n"+
				"backend: {type: stepscope, sglang_config: {aggregated: {tp-size: %s}}}\n"+
				"profiling: {type: torch, decode: {isl: %s, osl: 8, concurrency: %s, start_step: 0, stop_step: %s}}\n",
				value("gpus_per_node", "4"), value("agg_nodes", "1"), value("agg_workers", "1"), value("tp-size", "2"),
				value("isl", "16"), value("concurrency", "2"), value("stop_step", "5"))
			path := filepath.Join(dir, "job.yaml")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				return err
			}
			for _, args := range [][]string{{"job", "validate", path}, {"job", "apply", path, "--dry-run"}} {
				a.read(dir, args)
			}
		}
	}
	return nil
}

// serverNumbers runs clients against servers whose replies have huge numbers or very many ranks.
func (a *attack) serverNumbers(dir string) error {
	loads, metrics := make([]map[string]int, 600_000), &strings.Builder{}
	for i := range loads {
		loads[i] = map[string]int{"dp_rank": len(loads) - i, "num_reqs": 1, "num_waiting_reqs": 0}
	}
	for i := range 300_000 {
		fmt.Fprintf(metrics, "sglang:num_running_reqs{dp_rank=\"%d\"} 1\nsglang:e2e_request_latency_seconds_bucket{le=\"%d\"} 1\n", i, 300_000-i)
	}
	many, _ := json.Marshal(loads)
	info := `{"model_path":"m","version":"0.5.11","tp_size":%[1]s,"dp_size":%[1]s,"pp_size":%[1]s,"internal_states":[{}]}`
	for name, of := range map[string]map[string]string{
		"4096 x 4096 x 4096 ranks": {"/server_info": fmt.Sprintf(info, "4096")},
		"2e9 x 2e9 x 2e9 ranks":    {"/server_info": fmt.Sprintf(info, "2000000000")},
		"many loads":               {"/server_info": fmt.Sprintf(info, "1"), "/v1/loads": `{"loads":` + string(many) + `}`, "/get_load": string(many)},
		"many metrics":             {"/server_info": fmt.Sprintf(info, "1"), "/metrics": metrics.String()},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		go serve(l, func(c net.Conn, req *http.Request) {
			path := req.URL.Path
			body, ok := of[path]
			switch {
			case ok:
				reply("200 OK", body)(c, path)
			case strings.HasPrefix(path, "/health"):
				reply("200 OK", "{}")(c, path)
			default:
				reply("404 Not Found", "{}")(c, path)
			}
		})
		url := "http://" + l.Addr().String()
		for _, args := range [][]string{
			{"watch", "--url", url, "--for", "3s", "--run-dir", dir},
			{"profile", "--url", url, "--num-steps", "2", "--wait", "2s", "-o", filepath.Join(dir, "traces")},
		} {
			a.try()
			r, err := run(5*time.Second, dir, args...)
			switch {
			case err != nil:
				a.fail("%s of a server with %s: %v", args[0], name, err)
			case r.interrupted > wide(time.Second):
				a.fail("%s of a server with %s: ends %v after an interrupt", args[0], name, r.interrupted)
			}
		}
		l.Close()
	}
	return nil
}
