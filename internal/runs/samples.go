package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

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
