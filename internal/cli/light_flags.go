package cli

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/explain/light"
)

// lightFlags name the files from which the limits of the device and the work of the model follow.
type lightFlags struct {
	Model  string `name:"model-config" placeholder:"FILE|DIR" help:"Configuration of the model (config.json): compare the steps with what the device can do at best, and modules by their roles."`
	Device string `name:"device" placeholder:"FILE" help:"Peaks of the device (JSON), if they are not known: stepscope guide speed-of-light."`
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
