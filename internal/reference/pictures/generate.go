// Package pictures generates images from prompts with the embedded pipeline, like SGLang's sglang generate. It loads
// the pipeline, performs warm-ups, generates one image after another, and writes images, traces and timing reports.
package pictures

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/diffusion"
	"github.com/stepscope/stepscope/internal/reference/launch"
)

// Job describes the images to generate: Outputs images for each combination of prompt and size.
type Job struct {
	Pipeline    launch.PipelineArgs
	Prompts     []string
	Negative    string
	Seed        uint64
	Sizes       []Size   // nil: the model's default size
	Steps       *int     // nil: the model's default
	Guidance    *float64 // nil: the model's default
	Outputs     int      // images per prompt and size
	Dir, Name   string   // directory and name of image files; Dir "": not written, Name "": generated
	WarmupSteps int      // 0: no warm-up
	WarmupSizes []Size   // nil: the size of the first image
	PerfDump    string   // path of timing reports; "": none
	Profile     *Profile // nil: none
}

// Size is the size of an image in pixels.
type Size struct{ Width, Height int }

// Profile selects the part of each image's generation to record. See diffusion.Profile.
type Profile struct {
	Steps     int
	AllStages bool
	Dir       string
}

// Show is the output of a run's progress.
type Show struct {
	Log     func(line string)
	Console *progress.Console
}

// Picture is a generated image.
type Picture struct {
	Prompt string
	Size   Size
	Steps  int
	Result *diffusion.Result
	Path   string // "": not written
	Dump   string // path; "": none
}

// Run generates the images. Errors in the job are reported before the first image is generated.
func Run(ctx context.Context, job *Job, show Show) (_ []Picture, err error) {
	p, err := launch.OpenPipeline(job.Pipeline, show.Log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	all, warmups, err := plan(job, p)
	if err != nil {
		return nil, err
	}
	if err := writable(job, all); err != nil {
		return nil, err
	}
	if err := p.Load(); err != nil {
		return nil, err
	}
	for i := range warmups {
		if err := p.Warmup(ctx, &warmups[i]); err != nil {
			return nil, err
		}
	}
	var out []Picture
	for i := range all {
		if err := one(ctx, job, p, &all[i], i, show); err != nil {
			return nil, err
		}
		out = append(out, all[i].Picture)
	}
	return out, nil
}

// planned is an image to generate.
type planned struct {
	Picture
	job *diffusion.Job
}

// plan returns all images and the warm-ups for them. It checks every request.
func plan(job *Job, p *launch.Pipeline) (all []planned, warmups []diffusion.Request, err error) {
	for _, prompt := range job.Prompts {
		q, err := p.Request(prompt, job.Negative)
		if err != nil {
			return nil, nil, err
		}
		if job.Steps != nil {
			q.Steps = *job.Steps
		}
		if job.Guidance != nil {
			q.Guidance = *job.Guidance
		}
		sizes := job.Sizes
		if len(sizes) == 0 {
			sizes = []Size{{q.Width, q.Height}}
		}
		for _, size := range sizes {
			q.Width, q.Height = size.Width, size.Height
			if err := p.Check(q); err != nil {
				return nil, nil, err
			}
			for n := range job.Outputs {
				d := &diffusion.Job{Request: *q, ID: api.NewUUID()}
				d.Seed = job.Seed + uint64(n)
				if w := job.Profile; w != nil {
					d.Profile = &diffusion.Profile{
						Steps: w.Steps, AllStages: w.AllStages, Dir: w.Dir,
						Record: device.RecordOptions{CPU: true, GPU: true, Shapes: true, Stack: true},
					}
				}
				all = append(all, planned{Picture{Prompt: prompt, Size: size, Steps: q.Steps}, d})
			}
		}
	}
	warmups, err = warm(job, p, all[0].job.Request)
	return all, warmups, err
}

// warm returns warm-up requests. They are equal to the request for the first image, except that they have the warm-up
// sizes and at most WarmupSteps steps.
func warm(job *Job, p *launch.Pipeline, q diffusion.Request) (out []diffusion.Request, err error) {
	if job.WarmupSteps == 0 {
		return nil, nil
	}
	sizes := job.WarmupSizes
	if len(sizes) == 0 {
		sizes = []Size{{q.Width, q.Height}}
	}
	q.Steps = min(job.WarmupSteps, q.Steps)
	for _, size := range sizes {
		q.Width, q.Height = size.Width, size.Height
		if err := p.Check(&q); err != nil {
			return nil, fmt.Errorf("the warm-up: %w", err)
		}
		out = append(out, q)
	}
	return out, nil
}

// one generates image i and writes its files.
func one(ctx context.Context, job *Job, p *launch.Pipeline, pic *planned, i int, show Show) error {
	bar := show.Console.Steps("Denoising")
	defer bar.Close()
	pic.job.Step = bar.Done
	res, err := p.Generate(ctx, pic.job)
	if err != nil {
		return err
	}
	pic.Result = res
	show.Log(fmt.Sprintf("Pixel data generated successfully in %.2f seconds", res.Total.Seconds()))
	for _, note := range res.Notes {
		show.Console.Lack("%s", note)
	}
	if job.Dir != "" {
		pic.Path = filepath.Join(job.Dir, fileName(job, pic, i))
		if err := atomicfile.Write(pic.Path, func(w io.Writer) error { return res.Picture.PNG(w) }); err != nil {
			return fmt.Errorf("write the image: %w", err)
		}
		show.Log("Output saved to " + pic.Path)
	}
	if job.PerfDump != "" {
		pic.Dump = numbered(job.PerfDump, i)
		if err := writeDump(pic.Dump, job, pic); err != nil {
			return err
		}
		show.Log("Metrics dumped to: " + pic.Dump)
	}
	return nil
}

// writeDump writes an image's timing report atomically.
func writeDump(path string, job *Job, pic *planned) error {
	d := pic.Result.Dump(pic.job.ID, api.DumpGenerate, job.Pipeline.ModelPath)
	d.Meta["prompt"] = []string{pic.Prompt}
	return diffusion.WriteDump(path, d)
}

// writable creates the directories and checks that the files can be written.
func writable(job *Job, all []planned) error {
	for i := range all {
		for _, f := range []struct {
			flag string
			want bool
			path string
		}{
			{"--output-path", job.Dir != "", filepath.Join(job.Dir, fileName(job, &all[i], i))},
			{"--perf-dump-path", job.PerfDump != "", numbered(job.PerfDump, i)},
		} {
			if !f.want {
				continue
			}
			if err := atomicfile.TryFile(f.path); err != nil {
				return fmt.Errorf("%s: nothing can be written there: %w", f.flag, err)
			}
		}
	}
	if job.Profile != nil {
		if err := atomicfile.TryDir(job.Profile.Dir); err != nil {
			return fmt.Errorf("the trace directory: nothing can be written there: %w", err)
		}
	}
	return nil
}
