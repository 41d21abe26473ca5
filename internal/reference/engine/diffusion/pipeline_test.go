package diffusion

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// tiny returns the smallest built-in pipeline on the given number of ranks, and a request for it.
func tiny(t *testing.T, tp int, device func(int) device.Options) (*Pipeline, Request) {
	t.Helper()
	return tinyWith(t, tp, device, Options{})
}

func tinyWith(t *testing.T, tp int, device func(int) device.Options, opt Options) (*Pipeline, Request) {
	t.Helper()
	c, src, tok, err := Open("builtin:z-image-tiny", false)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPipeline(c, src, engine.TeamOptions{Sizes: engine.Sizes{TP: tp}, Host: "here", Device: device}, opt, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	prompt, _, err := Prompt(tok, "a cat")
	if err != nil {
		t.Fatal(err)
	}
	return p, Request{Prompt: prompt, Width: 64, Height: 64, Steps: 7, Seed: 1, Schedule: SGLang}
}

// spans are the spans in a trace that match one name pattern, in order.
func spans(tr *trace.Trace, pattern string) (names []string, lengths []float64) {
	re := regexp.MustCompile("^(?:" + pattern + ")$")
	for i := range tr.Spans {
		s := &tr.Spans[i]
		if name := tr.Strings.Get(s.Name); re.MatchString(name) && s.Cat == trace.UserAnnotation {
			names, lengths = append(names, name), append(lengths, float64(s.Dur))
		}
	}
	return names, lengths
}

func readTrace(t *testing.T, path string) *trace.Trace {
	t.Helper()
	sets, err := set.Find([]string{path})
	if err != nil || len(sets) != 1 {
		t.Fatalf("%s: %d sets, %v", path, len(sets), err)
	}
	traces, failures, err := read.ReadSet(context.Background(), sets[0], read.Options{})
	if err != nil || len(failures) > 0 || len(traces) != 1 {
		t.Fatalf("%s: %d traces, %v, %v", path, len(traces), failures, err)
	}
	return traces[0]
}

// TestWindows checks that each window has exactly the requested steps, on every rank.
func TestWindows(t *testing.T) {
	stages := []string{"InputValidationStage", "TextEncodingStage", "LatentPreparationStage", "TimestepPreparationStage", "denoising_stage", "decoding_stage"}
	for _, tp := range []int{1, 2} {
		p, q := tiny(t, tp, nil)
		for _, c := range []struct {
			name     string
			profile  Profile
			from, to int // denoising steps in the trace
			note     string
		}{
			{"1_steps", Profile{Steps: 1}, 1, 2, ""},
			{"5_steps", Profile{Steps: 5}, 1, 6, ""},
			{"6_steps", Profile{Steps: 6}, 1, 7, ""},
			{"9_steps", Profile{Steps: 9}, 1, 7, "hold 6 of 9 denoising steps"},
			{"7_steps", Profile{Steps: All}, 0, 7, ""},
			{"full_stages", Profile{Steps: 5, AllStages: true}, 0, 7, ""},
		} {
			t.Run(fmt.Sprintf("TP%d_%s", tp, c.name), func(t *testing.T) {
				c.profile.Dir, c.profile.Record = t.TempDir(), device.RecordOptions{CPU: true, GPU: true}
				job := &Job{Request: q, ID: api.NewUUID(), Profile: &c.profile}
				res, err := p.Generate(context.Background(), job)
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(res.Notes, " "); (got == "") != (c.note == "") || !strings.Contains(got, c.note) {
					t.Errorf("notes %q; want %q", got, c.note)
				}
				if len(res.Traces) != tp {
					t.Fatalf("traces %v", res.Traces)
				}
				for rank, path := range res.Traces {
					if want := fmt.Sprintf("%s-%s-global-rank%d.trace.json.gz", job.ID, c.name, rank); filepath.Base(path) != want {
						t.Errorf("%s; want %s", path, want)
					}
					tr := readTrace(t, path)
					var want, torch []string
					for i := c.from; i < c.to; i++ {
						want = append(want, fmt.Sprintf("denoising_step_%d_t", i))
						torch = append(torch, fmt.Sprintf("ProfilerStep#%d", i))
					}
					got, _ := spans(tr, `denoising_step_\d+_t.*`)
					if len(got) != len(want) || !slices.EqualFunc(got, want, strings.HasPrefix) {
						t.Errorf("rank %d: %v; want %v", rank, got, want)
					}
					if c.profile.AllStages {
						torch = nil
					}
					if got, _ := spans(tr, `ProfilerStep#\d+`); !slices.Equal(got, torch) {
						t.Errorf("rank %d: %v; want %v", rank, got, torch)
					}
					var all []string
					if c.profile.AllStages {
						for _, s := range stages {
							all = append(all, "STAGE "+s)
						}
					}
					if got, _ := spans(tr, `STAGE .*`); !slices.Equal(got, all) {
						t.Errorf("rank %d: %v; want %v", rank, got, all)
					}
				}
			})
		}
	}
}

// TestTimes checks that the stages add up to the total and agree with the spans in the trace of the same run. The
// machine may take the processor away between two clock readings, but not in every run.
func TestTimes(t *testing.T) {
	p, q := tiny(t, 1, nil)
	p.log = func(string) { time.Sleep(2 * time.Millisecond) } // time spent on logging must not count
	var wrong []string
	for range 5 {
		if wrong = disagree(t, p, q); len(wrong) == 0 {
			return
		}
	}
	t.Error(wrong)
}

// disagree lists the inconsistent times of a run.
func disagree(t *testing.T, p *Pipeline, q Request) (wrong []string) {
	t.Helper()
	job := &Job{Request: q, ID: "x", Profile: &Profile{AllStages: true, Dir: t.TempDir(), Record: device.RecordOptions{CPU: true, GPU: true}}}
	res, err := p.Generate(context.Background(), job)
	if err != nil {
		t.Fatal(err)
	}
	d := res.Dump(job.ID, api.DumpGenerate, "tiny")
	sum := 0.0
	for _, s := range d.Stages {
		sum += s.MS
	}
	if sum > d.TotalMS || sum < 0.99*d.TotalMS {
		wrong = append(wrong, fmt.Sprintf("stages of %.3f ms in %.3f ms", sum, d.TotalMS))
	}
	tr := readTrace(t, res.Traces[0])
	compare := func(what string, ms, ns float64) {
		// Two clocks are read in succession.
		if math.Abs(ms*1e6-ns) > max(0.02*ns, 50e3) {
			wrong = append(wrong, fmt.Sprintf("%s: %.3f ms in the report, %.3f ms in the trace", what, ms, ns/1e6))
		}
	}
	_, lengths := spans(tr, "STAGE .*")
	for i, s := range d.Stages {
		compare(s.Name, s.MS, lengths[i])
	}
	_, lengths = spans(tr, `denoising_step_.*`)
	for i, s := range d.Steps {
		compare(fmt.Sprintf("step %d", i), s.MS, lengths[i])
	}
	return wrong
}

// TestSeeds checks that a seed determines the image, whatever the number of workers.
func TestSeeds(t *testing.T) {
	picture := func(p *Pipeline, q Request) []byte {
		res, err := p.Generate(context.Background(), &Job{Request: q})
		if err != nil {
			t.Fatal(err)
		}
		return res.Picture.RGB
	}
	p, q := tiny(t, 1, nil)
	one := picture(p, q)
	if !slices.Equal(one, picture(p, q)) {
		t.Error("the same seed gave two images")
	}
	many, _ := tiny(t, 1, func(int) device.Options { return device.Options{Workers: 3} })
	if !slices.Equal(one, picture(many, q)) {
		t.Error("a different number of workers gave a different image")
	}
	q.Seed++
	if slices.Equal(one, picture(p, q)) {
		t.Error("two seeds gave the same image")
	}
}

// TestCheck checks that impossible requests are refused before any work.
func TestCheck(t *testing.T) {
	p, ok := tiny(t, 1, nil)
	for want, change := range map[string]func(*Request){
		"0 inference steps":                    func(q *Request) { q.Steps = 0 },
		"multiples of 8":                       func(q *Request) { q.Width = 60 },
		"size 64×0":                            func(q *Request) { q.Height = 0 },
		"too large":                            func(q *Request) { q.Width = 1 << 20 },
		"guidance scale -1":                    func(q *Request) { q.Guidance = -1 },
		"without a negative prompt":            func(q *Request) { q.Guidance = 2 },
		"prompt has 0 tokens":                  func(q *Request) { q.Prompt = nil },
		"prompt has 481 tokens; want 1 to 480": func(q *Request) { q.Prompt = make([]int32, 481) },
		"negative prompt has 481 tokens":       func(q *Request) { q.Negative, q.Guidance = make([]int32, 481), 2 },
		"noise of 3 values":                    func(q *Request) { q.Noise = make([]float32, 3) },
	} {
		q := ok
		change(&q)
		if _, err := p.Generate(context.Background(), &Job{Request: q}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	c, src, _, err := Open("testdata", true)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	q := ok
	q.Width, q.Height = c.Default.Width, c.Default.Height
	if err := c.Check(&q, 0); err != nil || q.Width != 256 || q.Height != 256 {
		t.Errorf("without a size it is %d×%d: %v", q.Width, q.Height, err)
	}
	for _, path := range []string{"nowhere", t.TempDir(), "builtin:z-image-huge"} {
		if _, _, _, err := Open(path, false); err == nil {
			t.Errorf("%s was opened", path)
		}
	}
}

// TestMemory checks that an image that does not fit into a rank's memory is refused before any work.
func TestMemory(t *testing.T) {
	p, q := tiny(t, 1, func(int) device.Options { return device.Options{Memory: 1 << 20} })
	if _, err := p.Generate(context.Background(), &Job{Request: q}); err == nil || !strings.Contains(err.Error(), "size 64×64 needs about") {
		t.Errorf("%v", err)
	}
	q.Width, q.Height = 256, 256 // the forward passes determine the size, not the decoder
	alone := p.cfg.memory(&q)
	q.Negative = q.Prompt
	unguided := p.cfg.memory(&q)
	q.Guidance = 2
	if both := p.cfg.memory(&q); unguided != alone || both < alone*5/4 {
		t.Errorf("an image takes %d bytes, with guidance %d, with a negative prompt but no guidance %d", alone, both, unguided)
	}
}

// TestStopped checks that an interrupt ends a run between two steps on all ranks, which can then run the next job.
func TestStopped(t *testing.T) {
	p, q := tiny(t, 2, nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	steps := 0
	job := &Job{Request: q, Step: func(done, _ int) {
		steps = done
		if done == 2 {
			cancel()
		}
	}}
	// Another rank may have begun the next step before it saw the interrupt.
	if _, err := p.Generate(ctx, job); !errors.Is(err, context.Canceled) || steps > 3 {
		t.Errorf("%d steps were done, %v", steps, err)
	}
	if _, err := p.Generate(context.Background(), &Job{Request: q}); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// TestScheduler checks that a shift that depends on the number of tokens needs two different token counts.
func TestScheduler(t *testing.T) {
	for scheduler, want := range map[string]string{
		`{"base_image_seq_len": 256, "max_image_seq_len": 256, "base_shift": 0.5, "max_shift": 1.15}`:                            "",
		`{"base_image_seq_len": 256, "max_image_seq_len": 4096, "use_dynamic_shifting": true}`:                                   "",
		`{"base_image_seq_len": 256, "max_image_seq_len": 256, "use_dynamic_shifting": true, "base_shift": 0.5, "max_shift": 1}`: "are both 256",
	} {
		files := map[string][]byte{}
		for part, text := range builtins["z-image-tiny"] {
			files[part] = []byte(text)
		}
		files["scheduler"] = []byte(scheduler)
		c := &Config{}
		if err := c.parse(files); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || len(c.Notes) > 0 {
			t.Errorf("%s: %v, %q; want %q", scheduler, err, c.Notes, want)
		}
	}
}
