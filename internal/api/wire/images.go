package wire

import (
	"strconv"
	"strings"
)

// ImageRequest is the body of /v1/images/generations: OpenAI's fields and the additions of SGLang's diffusion server. A
// nil pointer means the model's default.
type ImageRequest struct {
	Prompt         string   `json:"prompt"`
	Model          string   `json:"model,omitempty"`
	N              *int     `json:"n,omitempty"`
	Size           string   `json:"size,omitempty"` // 1024x768
	Width          *int     `json:"width,omitempty"`
	Height         *int     `json:"height,omitempty"`
	Steps          *int     `json:"num_inference_steps,omitempty"`
	Guidance       *float64 `json:"guidance_scale,omitempty"`
	Seed           *int64   `json:"seed,omitempty"`
	NegativePrompt *string  `json:"negative_prompt,omitempty"`
	ResponseFormat string   `json:"response_format,omitempty"` // b64_json
	OutputFormat   string   `json:"output_format,omitempty"`   // png
	Background     string   `json:"background,omitempty"`
	PerfDumpPath   string   `json:"perf_dump_path,omitempty"`

	// The following fields exist since SGLang 0.5.23; older servers ignore them.
	Profile          bool `json:"profile,omitempty"`
	ProfiledSteps    *int `json:"num_profiled_timesteps,omitempty"` // 5; -1: all
	ProfileAllStages bool `json:"profile_all_stages,omitempty"`
}

// UnmarshalJSON decodes leniently. It ignores unknown members, as SGLang's server does.
func (r *ImageRequest) UnmarshalJSON(data []byte) error {
	f := openObject(data)
	*r = ImageRequest{}
	_, ok := f.raw["prompt"]
	value(f, "prompt", &r.Prompt, parseString)
	value(f, "model", &r.Model, parseString)
	optional(f, "n", &r.N, parseCount)
	value(f, "size", &r.Size, parseString)
	optional(f, "width", &r.Width, parseCount)
	optional(f, "height", &r.Height, parseCount)
	optional(f, "num_inference_steps", &r.Steps, parseCount)
	optional(f, "guidance_scale", &r.Guidance, parseFloat)
	optional(f, "seed", &r.Seed, parseInt)
	optional(f, "negative_prompt", &r.NegativePrompt, parseString)
	value(f, "response_format", &r.ResponseFormat, parseString)
	value(f, "output_format", &r.OutputFormat, parseString)
	value(f, "background", &r.Background, parseString)
	value(f, "perf_dump_path", &r.PerfDumpPath, parseString)
	value(f, "profile", &r.Profile, parseBool)
	optional(f, "num_profiled_timesteps", &r.ProfiledSteps, parseCount)
	value(f, "profile_all_stages", &r.ProfileAllStages, parseBool)
	if f.err == nil && !ok {
		return Refuse("prompt", "is needed")
	}
	return f.err
}

// ParseSize parses WxH, in pixels.
func ParseSize(text string) (width, height int, err error) {
	w, h, ok := strings.Cut(strings.ToLower(text), "x")
	width, errW := strconv.Atoi(strings.TrimSpace(w))
	height, errH := strconv.Atoi(strings.TrimSpace(h))
	if !ok || errW != nil || errH != nil {
		return 0, 0, Refuse("", "%q is not a size; give WIDTHxHEIGHT, as in 1024x768", text)
	}
	return width, height, nil
}

// ImageResponse is the reply to an ImageRequest.
type ImageResponse struct {
	ID           string      `json:"id"`
	Created      int64       `json:"created"`
	Data         []ImageData `json:"data"`
	PeakMemoryMB *float64    `json:"peak_memory_mb"` // unit: 2^20 bytes; nil: unknown
	InferenceS   *float64    `json:"inference_time_s"`
}

// ImageData is one generated image.
type ImageData struct {
	B64           *string `json:"b64_json"`
	URL           *string `json:"url"`
	RevisedPrompt *string `json:"revised_prompt"`
	FilePath      *string `json:"file_path"`
}

// DiffusionCard is the entry of a pipeline in /v1/models.
type DiffusionCard struct {
	ID            string  `json:"id"`
	Object        string  `json:"object"` // model
	Created       int64   `json:"created"`
	OwnedBy       string  `json:"owned_by"`
	Root          string  `json:"root"`
	Parent        *string `json:"parent"`
	MaxModelLen   *int    `json:"max_model_len"`
	NumGPUs       int     `json:"num_gpus"`
	TaskType      string  `json:"task_type"` // T2I
	DiTPrecision  string  `json:"dit_precision"`
	VAEPrecision  string  `json:"vae_precision"`
	PipelineName  string  `json:"pipeline_name"`
	PipelineClass string  `json:"pipeline_class"`
}

// Detail is the error reply of SGLang's diffusion server.
type Detail struct {
	Detail string `json:"detail"`
}
