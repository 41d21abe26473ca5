package imageload

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/pyrand"
	"github.com/stepscope/stepscope/internal/measure/workload"
)

// request is a request of a load. A field of 0 means the model's default.
type request struct {
	prompt               string
	width, height, steps int
	outputs              int
	slo                  float64 // ms; 0: none
}

// vbenchPrompt replaces VBench's list of prompts if the list is not available. SGLang uses the same prompt if it cannot
// download the list.
const vbenchPrompt = "A cat sitting on a bench"

// requests makes the requests of a load. If it uses other data than the user requested, it calls say with a line of
// text.
func (o *Options) requests(say func(string)) ([]request, error) {
	all := make([]request, o.NumPrompts)
	for i := range all {
		all[i] = request{width: o.Width, height: o.Height, steps: o.Steps, outputs: o.Outputs}
	}
	if o.Dataset == "random" {
		for i := range all {
			all[i].prompt = fmt.Sprintf("Random prompt %d for benchmarking diffusion models", i)
		}
		return all, o.mix(all)
	}
	prompts, err := o.vbench(say)
	for i := range all {
		if err == nil {
			all[i].prompt = prompts[i%len(prompts)]
		}
	}
	return all, err
}

// vbench returns VBench's prompts. If o.DatasetPath is set, it reads them from that path. Otherwise it reads them from
// the file that SGLang's benchmark downloads.
func (o *Options) vbench(say func(string)) ([]string, error) {
	path := o.DatasetPath
	if path == "" {
		home, err := os.UserHomeDir()
		if err == nil {
			path = filepath.Join(home, ".cache", "sglang", "vbench_subject_consistency.txt")
		}
		if _, err := os.Stat(path); err != nil {
			say(fmt.Sprintf("VBench's prompts are not available here, and nothing is downloaded: all prompts are %q. Give --dataset-path FILE, with one prompt per line.", vbenchPrompt))
			return []string{vbenchPrompt}, nil
		}
	}
	out, err := workload.Prompts(path)
	if err != nil {
		return nil, fmt.Errorf("--dataset-path: %w", err)
	}
	return out, nil
}

// mix assigns a profile of --random-request-config to each request, drawn by the weights of the profiles. It draws the
// same profiles as Python's random.choices with the same seed.
func (o *Options) mix(all []request) error {
	if o.RandomConfig == "" {
		return nil
	}
	const flag = "--random-request-config"
	var profiles []struct {
		Weight  *float64 `json:"weight"`
		Width   *int     `json:"width"`
		Height  *int     `json:"height"`
		Steps   *int     `json:"num_inference_steps"`
		Outputs *int     `json:"num_outputs_per_prompt"`
		Frames  *int     `json:"num_frames"`
		FPS     *int     `json:"fps"`
	}
	d := json.NewDecoder(strings.NewReader(o.RandomConfig))
	d.DisallowUnknownFields()
	if err := d.Decode(&profiles); err != nil {
		if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) { // the text of this error names Go types
			err = fmt.Errorf("the JSON %[2]s that ends at byte %[1]d has the wrong type", wrong.Offset, wrong.Value)
		}
		return fmt.Errorf("%s: give a list of objects such as '[{\"weight\": 1, \"width\": 512, \"height\": 512, \"num_inference_steps\": 20}]': %w", flag, err)
	}
	total, until := 0.0, make([]float64, len(profiles))
	for i, p := range profiles {
		switch {
		case p.Weight == nil || !(*p.Weight >= 0):
			return fmt.Errorf("%s: profile %d needs a weight of 0 or more", flag, i)
		case p.Frames != nil && *p.Frames != 1:
			return fmt.Errorf("%s: profile %d has %d frames: videos are not supported", flag, i, *p.Frames)
		}
		for _, n := range []*int{p.Width, p.Height, p.Steps, p.Outputs} {
			if n != nil && *n < 1 {
				return fmt.Errorf("%s: profile %d: %d; sizes, steps and outputs must be 1 or more", flag, i, *n)
			}
		}
		total += *p.Weight
		until[i] = total
	}
	if !(total > 0) {
		return fmt.Errorf("%s: no profile has a weight above 0", flag)
	}
	r := pyrand.New(uint64(o.RandomSeed))
	for i := range all {
		x := r.Float() * total
		p := &profiles[min(sort.Search(len(until), func(k int) bool { return until[k] > x }), len(profiles)-1)]
		for _, set := range []struct{ to, from *int }{
			{&all[i].width, p.Width}, {&all[i].height, p.Height}, {&all[i].steps, p.Steps}, {&all[i].outputs, p.Outputs},
		} {
			if set.from != nil {
				*set.to = *set.from
			}
		}
	}
	return nil
}

// work returns the units of work of a request: the number of patches of 16 × 16 pixels times the number of steps. The
// latency of a request should be proportional to its work. If the image size is unknown, work returns 0.
func (r *request) work() float64 {
	if r.width == 0 || r.height == 0 {
		return 0
	}
	return max(float64(r.width)*float64(r.height)/256, 1) * float64(max(r.steps, 1))
}

// plan returns r as a request of a load. The user's keys override all others.
func (o *Options) plan(r *request) workload.Request {
	extra := map[string]json.RawMessage{"n": json.RawMessage(strconv.Itoa(r.outputs)), "response_format": json.RawMessage(`"b64_json"`)}
	if r.width > 0 && r.height > 0 {
		extra["size"] = fmt.Appendf(nil, `"%dx%d"`, r.width, r.height)
	}
	if r.steps > 0 {
		extra["num_inference_steps"] = json.RawMessage(strconv.Itoa(r.steps))
	}
	maps.Copy(extra, o.Extra)
	return workload.Request{Prompt: r.prompt, Extra: extra}
}
