package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// PerfDump is the performance report of one generation of a diffusion server, as SGLang writes it for perf_dump_path
// (PerformanceLogger.dump_benchmark_report in multimodal_gen/runtime/utils/perf_logger.py, the same keys in 0.5.11 and
// 0.5.23). Times are milliseconds.
type PerfDump struct {
	Timestamp   string                    `json:"timestamp"` // ISO 8601, UTC with offset
	RequestID   string                    `json:"request_id"`
	Commit      string                    `json:"commit_hash"` // "N/A": not known
	Tag         string                    `json:"tag"`         // cli_generate, server_perf_dump or benchmark_dump
	TotalMS     float64                   `json:"total_duration_ms"`
	Stages      []StageTime               `json:"steps"` // in order of execution
	Steps       []StepTime                `json:"denoise_steps_ms"`
	Checkpoints map[string]map[string]any `json:"memory_checkpoints"` // MB of 2^20 bytes; none on a CPU
	Meta        map[string]any            `json:"meta"`               // prompt (a list) and model, or model alone
}

// StageTime is how long a stage took.
type StageTime struct {
	Name string  `json:"name"`
	MS   float64 `json:"duration_ms"`
}

// StepTime is how long a denoising step took, counted from 0.
type StepTime struct {
	Step int     `json:"step"`
	MS   float64 `json:"duration_ms"`
}

// The tags of dumps.
const (
	DumpGenerate = "cli_generate"
	DumpServer   = "server_perf_dump"
)

// NewPerfDump begins the report of a generation that ended at a time.
func NewPerfDump(id, tag string, at time.Time, total time.Duration) *PerfDump {
	return &PerfDump{
		Timestamp: at.UTC().Format("2006-01-02T15:04:05.000000-07:00"), RequestID: id, Commit: "N/A", Tag: tag, TotalMS: Milliseconds(total),
		Stages: []StageTime{}, Steps: []StepTime{}, Checkpoints: map[string]map[string]any{}, Meta: map[string]any{},
	}
}

// Milliseconds are those of a duration, unrounded.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// ParsePerfDump reads a report, SGLang's or ours.
func ParsePerfDump(data []byte) (*PerfDump, error) {
	var d struct {
		PerfDump
		Total *float64     `json:"total_duration_ms"`
		Steps *[]StageTime `json:"steps"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("no performance dump: %w", err)
	}
	if d.Total == nil || d.Steps == nil {
		return nil, errors.New("no performance dump: it lacks total_duration_ms or steps")
	}
	d.PerfDump.TotalMS, d.PerfDump.Stages = *d.Total, *d.Steps
	return &d.PerfDump, nil
}
