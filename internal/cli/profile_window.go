package cli

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/capture/torch"
)

// What profile is told of servers and windows.

func (c *profileCmd) header() (http.Header, error) {
	h := http.Header{}
	if c.APIKey != "" {
		h.Set("Authorization", "Bearer "+c.APIKey)
	}
	for _, pair := range c.Header {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" || strings.ContainsAny(pair, "\r\n") {
			return nil, fmt.Errorf("--header %q: give NAME=VALUE", pair)
		}
		h.Set(name, value)
	}
	return h, nil
}

// targetName is a name before a URL, as in pod-0=http://10.0.0.7:30000.
var targetName = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)=(https?://.*)$`)

func (c *profileCmd) targets(header http.Header) (out []torch.Target, err error) {
	if len(c.URL)+len(c.PrefillURL)+len(c.DecodeURL) == 0 {
		c.URL = []string{"http://localhost:30000"}
	}
	for _, group := range []struct {
		role string
		urls []string
	}{{"", c.URL}, {api.Prefill, c.PrefillURL}, {api.Decode, c.DecodeURL}} {
		for _, url := range group.urls {
			t := torch.Target{URL: url, Role: group.role, Header: header, AdminKey: c.AdminKey}
			if m := targetName.FindStringSubmatch(url); m != nil {
				t.Name, t.URL = m[1], m[2]
			}
			out = append(out, t)
		}
	}
	return out, torch.CheckTargets(out)
}

// profilesDir is the directory of a flag, or the one that is said here by the environment, as SGLang's profiler has it;
// empty: the server's.
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
