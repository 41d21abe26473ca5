package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/capture/torch"
)

// serverFlags select the server that a client calls. The flags are those of SGLang's clients.
type serverFlags struct {
	BaseURL    string `name:"url" aliases:"base-url" placeholder:"URL" help:"URL of the server, such as http://HOST:30000; default: --host and --port."`
	Host       string `name:"host" default:"localhost" without:"pods|lws: pods are reached through the API server" help:"Host of the server, if --url is not given."`
	Port       int    `name:"port" default:"30000" without:"pods|lws: pods are reached through the API server" help:"Port of the server."`
	APIKey     string `name:"api-key" env:"STEPSCOPE_API_KEY" placeholder:"KEY" help:"Key of the server; default: OPENAI_API_KEY or API_KEY."`
	APIKeyFile string `name:"api-key-file" into:"api-key" placeholder:"FILE" help:"File that holds only the server's key, for --api-key."`
}

func (f *serverFlags) server() (*client.Server, error) {
	base := f.BaseURL
	if base == "" {
		host := f.Host
		if host == "0.0.0.0" { // servers listen on this address, but clients cannot call it
			host = "127.0.0.1"
		}
		base = fmt.Sprintf("http://%s:%d", host, f.Port)
	}
	s, err := client.New(base, client.KeyHeader(f.APIKey))
	if err != nil {
		return nil, usagef("%v", err)
	}
	return s, nil
}

// sendCmd is "send", the counterpart of SGLang's test.send_one.
type sendCmd struct {
	serverFlags
	podFlags
	BatchSize        int      `name:"batch-size" limits:"1.." default:"1" help:"Sequences in the request."`
	DifferentPrompts bool     `name:"different-prompts" help:"Give each sequence of a batch its own prompt."`
	Prompt           string   `name:"prompt" default:"Human: Write a small web server with FastAPI, with all its code.\n\nAssistant:" help:"The prompt."`
	RandomInputLen   int      `name:"random-input-len" placeholder:"N" limits:"0.." help:"A prompt of N random token ids instead."`
	RandomVocab      int      `name:"random-input-vocab-size" default:"32768" limits:"1.." help:"The random ids are below this number."`
	Temperature      float64  `name:"temperature" default:"0" help:"Sampling temperature; 0 is greedy."`
	MaxNewTokens     int      `name:"max-new-tokens" default:"512" help:"Maximum tokens to generate."`
	MinNewTokens     int      `name:"min-new-tokens" help:"Minimum tokens to generate."`
	FrequencyPenalty float64  `name:"frequency-penalty" default:"0" help:"Make tokens less likely the more often they occurred (0: no penalty)."`
	PresencePenalty  float64  `name:"presence-penalty" default:"0" help:"Make tokens less likely that occurred before (0: no penalty)."`
	IgnoreEOS        bool     `name:"ignore-eos" help:"Continue after an end-of-text token."`
	Stop             []string `name:"stop" sep:"none" placeholder:"TEXT" help:"End at any of these texts."`
	Seed             *int64   `name:"seed" placeholder:"N" help:"Seed of the sampling and of random prompts."`
	JSON             bool     `name:"json" without:"batch-size!=1|random-input-len: it sends one fixed question" help:"Ask for a JSON object (json_schema)."`
	ReturnLogprob    bool     `name:"return-logprob" help:"Ask for log probabilities."`
	Stream           bool     `name:"stream" help:"Print the text as it arrives."`
	Profile          bool     `name:"profile" help:"Arm the server's profiler before the request, and collect its traces below SGLANG_TORCH_PROFILER_DIR here, else the server's, else /tmp."`
	ProfileSteps     int      `name:"profile-steps" limits:"1.." default:"5" needs:"profile" help:"Steps to record, per stage with --profile-by-stage."`
	ProfileByStage   bool     `name:"profile-by-stage" needs:"profile" help:"Record prefill and decode separately."`
	ProfilePrefix    string   `name:"profile-prefix" placeholder:"NAME" needs:"profile" help:"Prefix of the trace names."`
}

// Help returns the end of the verb's help text.
func (c *sendCmd) Help() string {
	return `Examples:
  stepscope send --max-new-tokens 64 --stream
  stepscope send --url http://host:30000 --prompt "Why is the sky blue?" --temperature 0.7
  stepscope send --pods app=sglang --stream
  stepscope send --batch-size 4 --random-input-len 1024 --ignore-eos
  stepscope send --profile --profile-steps 5 --profile-by-stage`
}

// BeforeReset returns an error if two flags give the address of the server.
func (c *sendCmd) BeforeReset(k *kong.Context) error {
	for _, name := range []string{"host", "port"} {
		if given(k, "url") && given(k, name) {
			return usagef("--url has host and port: leave out --%s", name)
		}
	}
	return nil
}

// Run sends the request.
func (c *sendCmd) Run(ctx context.Context, e *env) error {
	s, err := c.server()
	if err != nil {
		return err
	}
	o := torch.Options{Log: e.Line, LoadFollows: true, Sessions: new(runPlace).windows()}
	pods, err := c.one(ctx, e)
	if err != nil {
		return err
	}
	if pods != nil {
		reachPods(pods, &o)
		s.URL, s.HTTP = pods.Servers[0].URL, o.Client
	}
	if !c.Profile {
		return c.send(ctx, e, s)
	}
	return c.profiled(ctx, e, s, o)
}

// profiled sends the request while a profiling window is open.
func (c *sendCmd) profiled(ctx context.Context, e *env, s *client.Server, o torch.Options) error {
	dir, err := profilesDir("")
	if err != nil {
		return err
	}
	w := torch.Window{OutputDir: dir, NumSteps: c.ProfileSteps, ByStage: c.ProfileByStage, Prefix: c.ProfilePrefix}
	if err := w.Check(); err != nil {
		return usagef("%v", err)
	}
	fmt.Fprintf(e.stdout, "Running profiler with %d steps...\n", c.ProfileSteps)
	session, err := torch.Start(ctx, []torch.Target{{URL: s.URL, Header: s.Header}}, w, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "Dump profiling traces to %s\n", session.Dir())
	err = c.send(ctx, e, s)
	if ctx.Err() == nil { // a reply may have fewer steps than the window
		err = errors.Join(err, session.Stop(ctx))
	}
	res, collectErr := session.Collect(ctx, session.Dir()) // Collect also stops the profiler
	if err = errors.Join(err, collectErr); err != nil || ctx.Err() != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	if res.Incomplete() {
		e.Incomplete()
	}
	for i := range res.Servers {
		fmt.Fprintln(e.stdout, strings.Join(res.Servers[i].Lines(), "\n"))
	}
	return nil
}

// send sends one request and prints the reply.
func (c *sendCmd) send(ctx context.Context, e *env, s *client.Server) error {
	var last client.Event
	shown := 0
	err := s.Generate(ctx, c.body(), func(ev *client.Event) {
		if ev.Index != 0 {
			return // only the first sequence of a batch is printed
		}
		last = *ev
		if c.Stream && len(ev.Text) >= shown {
			io.WriteString(e.stdout, ev.Text[shown:])
			shown = len(ev.Text)
		}
	})
	if refused, ok := errors.AsType[*client.Refused](err); ok && refused.Status == http.StatusNotFound {
		if f := servers.Of(ctx, s); f.Kind.Row().Advice.Backend != "" {
			return fmt.Errorf("this is %s, and send needs SGLang's /generate: stepscope bench serving --url %s --backend %s --dataset-name random --num-prompts 1 sends a request to it", &f, s.URL, f.Kind.Row().Advice.Backend)
		}
	}
	if err != nil {
		return err
	}
	if c.Stream {
		fmt.Fprintln(e.stdout)
	} else {
		fmt.Fprintln(e.stdout, last.Text)
	}
	fmt.Fprintln(e.stdout)
	return c.print(e.stdout, &last.Meta)
}

// body returns the request body in the form that SGLang's client sends.
func (c *sendCmd) body() map[string]any {
	sampling := map[string]any{
		"temperature": c.Temperature, "max_new_tokens": c.MaxNewTokens, "frequency_penalty": c.FrequencyPenalty,
		"presence_penalty": c.PresencePenalty, "json_schema": nil, "stop": c.Stop,
	}
	if c.Seed != nil {
		sampling["sampling_seed"] = *c.Seed
	}
	if c.MinNewTokens > 0 {
		sampling["min_new_tokens"] = c.MinNewTokens
	}
	if c.IgnoreEOS {
		sampling["ignore_eos"] = true
	}
	body := map[string]any{"sampling_params": sampling, "return_logprob": c.ReturnLogprob, "stream": c.Stream}
	prompts := make([]string, c.BatchSize)
	for i := range prompts {
		prompts[i] = c.Prompt
		if c.DifferentPrompts {
			prompts[i] = fmt.Sprintf("Test case %d: %s", i+1, c.Prompt)
		}
	}
	switch {
	case c.RandomInputLen > 0:
		ids := c.randomIDs()
		if body["input_ids"] = ids; c.BatchSize == 1 {
			body["input_ids"] = ids[0]
		}
	case c.JSON:
		sampling["json_schema"] = "$$ANY$$"
		body["text"] = "Human: What is the capital of France? Give three facts about it, as JSON.\nAssistant:"
	case c.BatchSize == 1:
		body["text"] = c.Prompt
	default:
		body["text"] = prompts
	}
	return body
}

func (c *sendCmd) randomIDs() [][]int32 {
	var seed uint64 = rand.Uint64()
	if c.Seed != nil {
		seed = uint64(*c.Seed)
	}
	rnd := rand.New(rand.NewPCG(seed, 0))
	out := make([][]int32, c.BatchSize)
	for i := range out {
		if i > 0 && !c.DifferentPrompts {
			out[i] = out[0]
			continue
		}
		for range c.RandomInputLen {
			out[i] = append(out[i], rnd.Int32N(int32(c.RandomVocab)))
		}
	}
	return out
}

// print writes the table in the format of SGLang's client.
func (c *sendCmd) print(w io.Writer, m *client.Meta) error {
	accept, speed := 1.0, 0.0
	if m.SpecVerifyCt > 0 {
		accept = float64(m.CompletionTokens) / float64(m.SpecVerifyCt)
	}
	if m.E2ELatency > 0 {
		speed = float64(m.CompletionTokens) / m.E2ELatency
	}
	lines := columns.Table(columns.Boxed, columns.All(columns.AlignCenter, "Latency (s)", "Tokens", "Acc Length", "Speed (token/s)"), [][]string{{
		fmt.Sprintf("%.3f", m.E2ELatency), fmt.Sprint(m.CompletionTokens), fmt.Sprintf("%.3f", accept), fmt.Sprintf("%.2f", speed),
	}})
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}
