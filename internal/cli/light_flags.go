package cli

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/explain/light"
)

// lightFlags name the files from which the limits of the device and the work of the model follow.
type lightFlags struct {
	Model  string `name:"model-config" placeholder:"FILE|DIR" help:"The model's config.json: compare steps with the limit of the device, and modules by role."`
	Device string `name:"device" placeholder:"FILE" help:"Peaks of a device that is not known (JSON)."`
}

// light reads the files.
func (f *lightFlags) light() (o light.Options, err error) {
	if f.Model != "" {
		if o.Model, err = light.OpenModel(f.Model); err != nil {
			return o, fmt.Errorf("--model-config: %w", err)
		}
	}
	if f.Device != "" {
		if o.Device, err = light.OpenDevice(f.Device); err != nil {
			return o, fmt.Errorf("--device: %w", err)
		}
	}
	return o, nil
}
