package diffusion

import (
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// PNG writes the picture as PNG.
func (p *Picture) PNG(w io.Writer) error {
	im := image.NewNRGBA(image.Rect(0, 0, p.Width, p.Height))
	for i := range p.Width * p.Height {
		copy(im.Pix[4*i:], p.RGB[3*i:3*i+3])
		im.Pix[4*i+3] = 255
	}
	return png.Encode(w, im)
}

// Dump returns the performance report of a job that was run by model.
func (r *Result) Dump(id, tag, model string) *api.PerfDump {
	d := api.NewPerfDump(id, tag, r.Began.Add(r.Total), r.Total)
	d.Meta = api.DumpMeta{"model": model, "width": r.Picture.Width, "height": r.Picture.Height}
	for _, s := range r.Stages {
		d.Stages = append(d.Stages, api.StageTime{Name: s.Name, MS: api.Milliseconds(s.Time)})
	}
	for i, t := range r.Steps {
		d.Steps = append(d.Steps, api.StepTime{Step: i, MS: api.Milliseconds(t)})
	}
	return d
}

// WriteDump writes a report in SGLang's format, atomically. It creates missing directories.
func WriteDump(path string, d *api.PerfDump) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("write the performance dump: %w", err)
	}
	err = atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return fmt.Errorf("write the performance dump: %w", err)
	}
	return nil
}
