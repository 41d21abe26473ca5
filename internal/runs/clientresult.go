package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/stepscope/stepscope/bench"
)

// clientResult converts a result of SGLang's or vLLM's client, which share most keys.
func clientResult(o object, tool string) (*Foreign, error) {
	seconds, ok := o.number("duration")
	if !ok || seconds <= 0 || seconds > 1e8 {
		return nil, errors.New("duration is not a time in s")
	}
	f := &Foreign{Tool: tool, Run: bench.Run{
		Tool: tool, Backend: o.text("backend", "endpoint_type"), Model: o.text("model_id", "model"), Dataset: o.text("dataset_name"), Tag: o.text("tag", "label"),
		Duration: int64(seconds * 1e9), MaxConcurrency: o.count("max_concurrency"), Traced: o.text("request_rate") == "trace", Stamps: bench.UserStamps,
	}}
	f.Run.Rate, _ = o.number("request_rate")
	if json.Unmarshal(o["server_info"], &f.Run.ServerInfo) == nil {
		model, _ := f.Run.ServerInfo["model_path"].(string)
		f.Run.Model = firstText(f.Run.Model, model)
	}
	for _, l := range []struct{ metric, key string }{{"ttft", "ttft"}, {"tpot", "tpot"}, {"itl", "itl"}, {"e2e", "e2e_latency"}, {"e2e", "e2el"}} {
		for _, figure := range []string{"mean", "median", "p99"} {
			f.add(o, figure+"_"+l.key+"_ms", l.metric, figure, bench.NS, 1e6)
		}
	}
	f.add(o, "output_throughput", "output_throughput", "mean", bench.PerSecond, 1)
	f.add(o, "request_throughput", "request_throughput", "mean", bench.PerSecond, 1)
	done := o.count("completed")
	all := done + o.count("failed")
	if n := o.count("num_prompts"); o["failed"] == nil {
		all = max(all, n)
	}
	if err := f.lists(o); err != nil {
		return nil, err
	}
	all = max(all, len(f.Records))
	f.setRequests(all, all-done)
	return f, nil
}

// lists converts the lists with one value per request (--output-details, --save-detailed).
func (f *Foreign) lists(o object) error {
	var ttfts []float64
	var itls [][]float64
	var inputs, outputs []int
	var failures []string
	var starts []float64
	for _, l := range []struct {
		key  string
		into any
	}{{"ttfts", &ttfts}, {"itls", &itls}, {"input_lens", &inputs}, {"output_lens", &outputs}, {"errors", &failures}, {"start_times", &starts}} {
		if o[l.key] == nil {
			continue
		}
		if err := json.Unmarshal(o[l.key], l.into); err != nil {
			return fmt.Errorf("%s is not a list of values: %w", l.key, err)
		}
	}
	if len(ttfts) == 0 {
		return nil
	}
	n := len(ttfts)
	for key, has := range map[string]int{"itls": len(itls), "output_lens": len(outputs), "input_lens": len(inputs)} {
		if has != n {
			return fmt.Errorf("the lists do not fit: ttfts has %d values, %s %d", n, key, has)
		}
	}
	f.Timed = len(starts) == n
	begin := least(starts)
	for i := range n {
		failure := ""
		if i < len(failures) {
			failure = failures[i]
		}
		at := 0.0
		if f.Timed {
			at = starts[i] - begin
		}
		r := newRecord(i, at*1e9, inputs[i], outputs[i])
		if failure != "" || ttfts[i] <= 0 {
			fail(&r, failure)
		} else {
			arrive(&r, ttfts[i], itls[i])
		}
		f.Records = append(f.Records, r)
	}
	f.Notes = append(f.Notes, "E2E ends with the last token, since the file has no end of the replies")
	if !f.Timed {
		f.Notes = append(f.Notes, "the file has no send times")
	}
	return nil
}

func least(of []float64) float64 {
	low := math.Inf(1)
	for _, v := range of {
		low = min(low, v)
	}
	return low
}
