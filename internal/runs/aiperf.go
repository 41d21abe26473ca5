package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/stepscope/stepscope/bench"
)

// aiperfValue is a figure of aiperf. A line of profile_export.jsonl has value, a summary has the others.
type aiperfValue struct {
	Unit  string          `json:"unit"`
	Value json.RawMessage `json:"value"`
	Avg   *float64        `json:"avg"`
	P50   *float64        `json:"p50"`
	P99   *float64        `json:"p99"`
}

// aiperfUnits are the units of times, in s.
var aiperfUnits = map[string]float64{"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "sec": 1, "s": 1, "seconds": 1}

// aiperfLine is a line of profile_export.jsonl: one request.
type aiperfLine struct {
	Metadata struct {
		Phase string `json:"benchmark_phase"`
		Start *int64 `json:"request_start_ns"`
		End   *int64 `json:"request_end_ns"`
	} `json:"metadata"`
	Metrics map[string]aiperfValue `json:"metrics"`
	Error   *struct {
		Message string `json:"message"`
		Type    string `json:"type"`
	} `json:"error"`
}

// seconds returns a time of a request.
func (l *aiperfLine) seconds(name string) (float64, bool) {
	v := l.Metrics[name]
	x, ok := finite(v.Value)
	unit, known := aiperfUnits[v.Unit]
	return x * unit, ok && known && x >= 0
}

func (l *aiperfLine) count(name string) int {
	x, _ := finite(l.Metrics[name].Value)
	return int(min(max(x, 0), 1<<30))
}

func finite(text json.RawMessage) (float64, bool) {
	return object{"v": text}.number("v")
}

// aiperfRecords converts the lines of profile_export.jsonl.
func aiperfRecords(all []object) (*Foreign, error) {
	f := &Foreign{Tool: ofAIPerf, Timed: true, Run: bench.Run{Tool: ofAIPerf, Stamps: bench.UserStamps}}
	first, last := int64(math.MaxInt64), int64(0)
	var lines []aiperfLine
	warm := 0
	for i, o := range all {
		var l aiperfLine
		text, err := json.Marshal(o)
		if err == nil {
			err = json.Unmarshal(text, &l)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if l.Metadata.Start == nil || l.Metadata.End == nil || *l.Metadata.Start <= 0 || *l.Metadata.End < *l.Metadata.Start {
			return nil, fmt.Errorf("line %d: request_start_ns and request_end_ns are not times", i+1)
		}
		if l.Metadata.Phase == "warmup" {
			warm++
			continue
		}
		first, last = min(first, *l.Metadata.Start), max(last, *l.Metadata.End)
		lines = append(lines, l)
	}
	if len(lines) == 0 {
		return nil, errors.New("no line describes a request of the load")
	}
	if last-first > int64(longest)*1e9 {
		return nil, errors.New("the requests lie years apart")
	}
	failed := 0
	for i := range lines {
		l := &lines[i]
		r := newRecord(i, float64(*l.Metadata.Start-first), l.count("input_sequence_length"), l.count("output_sequence_length"))
		r.Done = max(*l.Metadata.End-first, r.Sent)
		ttft, ok := l.seconds("time_to_first_token")
		switch {
		case l.Error != nil:
			failed++
			fail(&r, firstText(l.Error.Message, l.Error.Type))
		case ok:
			l.arrive(&r, ttft)
		default: // not a stream
			r.Status, r.Held, r.First, r.FirstAny, r.Visible, r.Last = 200, true, r.Done, r.Done, r.Done, r.Done
		}
		f.Records = append(f.Records, r)
	}
	f.Run.StartWall, f.Run.Duration = first, max(last-first, 1)
	f.setRequests(len(lines), failed)
	if warm > 0 {
		f.Notes = append(f.Notes, fmt.Sprintf("%d warm-up requests are left out", warm))
	}
	return f, nil
}

// arrive sets the times of a streamed reply.
func (l *aiperfLine) arrive(r *bench.Record, ttft float64) {
	done := r.Done
	unit, known := aiperfUnits[l.Metrics["inter_chunk_latency"].Unit]
	var gaps []float64
	if known && json.Unmarshal(l.Metrics["inter_chunk_latency"].Value, &gaps) == nil {
		for i := range gaps {
			gaps[i] *= unit
		}
		arrive(r, ttft, gaps)
	} else {
		arrive(r, ttft, nil)
		r.Chunks = nil // only the mean of the gaps is known
		if each, ok := l.seconds("inter_token_latency"); ok && r.OutputLen > 1 {
			r.Last += nanoseconds(each * float64(r.OutputLen-1))
		}
	}
	r.Done = max(done, r.Last)
}

// aiperfTotals converts profile_export_aiperf.json.
func aiperfTotals(o object) (*Foreign, error) {
	f := &Foreign{Tool: ofAIPerf, Run: bench.Run{Tool: ofAIPerf, Stamps: bench.UserStamps}}
	value := func(name string) (v aiperfValue) {
		_ = json.Unmarshal(o[name], &v) // a member of another form counts as absent
		return v
	}
	add := func(metric, figure string, unit bench.Unit, v *float64, scale float64) {
		if v != nil && *v >= 0 && *v < 1e15 {
			f.Totals.Totals = append(f.Totals.Totals, bench.Total{Metric: metric, Figure: figure, Unit: unit, Higher: unit == bench.PerSecond, Value: *v * scale})
		}
	}
	for _, l := range []struct{ name, metric string }{{"time_to_first_token", "ttft"}, {"inter_token_latency", "tpot"}, {"request_latency", "e2e"}} {
		v := value(l.name)
		if unit, ok := aiperfUnits[v.Unit]; ok {
			add(l.metric, "mean", bench.NS, v.Avg, unit*1e9)
			add(l.metric, "median", bench.NS, v.P50, unit*1e9)
			add(l.metric, "p99", bench.NS, v.P99, unit*1e9)
		}
	}
	add("output_throughput", "mean", bench.PerSecond, value("output_token_throughput").Avg, 1)
	add("request_throughput", "mean", bench.PerSecond, value("request_throughput").Avg, 1)
	if len(f.Totals.Totals) == 0 {
		return nil, errors.New("this is no summary of aiperf: it has no latencies and no throughput")
	}
	n := func(name string) int {
		if v := value(name).Avg; v != nil {
			return int(min(max(*v, 0), 1<<53))
		}
		return 0
	}
	if took := value("benchmark_duration"); took.Avg != nil {
		f.Run.Duration = nanoseconds(*took.Avg * aiperfUnits[took.Unit])
	}
	f.setRequests(n("request_count")+n("error_request_count"), n("error_request_count"))
	return f, nil
}
