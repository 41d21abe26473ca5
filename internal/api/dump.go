package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// PerfDump is the performance report of one generation of a diffusion server, as SGLang writes it for perf_dump_path.
// Times are in milliseconds.
//
// Source: PerformanceLogger.dump_benchmark_report in multimodal_gen/runtime/utils/perf_logger.py. The keys are the same
// in 0.5.11 and 0.5.23.
type PerfDump struct {
	Timestamp   string                      `json:"timestamp"` // ISO 8601, UTC with offset
	RequestID   string                      `json:"request_id"`
	Commit      string                      `json:"commit_hash"` // "N/A": unknown
	Tag         string                      `json:"tag"`         // cli_generate, server_perf_dump or benchmark_dump
	TotalMS     float64                     `json:"total_duration_ms"`
	Stages      []StageTime                 `json:"steps"` // in order of execution
	Steps       []StepTime                  `json:"denoise_steps_ms"`
	Checkpoints map[string]MemoryCheckpoint `json:"memory_checkpoints"` // none on a CPU
	Meta        DumpMeta                    `json:"meta"`
}

// MemoryCheckpoint is the memory at one point of a generation: memory in use, and memory reserved by the allocator. The
// unit is MB of 2^20 bytes.
type MemoryCheckpoint struct {
	Allocated     float64  `json:"allocated_mb"`
	Reserved      float64  `json:"reserved_mb"`
	PeakAllocated float64  `json:"peak_allocated_mb"`
	PeakReserved  float64  `json:"peak_reserved_mb"`
	PeakHost      *float64 `json:"peak_host_anon_mb,omitempty"` // since 0.5.23
}

// DumpMeta describes the generation. SGLang writes the model and, if the command line was used, the prompt (a list or
// null). Stepscope also writes width and height, so that dumps of different image sizes can be distinguished.
type DumpMeta map[string]any

// MarshalJSON writes the keys in SGLang's order.
func (m DumpMeta) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("null"), nil
	}
	known := []string{"prompt", "model", "width", "height"}
	keys := slices.DeleteFunc(slices.Clone(known), func(k string) bool { _, ok := m[k]; return !ok })
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(known, k) {
			keys = append(keys, k)
		}
	}
	out := []byte("{")
	for i, k := range keys {
		key, err := json.Marshal(k)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m[k])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), value...)
	}
	return append(out, '}'), nil
}

// StageTime is the duration of one stage.
type StageTime struct {
	Name string  `json:"name"`
	MS   float64 `json:"duration_ms"`
}

// StepTime is the duration of one denoising step, counted from 0.
type StepTime struct {
	Step int     `json:"step"`
	MS   float64 `json:"duration_ms"`
}

// Tags of dumps.
const (
	DumpGenerate = "cli_generate"
	DumpServer   = "server_perf_dump"
)

// NewPerfDump returns the report of a generation that ended at the given time, without stages or steps.
func NewPerfDump(id, tag string, at time.Time, total time.Duration) *PerfDump {
	return &PerfDump{
		Timestamp: at.UTC().Format("2006-01-02T15:04:05.000000-07:00"), RequestID: id, Commit: "N/A", Tag: tag, TotalMS: Milliseconds(total),
		Stages: []StageTime{}, Steps: []StepTime{}, Checkpoints: map[string]MemoryCheckpoint{}, Meta: DumpMeta{},
	}
}

// Milliseconds converts d without rounding.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// ParsePerfDump parses a report written by SGLang or stepscope.
func ParsePerfDump(data []byte) (*PerfDump, error) {
	// These fields shadow the embedded fields with the same JSON names. They are pointers, to distinguish 0 from an
	// absent field.
	var d struct {
		PerfDump
		Total  *float64     `json:"total_duration_ms"`
		Stages *[]StageTime `json:"steps"`
	}
	err := json.Unmarshal(data, &d)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return nil, fmt.Errorf("not a performance dump: %s is of type %s", cmp.Or(wrong.Field, "it"), wrong.Value)
	case err != nil:
		return nil, fmt.Errorf("not a performance dump: %w", err)
	}
	if d.Total == nil || d.Stages == nil {
		return nil, errors.New("not a performance dump: it lacks total_duration_ms or steps")
	}
	d.TotalMS, d.PerfDump.Stages = *d.Total, *d.Stages
	negative := func(what string, ms float64) error {
		if ms < 0 {
			return fmt.Errorf("not a performance dump: %s took %g ms", what, ms)
		}
		return nil
	}
	err = negative("the whole", d.TotalMS)
	for _, s := range d.PerfDump.Stages {
		err = cmp.Or(err, negative("stage "+strconv.Quote(s.Name), s.MS))
	}
	for _, s := range d.Steps {
		err = cmp.Or(err, negative(fmt.Sprintf("denoising step %d", s.Step), s.MS))
	}
	if err != nil {
		return nil, err
	}
	return &d.PerfDump, nil
}
