package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// Sample is a server's /metrics at one moment.
type Sample struct {
	At     int64              `json:"at"`     // ns since the epoch
	Values map[string]float64 `json:"values"` // key: name and labels of the metric, as in the Prometheus text
}

// SamplesFile is the file with the samples of the last repetition of a run.
const SamplesFile = "server-metrics.json"

// Samples reads the samples stored with a run. There are none if the server had no /metrics.
func Samples(r *Run) (out []Sample, err error) {
	text, err := atomicfile.ReadFile(r.Path(SamplesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("run %s: %s: %w", r.ID(), SamplesFile, err)
	}
	return out, nil
}

// ServerState is the state of a server at one moment, summed over its ranks.
type ServerState struct {
	Running, Queued float64 // requests
	KV              float64 // share of the KV cache in use on the fullest rank; -1: unknown
}

// Names of SGLang's and vLLM's metrics for running requests, queued requests and the share of the KV cache in use.
var (
	RunningNames = []string{"sglang:num_running_reqs", "vllm:num_requests_running"}
	QueuedNames  = []string{"sglang:num_queue_reqs", "vllm:num_requests_waiting"}
	UsageNames   = []string{"sglang:token_usage", "vllm:gpu_cache_usage_perc", "vllm:kv_cache_usage_perc"}
)

// State returns the server's state, or nil if the sample has no metric of running or queued requests.
func (s *Sample) State() *ServerState {
	running, ok := s.Sum(RunningNames...)
	queued, also := s.Sum(QueuedNames...)
	kv, usage := s.Max(UsageNames...)
	if !usage {
		kv = -1
	}
	if !ok && !also {
		return nil
	}
	return &ServerState{Running: running, Queued: queued, KV: kv}
}

// Sum returns the sum of all values of the named metrics, over all labels. ok is false if the sample has none of them.
func (s *Sample) Sum(names ...string) (v float64, ok bool) {
	for _, x := range s.of(names) {
		v, ok = v+x, true
	}
	return v, ok
}

// Max returns the largest value of the named metrics, over all labels. ok is false if the sample has none of them.
func (s *Sample) Max(names ...string) (v float64, ok bool) {
	for _, x := range s.of(names) {
		v, ok = max(v, x), true
	}
	return v, ok
}

func (s *Sample) of(names []string) (values []float64) {
	for key, x := range s.Values {
		for _, n := range names {
			if key == n || strings.HasPrefix(key, n+"{") {
				values = append(values, x)
			}
		}
	}
	return values
}
