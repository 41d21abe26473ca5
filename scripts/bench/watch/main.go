// Command watch measures the CPU time and the memory of stepscope watch while it monitors a server that has many ranks.
//
// See scripts/bench/watch.sh.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"
)

// Approximate numbers of metric lines that SGLang 0.5.23 writes per rank.
const (
	gauges   = 60
	stages   = 8 * 3 // lines of scheduler_stage_seconds_total
	requests = 60    // lines of request histograms
)

func page(ranks int, at float64) []byte {
	var b bytes.Buffer
	for dp := range ranks {
		labels := fmt.Sprintf(`model_name="m",engine_type="unified",tp_rank="0",pp_rank="0",moe_ep_rank="0",dp_rank="%d"`, dp)
		fmt.Fprintf(&b, "sglang:num_running_reqs{%s} %d\nsglang:num_queue_reqs{%[1]s} 0.0\nsglang:gen_throughput{%[1]s} 2000.5\nsglang:token_usage{%[1]s} 0.25\n", labels, 14+rand.IntN(5))
		fmt.Fprintf(&b, "sglang:realtime_tokens_total{%s,mode=\"decode\"} %.1f\nsglang:cuda_graph_passes_total{%[1]s,mode=\"decode_cuda_graph\"} %.1f\n", labels, at*2000, at*120)
		for i := range gauges {
			fmt.Fprintf(&b, "sglang:some_other_gauge_%d{%s} %d.0\n", i, labels, i)
		}
		for i := range stages {
			fmt.Fprintf(&b, "sglang:scheduler_stage_seconds_total{%s,category=\"run_batch\",forward_overlap=\"%d\"} %g\n", labels, i, at/stages)
		}
	}
	for i := range requests {
		fmt.Fprintf(&b, "sglang:inter_token_latency_seconds_bucket{model_name=\"m\",le=\"%g\"} %.1f\n", float64(i+1)/1000, at*1000)
	}
	fmt.Fprintf(&b, "sglang:inter_token_latency_seconds_sum{model_name=\"m\"} %g\nsglang:inter_token_latency_seconds_count{model_name=\"m\"} %g\n", at, at*1000)
	return b.Bytes()
}

func main() {
	program := flag.String("program", "bin/stepscope", "stepscope")
	ranks := flag.Int("ranks", 64, "data-parallel ranks")
	lasts := flag.Duration("for", time.Minute, "how long")
	flag.Parse()
	began := time.Now()
	var asked, bytes atomic.Int64
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		text := page(*ranks, time.Since(began).Seconds())
		asked.Add(1)
		bytes.Add(int64(len(text)))
		w.Write(text)
	}))
	defer hs.Close()
	cmd := exec.Command(*program, "watch", "--url", hs.URL, "--no-store", "--quiet", "--for", lasts.String())
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		log.Fatal(err)
	}
	took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	rss := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss // KiB
	fmt.Printf("%d ranks, %d samples of %d kB: %.2f %% of a core, %.1f MB at most\n", *ranks, asked.Load(), bytes.Load()/asked.Load()/1000, 100*took.Seconds()/lasts.Seconds(), float64(rss)*1024/1e6)
}
