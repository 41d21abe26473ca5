package diffusion

import (
	"fmt"
	"strings"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// marker annotates calls of a component's modules. Without markers there are those of blocks and their two parts, by
// their names in the checkpoint. With markers the texts are those of SGLang's layer-wise NVTX markers of diffusion
// (0.5.23, multimodal_gen/runtime/utils/nvtx_pytorch_hooks.py): stage, component, path and the sizes of the inputs.
type marker struct {
	host      *device.Host
	stage     string // as it is registered
	component string
	markers   bool
}

// enter begins a call of the module at path, "" being the component, with tensors of such sizes. leave ends it.
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

// call is a call of a module that has an annotation with markers alone.
func (m *marker) call(path string, run func(), in ...[]int) {
	if m.markers {
		m.enter(path, in...)
		defer m.leave()
	}
	run()
}

// inputs are the sizes in a marker: " in=[[1, 32, 128], [1, 128]]".
func inputs(in [][]int) string {
	if len(in) == 0 {
		return ""
	}
	return " in=" + strings.ReplaceAll(fmt.Sprint(in), " ", ", ")
}
