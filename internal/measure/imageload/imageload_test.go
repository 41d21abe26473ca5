package imageload

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/reference/images"
	"github.com/stepscope/stepscope/internal/reference/launch"
)

var update = flag.Bool("update", false, "write golden files")

// options returns the options of a command line without flags.
func options(t *testing.T, url string) *Options {
	t.Helper()
	s, err := client.New(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Options{
		Server: s, Model: "default", Dataset: "random", NumPrompts: 10, Outputs: 1, Concurrency: 1, Rate: math.Inf(1), RandomSeed: 42, SLOScale: 3,
		Warmups: 1, WarmupSteps: 1, Ready: time.Minute, Timeout: time.Minute, Console: &progress.Console{W: io.Discard},
	}
}

// TestServed runs a load on a server in this process.
func TestServed(t *testing.T) {
	p, err := launch.OpenPipeline(launch.PipelineArgs{ModelPath: "builtin:z-image-tiny", DType: "auto", TP: 1, Sigmas: "sglang"}, func(string) {})
	if err == nil {
		err = p.Load()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := images.New(p, images.Info{ModelPath: "builtin:z-image-tiny", Config: p.Config, TP: 1, DType: p.DType}, images.Options{})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	o := options(t, "http://"+ln.Addr().String())
	o.NumPrompts, o.Concurrency, o.Outputs, o.Rate, o.SLO, o.SLOScale = 4, 2, 2, 1000, true, 1e6
	o.RandomConfig = `[{"weight": 1, "width": 32, "height": 32, "num_inference_steps": 2}, {"weight": 1, "width": 64, "height": 32}]`
	o.Extra = map[string]json.RawMessage{"seed": json.RawMessage("7")}
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Model != "builtin:z-image-tiny" || r.Task != "text-to-image" || r.Completed != 4 || r.CompletedOutputs != 8 || r.Failed != 0 || *r.Met != 4 || *r.Attainment != 1 || !(r.P99 > 0) {
		t.Errorf("%+v", r)
	}

	// Failed requests are counted, and the reason is reported once.
	o.RandomConfig, o.SLO, o.Warmups = `[{"weight": 1, "width": 30, "height": 30}]`, false, 0
	r, err = Run(context.Background(), o)
	if err != nil || r.Completed != 0 || r.Failed != 4 || len(r.Failures) != 1 || !strings.Contains(r.Failures[0], "multiples of 8") {
		t.Errorf("%+v, %v", r, err)
	}
	o.Warmups = 1
	if _, err = Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "warm-up request 1 of 1 failed") {
		t.Error(err)
	}
}

// TestTimeout checks that a request fails after its timeout, both without a reply and with an endless one.
func TestTimeout(t *testing.T) {
	for name, reply := range map[string]func(w http.ResponseWriter){
		"silent": func(http.ResponseWriter) {},
		"dripping": func(w http.ResponseWriter) {
			io.WriteString(w, `{"data": [`)
			w.(http.Flusher).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			end := make(chan struct{})
			hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/v1/models":
					fmt.Fprint(w, `{"data": [{"id": "m", "task_type": "T2I"}]}`)
				case "/v1/images/generations":
					io.Copy(io.Discard, r.Body)
					reply(w)
					select {
					case <-r.Context().Done():
					case <-end:
					}
				}
			}))
			defer hs.Close()
			defer close(end)
			o := options(t, hs.URL)
			o.NumPrompts, o.Warmups, o.Timeout = 2, 0, 20*time.Millisecond
			r, err := Run(context.Background(), o)
			if err != nil || r.Failed != 2 || len(r.Failures) != 1 || r.Failures[0] != "not finished within 20ms" {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// TestReplies checks how the replies of a server are counted, and that requests have the server's header.
func TestReplies(t *testing.T) {
	const ok = `{"data": [{"b64_json": "aa"}, {"b64_json": "bb"}], "peak_memory_mb": null}`
	for _, tt := range []struct {
		status       int
		reply, extra string
		outputs      int
		want         string
	}{
		{200, ok, "", 2, ""},
		{200, `{"data": [{"b64_json": "` + strings.Repeat("a", 20<<20) + `"}]}`, "", 1, ""},
		{200, `{"data": []}`, "", 0, "the reply has no image"},
		{200, `{"error": {"message": "out of memory"}}`, "", 0, "out of memory"},
		{200, `{"data": [{`, "", 0, "the reply is neither an event stream nor a JSON object: "},
		{307, ok, "", 0, "the server answers with a redirect (307 Temporary Redirect) to http://other.example/, which is not followed"},
		{400, `{"detail": "too large"}`, "", 0, "400 Bad Request: too large"},
		{200, ok, `{"model": "other", "n": 7}`, 2, ""},
	} {
		hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer secret" {
				t.Errorf("%s has no key", r.URL.Path)
			}
			if r.URL.Path != "/v1/images/generations" {
				fmt.Fprint(w, `{"data": [{"id": "m", "task_type": "T2I"}]}`)
				return
			}
			var body map[string]any
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil || (body["model"] == "other") != (tt.extra != "") || (body["n"] == 7.0) != (tt.extra != "") {
				t.Errorf("body %v, %v", body, err)
			}
			w.Header().Set("Location", "http://other.example/")
			w.WriteHeader(tt.status)
			io.WriteString(w, tt.reply)
		}))
		o := options(t, hs.URL)
		o.Server.Header = client.KeyHeader("secret")
		o.NumPrompts, o.Warmups = 1, 0
		if tt.extra != "" {
			if err := json.Unmarshal([]byte(tt.extra), &o.Extra); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Run(context.Background(), o)
		hs.Close()
		if err != nil || r.CompletedOutputs != tt.outputs || !strings.HasPrefix(strings.Join(r.Failures, "\n"), tt.want) || r.Failed != min(len(tt.want), 1) {
			t.Errorf("%d %.60s: %+v, %v; want %s", tt.status, tt.reply, r, err, tt.want)
		}
	}
}

// TestInterrupted checks that an interrupted load has no result, in the warm-up and afterwards.
func TestInterrupted(t *testing.T) {
	stopped := errors.New("stopped")
	for _, warmups := range []int{0, 1} {
		ctx, stop := context.WithCancelCause(context.Background())
		hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/images/generations" {
				io.Copy(io.Discard, r.Body)
				stop(stopped)
				<-r.Context().Done()
			}
			fmt.Fprint(w, `{"data": [{"id": "m", "task_type": "T2I"}]}`)
		}))
		o := options(t, hs.URL)
		o.Warmups = warmups
		if r, err := Run(ctx, o); r != nil || err != stopped {
			t.Errorf("%d warm-ups: %+v, %v", warmups, r, err)
		}
		hs.Close()
	}
}

// TestFlow checks the order of requests and routes, and which options are rejected.
func TestFlow(t *testing.T) {
	card := `{"id": "m", "task_type": "T2I", "pipeline_class": "QwenImagePipeline"}`
	var inFlight, most atomic.Int32
	bodies := make(chan map[string]any, 10)
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/health":
		case "/v1/model_info":
			fmt.Fprint(w, `{"model_path": "Qwen/Qwen-Image"}`)
		case "/v1/models":
			fmt.Fprintf(w, `{"object": "list", "data": [%s]}`, card)
		case "/v1/images/generations":
			most.Store(max(most.Load(), inFlight.Add(1)))
			defer inFlight.Add(-1)
			var body map[string]any
			json.NewDecoder(r.Body).Decode(&body)
			bodies <- body
			fmt.Fprint(w, `{"id": "x", "created": 1, "data": [{"b64_json": "aa"}], "peak_memory_mb": 25469.5, "inference_time_s": 1.5, "usage": null}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer hs.Close()
	o := options(t, hs.URL)
	o.NumPrompts, o.Width, o.Height, o.Steps, o.WarmupSteps = 2, 512, 256, 20, 3
	r, err := Run(context.Background(), o)
	if err != nil || r.Model != "Qwen/Qwen-Image" || r.PeakMedian != 25469.5 || most.Load() != 1 {
		t.Errorf("%+v, %v, %d at once", r, err, most.Load())
	}
	for i, steps := range []float64{3, 20, 20} {
		b := <-bodies
		if b["model"] != "Qwen/Qwen-Image" || b["size"] != "512x256" || b["n"] != 1.0 || b["response_format"] != "b64_json" || b["num_inference_steps"] != steps {
			t.Errorf("request %d: %v", i, b)
		}
		if prompt := fmt.Sprintf("Random prompt %d for benchmarking diffusion models", max(i-1, 0)); b["prompt"] != prompt {
			t.Errorf("request %d: prompt %v; want %s", i, b["prompt"], prompt)
		}
	}
	for c, want := range map[string]string{
		`{"id": "m", "task_type": "T2V"}`: "task text-to-video: only text-to-image is supported here",
		`{"id": "llama"}`:                 "is not a diffusion server",
	} {
		card = c
		if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// TestMix compares with Python: random.Random(42).choices("abc", weights=[1, 2, .5], k=10).
func TestMix(t *testing.T) {
	o := options(t, "http://localhost")
	o.RandomConfig = `[{"weight": 1, "width": 1, "height": 1}, {"weight": 2, "width": 2, "height": 1}, {"weight": 0.5, "width": 3, "height": 1}]`
	all, err := o.requests(nil)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, r := range all {
		got += string(rune('a' - 1 + r.width))
	}
	if got != "baaabbcaba" {
		t.Error(got)
	}
}

// TestExpected checks that the expected latency of a request grows with its pixels and steps, based on the warm-up.
func TestExpected(t *testing.T) {
	o := options(t, "http://localhost")
	o.SLOScale = 3
	for _, tt := range []struct {
		request
		work float64
	}{
		{request{width: 32, height: 32, steps: 2}, 8},
		{request{width: 64, height: 32}, 8}, // the model's own steps: one
		{request{width: 24, height: 16, steps: 4}, 6},
		{request{width: 8, height: 8, steps: 5}, 5}, // at least a square
		{request{height: 8, steps: 5}, 0},
	} {
		all := []request{tt.request}
		if o.expect(all, 0.5); tt.request.work() != tt.work || all[0].slo != 0.5*tt.work*3 {
			t.Errorf("%+v: work %v, want %v, and %v ms", tt.request, tt.request.work(), tt.work, all[0].slo)
		}
	}

	// Each takes 100 ms, including a large one in the warm-up: small ones are expected to take a thousandth of that.
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/images/generations" {
			time.Sleep(100 * time.Millisecond)
		}
		fmt.Fprint(w, `{"data": [{"b64_json": "aa", "task_type": "T2I"}]}`)
	}))
	defer hs.Close()
	o = options(t, hs.URL)
	o.SLO, o.SLOScale, o.Concurrency, o.Width, o.Height = true, 0.1, 0, 16, 16
	o.RandomConfig = `[{"weight": 1}, {"weight": 1, "width": 512, "num_inference_steps": 32}]`
	all, err := o.requests(nil)
	if err != nil || all[0].width != 512 {
		t.Fatal(err, all)
	}
	large := 0
	for _, r := range all {
		large += r.width / 512
	}
	o.WarmupSteps = 32
	for scale, want := range map[float64]int{0.1: 0, 20: large} {
		o.SLOScale = scale
		r, err := Run(context.Background(), o)
		if err != nil || r.Completed != 10 || *r.Met != want || *r.Attainment != float64(want)/10 {
			t.Errorf("scale %v: %+v, %v, want %d in time", scale, r, err, want)
		}
	}
	if large == 10 {
		t.Error("all requests are large")
	}
}

// TestCheck checks that invalid values are reported before the server is asked.
func TestCheck(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"--task video-to-video: only": func(o *Options) { o.Task = "video-to-video" },
		"--task poetry: give one of":  func(o *Options) { o.Task = "poetry" },
		"give both or none":           func(o *Options) { o.Width = 3 },
		"--slo-scale NaN":             func(o *Options) { o.SLOScale = math.NaN() },
		"give --width and --height":   func(o *Options) { o.SLO = true },
		"give --warmup-requests":      func(o *Options) { o.SLO, o.Warmups, o.Width, o.Height = true, 0, 8, 8 },
		"20}]': the JSON object that ends at byte 1 has the wrong type": func(o *Options) { o.RandomConfig = `{}` },
		"needs a weight":                         func(o *Options) { o.RandomConfig = `[{"width": 8}]` },
		"no profile has a weight above 0":        func(o *Options) { o.RandomConfig = `[]` },
		"unknown field":                          func(o *Options) { o.RandomConfig = `[{"weight": 1, "hight": 8}]` },
		"8 frames: videos are not supported":     func(o *Options) { o.RandomConfig = `[{"weight": 1, "num_frames": 8}]` },
		"-1; sizes, steps and outputs":           func(o *Options) { o.RandomConfig = `[{"weight": 1, "width": -1}]` },
		"--dataset-path goes with":               func(o *Options) { o.DatasetPath = "x" },
		"--random-request-config goes with":      func(o *Options) { o.Dataset, o.RandomConfig = "vbench", `[]` },
		"--dataset-path: open no/such/file":      func(o *Options) { o.Dataset, o.DatasetPath = "vbench", "no/such/file" },
		"--dataset-path: /dev/null has no promp": func(o *Options) { o.Dataset, o.DatasetPath = "vbench", "/dev/null" },
	} {
		o := options(t, "http://localhost")
		change(o)
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// TestPrompts checks that a file's prompts are repeated if there are too few.
func TestPrompts(t *testing.T) {
	path := t.TempDir() + "/p.txt"
	if err := os.WriteFile(path, []byte("one\n\n  two \n"), 0o666); err != nil {
		t.Fatal(err)
	}
	o := options(t, "http://localhost")
	o.Dataset, o.DatasetPath, o.NumPrompts = "vbench", path, 3
	all, err := o.requests(nil)
	if err != nil || all[0].prompt != "one" || all[1].prompt != "two" || all[2].prompt != "one" {
		t.Errorf("%v %v", all, err)
	}
	t.Setenv("HOME", t.TempDir())
	o.DatasetPath = ""
	said := ""
	all, err = o.requests(func(line string) { said = line })
	if err != nil || all[2].prompt != "A cat sitting on a bench" || !strings.Contains(said, "nothing is downloaded") {
		t.Errorf("%v %v %s", all, err, said)
	}
}

// TestPrint checks the figures of known outcomes, on the console and in the file.
func TestPrint(t *testing.T) {
	o := options(t, "http://localhost")
	o.SLO, o.Outputs = true, 2
	var all []request
	var outcomes []outcome
	for i := range 10 {
		all = append(all, request{slo: 500})
		outcomes = append(outcomes, outcome{latency: time.Duration(i+1) * 100 * time.Millisecond, Images: make([]struct{}, 2), PeakMB: float64(1000 + i)})
	}
	all, outcomes = append(all, request{slo: 500}), append(outcomes, outcome{failure: "no"})
	r := &Result{Task: "text-to-image", Model: "a/model", Dataset: "random", Rate: 2, Asked: 11, SLO: true, Metrics: o.metrics(all, outcomes, 8*time.Second)}
	var got bytes.Buffer
	if err := r.Print(&got); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(&got); err != nil {
		t.Fatal(err)
	}
	const path = "testdata/print.golden"
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}
