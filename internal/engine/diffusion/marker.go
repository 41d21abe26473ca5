package diffusion

import (
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/engine/device"
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

// enter begins a call of the module at path, "" being the component, with an input of 1 × dims. leave ends it.
func (m *marker) enter(path string, dims ...int) {
	text := m.component
	if path != "" {
		text += "." + path
	}
	if m.markers {
		text = m.stage + "." + text + inputs(dims)
	}
	m.host.Annotate(text)
}

func (m *marker) leave() { m.host.End() }

// inputs is the list of sizes in a marker.
func inputs(dims []int) string {
	var b strings.Builder
	b.WriteString(" in=[[1")
	for _, d := range dims {
		b.WriteString(", ")
		b.WriteString(strconv.Itoa(d))
	}
	b.WriteString("]]")
	return b.String()
}
