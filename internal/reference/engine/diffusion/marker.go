package diffusion

import (
	"fmt"
	"strings"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// marker annotates calls of a component's modules. Without markers, it annotates each block and each of the block's two
// parts with the name in the checkpoint. With markers, the texts of the annotations match SGLang's layer-wise NVTX
// markers for diffusion (0.5.23, multimodal_gen/runtime/utils/nvtx_pytorch_hooks.py): stage, component, path and the
// sizes of the inputs.
type marker struct {
	host      *device.Host
	stage     string // registered name of the stage
	component string
	markers   bool
}

// enter begins a call of the module at path, or of the component if path is "". in lists the sizes of the inputs. leave
// ends the call.
func (m *marker) enter(path string, in ...[]int) {
	text := m.component
	if path != "" {
		text += "." + path
	}
	if m.markers {
		text = m.stage + "." + text + inputs(in)
	}
	m.host.Annotate(text)
}

func (m *marker) leave() { m.host.End() }

// call runs a module call. It annotates the call only if markers are on.
func (m *marker) call(path string, run func(), in ...[]int) {
	if m.markers {
		m.enter(path, in...)
		defer m.leave()
	}
	run()
}

// inputs formats the sizes in a marker: " in=[[1, 32, 128], [1, 128]]".
func inputs(in [][]int) string {
	if len(in) == 0 {
		return ""
	}
	return " in=" + strings.ReplaceAll(fmt.Sprint(in), " ", ", ")
}
