package batch

import (
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
)

// nightly is a result in the format that SGLang's nightly jobs read.
type nightly struct {
	ModelPath         string   `json:"model_path"`
	RunName           string   `json:"run_name"`
	BatchSize         int      `json:"batch_size"`
	InputLen          int      `json:"input_len"`
	OutputLen         int      `json:"output_len"`
	Latency           float64  `json:"latency"`
	InputThroughput   float64  `json:"input_throughput"`
	OutputThroughput  float64  `json:"output_throughput"`
	OverallThroughput float64  `json:"overall_throughput"`
	LastTTFT          float64  `json:"last_ttft"`
	LastGenThroughput float64  `json:"last_gen_throughput"`
	AccLength         float64  `json:"acc_length"`
	ProfileExtend     *string  `json:"profile_link_extend"`
	ProfileDecode     *string  `json:"profile_link_decode"`
	ServerArgs        []string `json:"server_args"`
}

// nightly writes all results in the format that SGLang's nightly jobs read.
func (r *Remote) nightly(w io.Writer) error {
	rows := []nightly{}
	for _, s := range r.results {
		row := nightly{
			r.model(), s.RunName, s.BatchSize, s.InputLen, s.OutputLen, s.Latency, s.InputThroughput, s.OutputThroughput,
			s.OverallThroughput, s.LastTTFT, s.LastGenThroughput, s.AccLength, nil, nil, r.ServerArgs,
		}
		if s.ProfileDir != "" {
			row.ProfileExtend, row.ProfileDecode = firstTrace(s.ProfileDir, "extend", "prefill"), firstTrace(s.ProfileDir, "decode")
		}
		rows = append(rows, row)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(rows)
}

// firstTrace returns the trace file in dir that belongs to one of the stages. If there are several, it returns the
// first file by name. If there is none, it returns nil.
func firstTrace(dir string, stages ...string) *string {
	files, _ := filepath.Glob(filepath.Join(dir, "*.trace.json*")) // sorted
	for _, f := range files {
		for _, stage := range stages {
			if base := strings.ToLower(filepath.Base(f)); strings.Contains(base, stage) && !strings.HasPrefix(base, "merged-") {
				return &f
			}
		}
	}
	return nil
}
