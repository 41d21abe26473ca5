package cli

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/stepscope/stepscope/internal/capture/torch"
)

// profilesDir returns the directory for profiles. The flag sets it, or else a local environment variable, as in
// SGLang's profiler. "" selects the server's directory.
func profilesDir(flag string) (string, error) {
	if flag = cmp.Or(flag, os.Getenv("SGLANG_TORCH_PROFILER_DIR")); flag == "" {
		return "", nil
	}
	return filepath.Abs(flag)
}

func (c *profileCmd) window() (torch.Window, error) {
	w := torch.Window{
		Prefix: c.Prefix, ProfileID: c.ProfileID, StartStep: c.StartStep, NumSteps: c.NumSteps,
		ByStage: c.ByStage && !c.NoByStage, Stages: c.Stages, Merge: c.Merge && !c.NoMerge, Activities: c.Activities,
	}
	var err error
	if w.OutputDir, err = profilesDir(c.OutputDir); err != nil {
		return w, err
	}
	if w.Activities == nil {
		w.Activities = []string{}
		for _, a := range []struct {
			name string
			on   bool
		}{{"CPU", c.CPU && !c.NoCPU}, {"GPU", c.GPU && !c.NoGPU}, {"MEM", c.Mem && !c.NoMem}, {"RPD", c.RPD && !c.NoRPD}} {
			if a.on {
				w.Activities = append(w.Activities, a.name)
			}
		}
	}
	flag := func(on, off bool) *bool {
		if !on && !off {
			return nil
		}
		return &on
	}
	w.WithStack, w.RecordShapes = flag(c.Stack, c.NoStack), flag(c.Shapes, c.NoShapes)
	if c.Lean {
		w.Lean()
	}
	return w, nil
}
