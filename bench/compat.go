package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Figure is one number, under the name that another tool gives it.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Tools are the tools supported by Compat.
var Tools = []string{"sglang", "vllm", "aiperf"}

// Compat returns the figures that another tool would have printed for the same events, with that tool's names and
// units. The figures can therefore be compared with old results of that tool. They cover the whole run, because no
// other tool excludes profiling windows. docs/metrics.md gives the tools' definitions.
func Compat(tool string, records []Record, run *Run, o Options) ([]Figure, error) {
	if !slices.Contains(Tools, tool) {
		return nil, fmt.Errorf("unknown tool %q; known tools: %s", tool, strings.Join(Tools, ", "))
	}
	c := compat{run: run, seconds: float64(run.Duration) / 1e9}
	for i := range records {
		r := &records[i]
		why := r.failure(run.Embedding())
		if why == "" || why == Empty && (r.Status == 200 && tool == "sglang" || len(r.Blank) > 0 && tool == "vllm") {
			c.ok = append(c.ok, r)
		}
	}
	c.failed = len(records) - len(c.ok)
	switch tool {
	case "sglang":
		c.sglang()
	case "vllm":
		c.vllm(o.SLO)
	case "aiperf":
		c.aiperf()
	}
	return c.out, nil
}

type compat struct {
	run     *Run
	ok      []*Record
	failed  int
	seconds float64
	out     []Figure
}

// put adds a figure. It skips values that are not finite, such as the rates of a run of zero length and the latencies
// of an empty sample.
func (c *compat) put(name string, v float64) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		c.out = append(c.out, Figure{name, v})
	}
}

func (c *compat) totals(f func(*Record) int) (n int) {
	for _, r := range c.ok {
		n += f(r)
	}
	return n
}

func outputLen(r *Record) int { return r.OutputLen }

// orZero returns the stats of a sample that the other tool passes to numpy as «x or 0»: an empty sample counts as a
// single 0.
func orZero(s sample) Stats {
	if len(s) == 0 {
		s = sample{{0, 1}}
	}
	return s.stats()
}

func each(v []float64) sample {
	s := make(sample, len(v))
	for i := range v {
		s[i] = weighted{v[i], 1}
	}
	return s
}

// sglang adds the figures of SGLang's client. A reply without text is a success with a TTFT of 0. Rounds of a
// conversation count no input tokens. An empty list counts as a single 0, except that an empty E2E is omitted, as in
// SGLang's client.
func (c *compat) sglang() {
	var e2e, ttft, tpot []float64
	input, text, vision := 0, 0, 0
	turns := slices.ContainsFunc(c.ok, func(r *Record) bool { return r.Turn > 0 })
	for _, r := range c.ok {
		first, _ := since(r.First, r.Sent)
		if !slices.ContainsFunc(r.Chunks, func(c Chunk) bool { return c.Text }) {
			first = 0
		}
		last, _ := r.E2E()
		e2e, ttft = append(e2e, float64(last)), append(ttft, float64(first))
		if r.OutputLen > 1 {
			tpot = append(tpot, float64(last-first)/float64(r.OutputLen-1))
		}
		if !turns {
			input += r.inputLen()
			vision += r.VisionLen
		}
	}
	text = input - vision
	var s Summary
	s.AcceptLength = c.run.AcceptLength()
	s.gaps(c.ok, c.ok, c.run, nil)
	output, retokenized := c.totals(outputLen), c.totals(func(r *Record) int { return max(r.Retokenized, 0) })
	peak, most := buckets(c.ok, c.run.events(), nil)
	c.put("duration", c.seconds)
	c.put("completed", float64(len(c.ok)))
	c.put("total_input_tokens", float64(input))
	c.put("total_input_text_tokens", float64(text))
	c.put("total_input_vision_tokens", float64(vision))
	c.put("total_output_tokens", float64(output))
	c.put("total_output_tokens_retokenized", float64(retokenized))
	c.put("request_throughput", float64(len(c.ok))/c.seconds)
	c.put("input_throughput", float64(input)/c.seconds)
	c.put("output_throughput", float64(output)/c.seconds)
	c.put("total_throughput", float64(input+output)/c.seconds)
	all := each(e2e).stats()
	if all.N == 0 {
		nan := math.NaN()
		all.Mean, all.Median, all.Std, all.P90, all.P95, all.P99 = nan, nan, nan, nan, nan, nan
	}
	c.ms("e2e_latency", all)
	c.ms("ttft", orZero(each(ttft)))
	c.ms("tpot", orZero(each(tpot)))
	c.ms("itl", s.ITL) // the fields of an empty sample are 0 already
	c.put("max_itl_ms", s.ITL.Max/1e6)
	c.put("concurrency", all.Mean*float64(all.N)/1e9/c.seconds)
	if s.AcceptLength > 0 {
		c.put("accept_length", s.AcceptLength)
	}
	c.put("max_output_tokens_per_s", peak)
	c.put("max_concurrent_requests", float64(most))
}

func (c *compat) ms(name string, s Stats) {
	for _, f := range s.six() {
		c.put(f.Name+"_"+name+"_ms", f.Value/1e6)
	}
}

// six returns the six figures that SGLang's client prints for a latency, in the order in which it prints them.
func (s Stats) six() []Figure {
	return []Figure{{"mean", s.Mean}, {"median", s.Median}, {"std", s.Std}, {"p90", s.P90}, {"p95", s.P95}, {"p99", s.P99}}
}

// vllm adds the figures of vllm bench serve. Every event with a choice counts as a token, even if the event is empty or
// gives only a role or a finish reason. A request ends with the last of them.
func (c *compat) vllm(slo SLO) {
	var e2e, ttft, tpot []float64
	var itl sample
	good := 0
	for i, r := range c.ok {
		r = r.choices()
		c.ok[i] = r
		first, _ := since(r.First, r.Sent)
		last, _ := r.E2E()
		mean := 0.0
		if r.OutputLen > 1 {
			mean = float64(last-first) / float64(r.OutputLen-1)
			tpot = append(tpot, mean)
		}
		ttft, e2e = append(ttft, float64(first)), append(e2e, float64(last))
		r.gaps(func(_, _ *Chunk, gap int64, _ int) { itl.add(float64(gap), 1) })
		latency := map[string]float64{"ttft": float64(first), "tpot": mean, "e2e": float64(last)}
		if !slices.ContainsFunc(slo, func(o Objective) bool { return latency[o.Key] > float64(o.Limit) }) {
			good++
		}
	}
	input, output := c.totals(func(r *Record) int { return r.PromptLen }), c.totals(outputLen)
	peak, most := buckets(c.ok, otherEvents, nil)
	c.put("duration", c.seconds)
	c.put("completed", float64(len(c.ok)))
	c.put("failed", float64(c.failed))
	c.put("total_input_tokens", float64(input))
	c.put("total_output_tokens", float64(output))
	c.put("request_throughput", float64(len(c.ok))/c.seconds)
	known := func(o Objective) bool { return o.Key == "ttft" || o.Key == "tpot" || o.Key == "e2e" }
	if len(slo) > 0 && !slices.ContainsFunc(slo, func(o Objective) bool { return !known(o) }) {
		c.put("request_goodput", float64(good)/c.seconds)
	}
	c.put("output_throughput", float64(output)/c.seconds)
	c.put("total_token_throughput", float64(input+output)/c.seconds)
	c.put("max_output_tokens_per_s", peak)
	c.put("max_concurrent_requests", float64(most))
	for _, f := range []struct {
		name string
		of   Stats
	}{{"ttft", orZero(each(ttft))}, {"tpot", orZero(each(tpot))}, {"itl", orZero(itl)}, {"e2el", orZero(each(e2e))}} {
		c.put("mean_"+f.name+"_ms", f.of.Mean/1e6)
		c.put("median_"+f.name+"_ms", f.of.Median/1e6)
		c.put("std_"+f.name+"_ms", f.of.Std/1e6)
		c.put("p99_"+f.name+"_ms", f.of.P99/1e6)
	}
}

// choices returns the record as vLLM's client sees it: each event with a choice is a chunk with text, and the last one
// ends the request. Records of older versions have no Blank events, except that FirstAny may be one.
func (r *Record) choices() *Record {
	at := slices.Clone(r.Blank)
	for _, c := range r.Chunks {
		at = append(at, c.At)
	}
	if r.Blank == nil && r.FirstAny != Never && !slices.Contains(at, r.FirstAny) {
		at = append(at, r.FirstAny)
	}
	slices.Sort(at)
	v := *r
	v.Chunks = nil
	for _, t := range at {
		v.Chunks = append(v.Chunks, Chunk{At: t, Tokens: -1, Text: true})
	}
	if len(at) > 0 {
		v.First, v.Done = at[0], at[len(at)-1]
	}
	return &v
}

// aiperf adds the figures of AIPerf. inter_token_latency has one value per request, (latency − TTFT)/(n − 1), where the
// request ends with its last content. inter_chunk_latency holds the gaps between events. Rates divide by the duration of
// the run, benchmark_duration is the time from the first send to the last content.
func (c *compat) aiperf() {
	var latency, ttft, ttfo, second, itl, perUser, in, out []float64
	var icl sample
	from, to := int64(math.MaxInt64), int64(0)
	for _, r := range c.ok {
		end := r.Last
		if end == Never {
			end = r.Done
		}
		from, to = min(from, r.Sent), max(to, end)
		last, _ := since(end, r.Sent)
		latency = append(latency, float64(last))
		in, out = append(in, float64(r.PromptLen)), append(out, float64(r.OutputLen))
		first, ok := since(r.First, r.Sent)
		if ok {
			ttft = append(ttft, float64(first))
		}
		if v, ok := since(r.Visible, r.Sent); ok {
			ttfo = append(ttfo, float64(v))
		}
		if ok && r.OutputLen > 1 {
			v := float64(last-first) / float64(r.OutputLen-1)
			itl = append(itl, v)
			if v > 0 {
				perUser = append(perUser, 1e9/v)
			}
		}
		seen := false
		r.gaps(func(_, _ *Chunk, gap int64, _ int) {
			if !seen {
				second, seen = append(second, float64(gap)), true
			}
			icl.add(float64(gap), 1)
		})
	}
	for _, f := range []struct {
		name string
		of   sample
		unit float64
	}{
		{"time_to_first_token (ms)", each(ttft), 1e6}, {"time_to_second_token (ms)", each(second), 1e6},
		{"time_to_first_output_token (ms)", each(ttfo), 1e6}, {"request_latency (ms)", each(latency), 1e6},
		{"inter_token_latency (ms)", each(itl), 1e6}, {"inter_chunk_latency (ms)", icl, 1e6},
		{"output_token_throughput_per_user (tokens/sec/user)", each(perUser), 1},
		{"output_sequence_length (tokens)", each(out), 1}, {"input_sequence_length (tokens)", each(in), 1},
	} {
		if len(f.of) > 0 {
			c.spread(f.name, f.of.stats(), f.unit)
		}
	}
	c.put("output_token_throughput (tokens/sec)", float64(c.totals(outputLen))/c.seconds)
	c.put("request_throughput (requests/sec)", float64(len(c.ok))/c.seconds)
	c.put("request_count (requests)", float64(len(c.ok)))
	if c.failed > 0 {
		c.put("error_request_count (requests)", float64(c.failed))
	}
	if len(c.ok) > 0 {
		c.put("benchmark_duration (sec)", float64(to-from)/1e9)
	}
}

func (c *compat) spread(name string, s Stats, unit float64) {
	for _, f := range []Figure{{"avg", s.Mean}, {"min", s.Min}, {"max", s.Max}, {"p99", s.P99}, {"p95", s.P95}, {"p90", s.P90}, {"p50", s.Median}, {"std", s.Std}} {
		c.put(name+" "+f.Name, f.Value/unit)
	}
}
