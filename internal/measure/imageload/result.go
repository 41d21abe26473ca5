package imageload

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
)

// Metrics holds the figures of a load, with SGLang's names and order. Times are in seconds and cover successful
// requests only.
type Metrics struct {
	Duration         float64 `json:"duration"`
	Completed        int     `json:"completed_requests"`
	CompletedOutputs int     `json:"completed_outputs"`
	Failed           int     `json:"failed_requests"`
	Throughput       float64 `json:"throughput_qps"`
	OutputThroughput float64 `json:"output_throughput_ops"`
	Mean             float64 `json:"latency_mean"`
	Median           float64 `json:"latency_median"`
	P50              float64 `json:"latency_p50"`
	P90              float64 `json:"latency_p90"`
	P95              float64 `json:"latency_p95"`
	P99              float64 `json:"latency_p99"`
	OutputsPerPrompt int     `json:"num_outputs_per_prompt"`
	PeakMax          float64 `json:"peak_memory_mb_max"`
	PeakMean         float64 `json:"peak_memory_mb_mean"`
	PeakMedian       float64 `json:"peak_memory_mb_median"`

	// Attainment is set only with --slo.
	Attainment *float64 `json:"slo_attainment_rate,omitempty"`
	Met        *int     `json:"slo_met_success,omitempty"`
	Scale      *float64 `json:"slo_scale,omitempty"`
}

func (o *Options) metrics(all []request, outcomes []outcome, took time.Duration) Metrics {
	m := Metrics{Duration: took.Seconds(), OutputsPerPrompt: o.Outputs}
	var latencies, peaks []float64
	met := 0
	for i, out := range outcomes {
		if out.failure != "" {
			m.Failed++
			continue
		}
		m.Completed++
		m.CompletedOutputs += len(out.Images)
		latencies = append(latencies, out.latency.Seconds())
		if out.PeakMB > 0 {
			peaks = append(peaks, out.PeakMB)
		}
		if ms(out.latency) <= all[i].slo {
			met++
		}
	}
	m.Throughput, m.OutputThroughput = float64(m.Completed)/m.Duration, float64(m.CompletedOutputs)/m.Duration
	if len(latencies) > 0 {
		slices.Sort(latencies)
		at := func(p float64) float64 { return metric.Quantile(latencies, p) }
		m.Mean, m.Median, m.P50, m.P90, m.P95, m.P99 = metric.Mean(latencies), at(0.5), at(0.5), at(0.9), at(0.95), at(0.99)
	}
	if len(peaks) > 0 {
		m.PeakMax, m.PeakMean, m.PeakMedian = slices.Max(peaks), metric.Mean(peaks), metric.Median(peaks)
	}
	if o.SLO { // all requests have an objective
		rate := metric.Share(float64(met), float64(len(all)))
		m.Attainment, m.Met, m.Scale = &rate, &met, &o.SLOScale
	}
	return m
}

// Print prints the result in the format of SGLang's benchmark.
func (r *Result) Print(w io.Writer) error {
	var b strings.Builder
	banner := " Serving Benchmark Result "
	left := (60 - len(banner)) / 2
	fmt.Fprintf(&b, "\n%s%s%s\n", strings.Repeat("=", left), banner, strings.Repeat("=", 60-len(banner)-left))
	text := func(name, v string) { fmt.Fprintf(&b, "%-45s %-30s\n", name, v) }
	number := func(name string, v float64) { text(name, strconv.FormatFloat(v, 'f', 2, 64)) }
	divide := func(n int) { b.WriteString(strings.Repeat("-", n) + "\n") }

	text("Task:", r.Task)
	text("Model:", r.Model)
	text("Dataset:", r.Dataset)
	divide(50)
	number("Benchmark duration (s):", r.Duration)
	text("Request rate:", metric.PythonFloat(r.Rate))
	concurrency := "not set"
	if r.Concurrency > 0 {
		concurrency = strconv.Itoa(r.Concurrency)
	}
	text("Max request concurrency:", concurrency)
	text("Successful requests:", fmt.Sprintf("%d/%d", r.Completed, r.Asked))
	text("Completed outputs:", strconv.Itoa(r.CompletedOutputs))
	text("Outputs per prompt:", strconv.Itoa(r.OutputsPerPrompt))
	divide(50)
	number("Request throughput (req/s):", r.Throughput)
	number("Output throughput (outputs/s):", r.OutputThroughput)
	number("Latency Mean (s):", r.Mean)
	number("Latency Median (s):", r.Median)
	number("Latency P90 (s):", r.P90)
	number("Latency P95 (s):", r.P95)
	number("Latency P99 (s):", r.P99)
	if r.PeakMax > 0 {
		divide(50)
		number("Peak Memory Max (MB):", r.PeakMax)
		number("Peak Memory Mean (MB):", r.PeakMean)
		number("Peak Memory Median (MB):", r.PeakMedian)
	}
	if r.SLO {
		divide(50)
		text("SLO Attainment Rate (all):", fmt.Sprintf("%.2f%%", 100**r.Attainment))
		text("SLO Met (Success):", strconv.Itoa(*r.Met))
		number("SLO Scale:", *r.Scale)
	}
	divide(60)
	_, err := io.WriteString(w, b.String())
	return err
}

// Write writes the figures in the format of SGLang's output file.
func (m *Metrics) Write(w io.Writer) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}
