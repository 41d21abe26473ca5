package merge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// categories lists the event categories in Kineto's files.
var categories = []string{
	"cpu_op", "user_annotation", "gpu_user_annotation", "python_function", "cuda_runtime", "cuda_driver", "hip_runtime",
	"xpu_runtime", "xpu_driver",
	"kernel", "gpu_memcpy", "gpu_memset", "cuda_sync", "cuda_event", "cpu_instant_event", "overhead", "ac2g", "fwdbwd", "Trace",
}

// Only sets opt.Keep to the events of these categories, if any are given. It keeps a launch arrow if both ends of the
// arrow are kept.
func (opt *Options) Only(cats []string, noPython bool) error {
	if len(cats) == 0 && !noPython {
		return nil
	}
	keep := map[string]bool{"": true}
	for _, cat := range cats {
		if !slices.Contains(categories, cat) {
			return fmt.Errorf("%s: no such category; known categories: %s", cat, strings.Join(categories, ", "))
		}
		keep[cat] = true
	}
	if keep["kernel"] && slices.ContainsFunc(cats, trace.IsCall[string]) {
		keep["ac2g"] = true
	}
	opt.Keep = func(int) func(*chromejson.Event) bool {
		return func(ev *chromejson.Event) bool {
			cat := ev.Text(ev.Cat)
			return (len(cats) == 0 || keep[string(cat)]) && !(noPython && string(cat) == "python_function")
		}
	}
	if len(cats) > 0 {
		opt.Filter = trace.Note{Kind: trace.NoteCategories, Names: cats}
	} else {
		opt.Filter = trace.Note{Kind: trace.NoteNoPython}
	}
	return nil
}
