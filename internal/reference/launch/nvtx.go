package launch

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/base/nvtx"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// marks shows the annotations of a rank to a tool of NVIDIA's; nil: there is none, or they are not asked for.
func marks(markers bool) device.Marker {
	if markers {
		if t := nvtx.NewThread(); t != nil {
			return t
		}
	}
	return nil
}

// logMarks tells what becomes of NVTX ranges, where graphs may be replayed and where not.
func logMarks(markers, graphs bool, log func(string)) {
	there, err := nvtx.Attached()
	switch {
	case err != nil:
		log(fmt.Sprintf("No NVTX ranges: %v", err))
	case !markers:
	case !there:
		log("NVTX markers: no tool listens (" + nvtx.EnvPath + " is not set), so they show in this server's own traces alone; start it under nsys profile or nsys launch")
	default:
		log("NVTX markers: a tool listens")
	}
	if markers && graphs {
		log("NVTX markers: replayed graphs have none of their layers; --disable-cuda-graph shows decode steps layer by layer")
	}
}

// outerProfiler opens and closes the range that nsys profile -c nvtx -p cudaProfilerApi@stepscope records, in the place
// of cudaProfilerStart and cudaProfilerStop; nil: no tool is there.
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
