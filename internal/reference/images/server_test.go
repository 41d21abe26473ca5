package images_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"image/png"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/reference/engine/diffusion"
	"github.com/stepscope/stepscope/internal/reference/images"
	"github.com/stepscope/stepscope/internal/reference/launch"
)

// rig is a server that is stopped at the end of a test.
type rig struct {
	t    *testing.T
	url  string
	stop context.CancelFunc // as SIGTERM does
	over chan error         // receives the result of Serve
}

// tiny is the smallest built-in pipeline.
func tiny(t *testing.T, tp int) (*launch.Pipeline, images.Info) {
	t.Helper()
	p, err := launch.OpenPipeline(launch.PipelineArgs{ModelPath: "builtin:z-image-tiny", DType: "auto", TP: tp, Sigmas: "sglang"}, func(string) {})
	if err == nil {
		err = p.Load()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, images.Info{ModelPath: "builtin:z-image-tiny", Config: p.Config, TP: tp, DType: p.DType}
}

func newRig(t *testing.T, e images.Engine, info images.Info, o images.Options) *rig {
	t.Helper()
	return newRigAt(t, "127.0.0.1:0", e, info, o)
}

func newRigAt(t *testing.T, at string, e images.Engine, info images.Info, o images.Options) *rig {
	t.Helper()
	ln, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	o.Version = "test"
	ctx, cancel := context.WithCancel(context.Background())
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	r := &rig{t: t, url: "http://127.0.0.1:" + port, stop: cancel, over: make(chan error, 1)}
	s := images.New(e, info, o)
	go func() { r.over <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		http.DefaultClient.CloseIdleConnections()
	})
	return r
}

// call sends "METHOD /path" with a body.
func (r *rig) call(what, body string, header ...string) (int, string) {
	r.t.Helper()
	method, path, _ := strings.Cut(what, " ")
	req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

const generations = "POST /v1/images/generations"

// generate makes images.
func (r *rig) generate(body string) *wire.ImageResponse {
	r.t.Helper()
	status, text := r.call(generations, body)
	if status != http.StatusOK {
		r.t.Fatalf("%d %s", status, text)
	}
	var out wire.ImageResponse
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		r.t.Fatal(err)
	}
	return &out
}

// TestGenerations checks the images, the timing report and the trace of a request.
func TestGenerations(t *testing.T) {
	p, info := tiny(t, 2)
	dir := t.TempDir()
	r := newRig(t, p, info, images.Options{OutputDir: filepath.Join(dir, "out"), TraceDir: filepath.Join(dir, "logs")})
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o777); err != nil {
		t.Fatal(err)
	}
	dump := filepath.Join(dir, "new", "dump.json")
	body, err := json.Marshal(map[string]any{
		"prompt": "a cat", "n": 2, "size": "64x32", "num_inference_steps": 3, "guidance_scale": 2, "negative_prompt": "a dog", "seed": 7,
		"perf_dump_path": dump, "profile": true, "num_profiled_timesteps": 2, "user": "who", "style": "vivid",
	})
	if err != nil {
		t.Fatal(err)
	}
	reply := r.generate(string(body))
	if len(reply.Data) != 2 || reply.Created == 0 || reply.InferenceS == nil || reply.PeakMemoryMB == nil {
		t.Fatalf("%+v", reply)
	}
	var pictures [2][]byte
	for i, d := range reply.Data {
		pictures[i], err = base64.StdEncoding.DecodeString(*d.B64)
		if err != nil {
			t.Fatal(err)
		}
		im, err := png.Decode(bytes.NewReader(pictures[i]))
		if err != nil || im.Bounds().Dx() != 64 || im.Bounds().Dy() != 32 {
			t.Fatalf("%v %v", err, im.Bounds())
		}
		if written, err := os.ReadFile(*d.FilePath); err != nil || !bytes.Equal(written, pictures[i]) {
			t.Errorf("%s: %v", *d.FilePath, err)
		}
		if *d.RevisedPrompt != "a cat" {
			t.Errorf("prompt %q", *d.RevisedPrompt)
		}
	}
	if bytes.Equal(pictures[0], pictures[1]) {
		t.Error("two outputs are the same image")
	}
	again := r.generate(`{"prompt":"a cat","width":64,"height":32,"num_inference_steps":3,"guidance_scale":2,"negative_prompt":"a dog","seed":8}`)
	if *again.Data[0].B64 != *reply.Data[1].B64 {
		t.Error("the second output is not that of the next seed")
	}

	text, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	d, err := api.ParsePerfDump(text)
	if err != nil || d.Tag != "server_perf_dump" || d.RequestID != reply.ID || len(d.Steps) != 3 || len(d.Meta) != 3 || d.Meta["model"] != "builtin:z-image-tiny" || d.Meta["width"] != 64.0 || d.Meta["height"] != 32.0 {
		t.Errorf("%+v, %v", d, err)
	}
	traces, err := filepath.Glob(filepath.Join(dir, "logs", reply.ID+"-2_steps-global-rank?.trace.json.gz"))
	if err != nil || len(traces) != 2 {
		t.Errorf("traces %v, %v", traces, err)
	}
}

// TestWrong checks that an invalid request is refused with one line, before any work.
func TestWrong(t *testing.T) {
	p, info := tiny(t, 1)
	r := newRig(t, p, info, images.Options{MaxBodyBytes: 1000})
	for _, c := range []struct {
		what, body string
		status     int
		text       string
	}{
		{generations, "", 400, "the body is empty"},
		{generations, "{", 400, "not valid JSON"},
		{generations, "{}", 400, "prompt: is needed"},
		{generations, `{"prompt":["a"]}`, 400, "prompt: want a string"},
		{generations, `{"prompt":"x","n":0}`, 400, "n: 0; want 1 to 10"},
		{generations, `{"prompt":"x","n":11}`, 400, "n: 11; want 1 to 10"},
		{generations, `{"prompt":"x","size":"60x64"}`, 400, "multiples of 8"},
		{generations, `{"prompt":"x","size":"big"}`, 400, "size: \\\"big\\\" is not a size"},
		{generations, `{"prompt":"x","size":"64x64","width":32}`, 400, "width: 32 contradicts the size 64x64"},
		{generations, `{"prompt":"x","size":"auto","width":60}`, 400, "size 60×128: width and height must be positive multiples of 8"},
		{generations, `{"prompt":"x","guidance_scale":2,"negative_prompt":"` + strings.Repeat("x", 600) + `"}`, 400, "negative prompt has 512 tokens; want 1 to 480"},
		{generations, `{"prompt":"x","size":"80000x80000"}`, 400, "too large"},
		{generations, `{"prompt":"x","num_inference_steps":0}`, 400, "0 inference steps"},
		{generations, `{"prompt":"x","guidance_scale":-1}`, 400, "guidance scale -1"},
		{generations, `{"prompt":"x","response_format":"url"}`, 400, "response_format='url' requires cloud storage to be configured."},
		{generations, `{"prompt":"x","response_format":"gif"}`, 400, "response_format=gif is not supported"},
		{generations, `{"prompt":"x","output_format":"webp"}`, 400, "this server writes only png"},
		{generations, `{"prompt":"x","profile":true,"num_profiled_timesteps":0}`, 400, "num_profiled_timesteps: 0"},
		{generations, `{"prompt":"x","profile_all_stages":true}`, 400, "requires profile"},
		{generations, `{"prompt":"x","perf_dump_path":"/dev/null/x"}`, 400, "perf_dump_path: nothing can be written there"},
		{generations, `{"prompt":"x","perf_dump_path":"/tmp"}`, 400, "is a directory"},
		{generations, `{"prompt":"` + strings.Repeat("x", 1000) + `"}`, 413, "larger than 1000 bytes"},
		{"GET /v1/images/generations", "", 405, "Method Not Allowed"},
		{"POST /v1/images/edits", "", 501, "image edits"},
		{"POST /v1/videos", "{}", 501, "videos"},
		{"GET /v1/models/other", "", 404, "The model 'other' does not exist"},
		{"GET /nothing", "", 404, "Not Found"},
	} {
		status, text := r.call(c.what, c.body)
		if status != c.status || !strings.Contains(text, c.text) || strings.Contains(text, "\n") || !strings.HasPrefix(text, `{"detail":`) {
			t.Errorf("%s %.80s: %d %s; want %d %s", c.what, c.body, status, text, c.status, c.text)
		}
	}
}

// full is an engine without room for any image.
type full struct{ images.Engine }

func (full) Check(*diffusion.Request) error { return errors.New("there is no room") }

// TestNoRoom checks that an image that does not fit is a client error.
func TestNoRoom(t *testing.T) {
	p, info := tiny(t, 1)
	r := newRig(t, full{p}, info, images.Options{})
	if status, text := r.call(generations, `{"prompt":"x"}`); status != 400 || !strings.Contains(text, "there is no room") {
		t.Errorf("%d %s", status, text)
	}
}

// TestInfo checks the fields by which clients recognise a diffusion server.
func TestInfo(t *testing.T) {
	p, info := tiny(t, 1)
	r := newRig(t, p, info, images.Options{Args: map[string]any{"api_key": "secret", "sigmas": "sglang"}})
	for what, want := range map[string]string{
		"GET /health":                         `{"status":"ok"}`,
		"GET /health_generate":                `{"status":"ok"}`,
		"GET /liveness":                       `{"status":"ok"}`,
		"GET /v1/model_info":                  `{"model_path":"builtin:z-image-tiny"}`,
		"GET /model_info":                     `{"model_path":"builtin:z-image-tiny"}`,
		"GET /models":                         `"pipeline_class":"ZImagePipeline","pipeline_name":"ZImagePipeline","task_type":"T2I"`,
		"GET /v1/models":                      `"num_gpus":1,"task_type":"T2I","dit_precision":"bf16","vae_precision":"fp32","pipeline_name":"ZImagePipeline"`,
		"GET /v1/models/builtin:z-image-tiny": `"pipeline_class":"ZImagePipeline"`,
		"GET /server_info":                    `"version":"test"`,
	} {
		status, text := r.call(what, "")
		if status != 200 || !strings.Contains(text, want) || strings.Contains(text, "secret") {
			t.Errorf("%s: %d %s; want %s", what, status, text, want)
		}
	}
}

// TestKeys checks that the key rules are those of the LLM server.
func TestKeys(t *testing.T) {
	p, info := tiny(t, 1)
	r := newRig(t, p, info, images.Options{APIKey: "k"})
	for what, want := range map[string]int{"GET /health": 200, "GET /v1/models": 401, generations: 401, "GET /nothing": 401} {
		if status, text := r.call(what, `{}`); status != want {
			t.Errorf("%s: %d %s; want %d", what, status, text, want)
		}
	}
	if status, text := r.call("GET /v1/models", "", "Authorization", "Bearer k"); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	open := newRig(t, p, info, images.Options{})
	if status, text := open.call("GET /v1/models", "", "Origin", "http://evil.example"); status != 403 {
		t.Errorf("%d %s", status, text)
	}
}

// TestBeyondLoopback checks that files named in requests stay below the profile root, while traces go to the server's
// own directory.
func TestBeyondLoopback(t *testing.T) {
	p, info := tiny(t, 1)
	root, outside, traces := t.TempDir(), t.TempDir(), t.TempDir()
	r := newRigAt(t, "0.0.0.0:0", p, info, images.Options{APIKey: "k", ProfileRoot: root, TraceDir: traces})
	const key, bearer = "Authorization", "Bearer k"
	for status := 0; status != 200; status, _ = r.call("GET /health", "") { // by now it knows its address
	}
	for path, want := range map[string]int{filepath.Join(outside, "d.json"): 403, "../d.json": 403, filepath.Join(root, "sub", "d.json"): 200, "e.json": 200} {
		body := `{"prompt":"x","size":"32x32","num_inference_steps":2,"profile":true,"num_profiled_timesteps":1,"perf_dump_path":"` + path + `"}`
		if status, text := r.call(generations, body, key, bearer); status != want {
			t.Errorf("%s: %d %.100s; want %d", path, status, text, want)
		}
	}
	for _, pattern := range []string{filepath.Join(root, "sub/d.json"), filepath.Join(root, "e.json"), filepath.Join(traces, "*-1_steps-global-rank0.trace.json.gz")} {
		if found, err := filepath.Glob(pattern); err != nil || len(found) == 0 {
			t.Errorf("%s is missing: %v", pattern, err)
		}
	}
	if status, text := r.call("POST /start_profile", `{"output_dir":"`+outside+`"}`, key, bearer); status != 403 {
		t.Errorf("%d %s", status, text)
	}
}

// TestMetrics checks SGLang's names, and the values that an image adds.
func TestMetrics(t *testing.T) {
	p, info := tiny(t, 1)
	r := newRig(t, p, info, images.Options{EnableMetrics: true})
	r.generate(`{"prompt":"x","size":"32x32","num_inference_steps":3}`)
	_, text := r.call("GET /metrics", "")
	for _, want := range []string{
		`sglang:diffusion_num_queue_reqs{role="monolithic",replica="0"} 0.0`,
		`sglang:diffusion_num_running_reqs{role="monolithic",replica="0"} 0.0`,
		`sglang:diffusion_requests_total{role="monolithic",replica="0",status="success",is_warmup="false"} 1.0`,
		`sglang:diffusion_request_latency_seconds_count{role="monolithic",replica="0",status="success",is_warmup="false"} 1.0`,
		`sglang:diffusion_queue_time_seconds_count{role="monolithic",replica="0",is_warmup="false"} 1.0`,
		`sglang:diffusion_stage_host_latency_seconds_count{role="monolithic",replica="0",stage="DecodingStage"} 1.0`,
		`sglang:diffusion_stage_host_latency_seconds_count{role="monolithic",replica="0",stage="DenoisingStep"} 3.0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	off := newRig(t, p, info, images.Options{})
	if status, text := off.call("GET /metrics", ""); status != 404 || !strings.Contains(text, "--enable-metrics") {
		t.Errorf("%d %s", status, text)
	}
}

// slow is an engine whose images take until they are released, or until their context ends.
type slow struct {
	images.Engine
	began chan string
	let   chan struct{}
	ended chan error
}

func (s *slow) Generate(ctx context.Context, job *diffusion.Job) (*diffusion.Result, error) {
	s.began <- job.ID
	select {
	case <-s.let:
		return &diffusion.Result{Picture: &diffusion.Picture{Width: 1, Height: 1, RGB: []byte{1, 2, 3}}}, nil
	case <-ctx.Done():
		s.ended <- context.Cause(ctx)
		return nil, context.Cause(ctx)
	}
}

func newSlow(t *testing.T, o images.Options) (*slow, *rig) {
	p, info := tiny(t, 1)
	s := &slow{Engine: p, began: make(chan string), let: make(chan struct{}), ended: make(chan error, 1)}
	return s, newRig(t, s, info, o)
}

type answer struct {
	status int
	text   string
}

// send sends a request without waiting.
func (r *rig) send() chan answer {
	out := make(chan answer, 1)
	go func() {
		res, err := http.Post(r.url+"/v1/images/generations", "application/json", strings.NewReader(`{"prompt":"x"}`))
		if err != nil {
			out <- answer{0, err.Error()}
			return
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		out <- answer{res.StatusCode, string(text)}
	}()
	return out
}

// TestQueue checks that one image is generated at a time, and that the queue is bounded.
func TestQueue(t *testing.T) {
	s, r := newSlow(t, images.Options{MaxQueued: 1})
	first := r.send()
	<-s.began
	// Of two more requests, one waits and one is refused.
	second, third := r.send(), r.send()
	var refused answer
	select {
	case refused = <-second:
		second = third
	case refused = <-third:
	case id := <-s.began:
		t.Fatalf("%s started while another was running", id)
	}
	if refused.status != 503 || !strings.Contains(refused.text, "the queue is full: 1 requests are waiting") {
		t.Errorf("%d %s", refused.status, refused.text)
	}
	s.let <- struct{}{}
	<-s.began
	s.let <- struct{}{}
	for _, a := range []answer{<-first, <-second} {
		if a.status != 200 {
			t.Errorf("%d %s", a.status, a.text)
		}
	}
}

// TestGone checks that a client that leaves ends the work on its request and frees its place.
func TestGone(t *testing.T) {
	s, r := newSlow(t, images.Options{})
	ctx, leave := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "POST", r.url+"/v1/images/generations", strings.NewReader(`{"prompt":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() {
		_, err := http.DefaultClient.Do(req)
		gone <- err
	}()
	<-s.began
	leave()
	<-gone
	if err := <-s.ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	next := r.send()
	<-s.began
	s.let <- struct{}{}
	if a := <-next; a.status != 200 {
		t.Errorf("%d %s", a.status, a.text)
	}
}

// TestDrain checks that requests have some time to finish at shutdown and are then ended; new ones are refused.
func TestDrain(t *testing.T) {
	s, r := newSlow(t, images.Options{DrainTimeout: time.Minute})
	last := r.send()
	<-s.began
	r.stop()
	s.let <- struct{}{}
	if a := <-last; a.status != 200 {
		t.Errorf("%d %s", a.status, a.text)
	}
	if err := <-r.over; err != nil {
		t.Error(err)
	}

	s, r = newSlow(t, images.Options{DrainTimeout: time.Nanosecond})
	last = r.send()
	<-s.began
	r.stop()
	<-s.ended
	if a := <-last; a.status != 503 || !strings.Contains(a.text, "shutting down") {
		t.Errorf("%d %s", a.status, a.text)
	}
	if err := <-r.over; err != nil {
		t.Error(err)
	}
}
