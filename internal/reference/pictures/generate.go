// Package pictures makes pictures of prompts with the embedded pipeline, as SGLang's sglang generate does: it loads, warms
// up, generates one picture after the other, and leaves pictures, traces and reports of times.
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

// Job is what is to be generated: each prompt in each size, so many times.
type Job struct {
	Pipeline    launch.PipelineArgs
	Prompts     []string
	Negative    string
	Seed        uint64
	Sizes       []Size   // none: the model's
	Steps       *int     // nil: the model's
	Guidance    *float64 // nil: the model's
	Outputs     int      // of each prompt and size
	Dir, Name   string   // of pictures; Dir "": none is written, Name "": it is made
	WarmupSteps int      // 0: no warm-up
	WarmupSizes []Size   // none: the first picture's
	PerfDump    string   // "": none
	Profile     *Profile // nil: none
}

// Size is that of a picture, in pixels.
type Size struct{ Width, Height int }

// Profile says what is recorded of each picture, see diffusion.Profile.
type Profile struct {
	Steps     int
	AllStages bool
	Dir       string
}

// Show is where a run tells how it is going.
type Show struct {
	Log     func(line string)
	Console *progress.Console
}

// Picture is one that was made.
type Picture struct {
	Prompt string
	Size   Size
	Steps  int
	Result *diffusion.Result
	Path   string // "": not written
	Dump   string // path; "": none
}

// Run makes the pictures. What is wrong with the request is found before the first one.
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

// planned is a picture to be made.
type planned struct {
	Picture
	job *diffusion.Job
}

// plan gives all pictures, and those that warm up for them, each checked.
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

// warm gives pictures like the first one that nobody counts, in each size that was asked for.
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

// one makes picture i and writes what is wanted of it.
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
			return fmt.Errorf("write the picture: %w", err)
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

// writeDump writes the report of a picture's times, whole or not at all.
func writeDump(path string, job *Job, pic *planned) error {
	d := pic.Result.Dump(pic.job.ID, api.DumpGenerate, job.Pipeline.ModelPath)
	d.Meta["prompt"] = []string{pic.Prompt}
	return diffusion.WriteDump(path, d)
}

// writable makes the directories and tries what is to be written.
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
			return fmt.Errorf("the directory of traces: nothing can be written there: %w", err)
		}
	}
	return nil
}
