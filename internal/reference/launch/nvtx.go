package launch

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/base/nvtx"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// marks returns a marker that shows a rank's annotations to an NVIDIA tool, or nil if no tool is attached or markers
// are off.
func marks(markers bool) device.Marker {
	if markers {
		if t := nvtx.NewThread(); t != nil {
			return t
		}
	}
	return nil
}

// logMarks logs whether NVTX ranges are emitted. If graphs are replayed, it also logs that they have no per-layer
// ranges.
func logMarks(markers, graphs bool, log func(string)) {
	there, err := nvtx.Attached()
	switch {
	case err != nil:
		log(fmt.Sprintf("No NVTX ranges: %v", err))
	case !markers:
	case !there:
		log("NVTX markers: no tool is listening (" + nvtx.EnvPath + " is not set), so they appear only in this server's own traces; start it under nsys profile or nsys launch")
	default:
		log("NVTX markers: a tool is listening")
	}
	if markers && graphs {
		log("NVTX markers: replayed graphs have no per-layer ranges; --disable-cuda-graph shows decode steps layer by layer")
	}
}

// outerProfiler returns a function that opens and closes the NVTX range that "nsys profile -c nvtx -p
// cudaProfilerApi@stepscope" records. This range replaces calls of cudaProfilerStart and cudaProfilerStop. If no tool
// is attached, outerProfiler returns nil.
func outerProfiler() func(on bool) {
	r := nvtx.NewRange("stepscope", "cudaProfilerApi")
	if r == nil {
		return nil
	}
	return func(on bool) {
		if on {
			r.Start()
		} else {
			r.End()
		}
	}
}
