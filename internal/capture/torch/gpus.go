package torch

import (
	"encoding/json"
	"io"
	"path/filepath"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/trace"
)

// KeepGPUs writes samples of GPUs beside the traces of each server. A failed write becomes a note.
func (c *Result) KeepGPUs(states []trace.GPUState) {
	for i := range c.Servers {
		r := &c.Servers[i]
		if len(states) == 0 || len(r.Traces) == 0 {
			continue
		}
		r.gpus = true
		err := atomicfile.Write(filepath.Join(r.Dir, trace.GPUsFile), func(w io.Writer) error { return json.NewEncoder(w).Encode(trace.GPUs{Format: 1, States: states}) })
		if err != nil {
			r.Notes = append(r.Notes, trace.GPUsFile+" could not be written: "+err.Error())
		}
	}
}
