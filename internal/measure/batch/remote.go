package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/measure/experiment"
	"github.com/stepscope/stepscope/internal/measure/workload"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/trace"
)

// Remote is a batch benchmark on a server, with one request per batch.
type Remote struct {
	*Server
	Data
	How
	Grid
	Name          string // name in each row of the results
	ModelPath     string // model path of a server started for this benchmark; "": the path that the server reports
	TokenizerPath string // directory of a tokenizer.json; "": the directory that the server reports
	Several       bool   // a batch may have more sequences than the server runs at once
	SkipWarmup    bool
	AnyCapacity   bool // a batch may have more tokens than fit in the server's KV cache

	Profile        bool                             // run all batches a second time and record this second pass
	Window         func(Case) (torch.Window, error) // profiling window of a batch in the second pass
	AppendProfiled bool                             // also append the rows of the second pass to the results
	Sessions       string                           // see torch.Options

	ResultName string   // name of the results file, for messages
	Nightly    string   // file that receives all results in the format of SGLang's nightly jobs; "": none
	ServerArgs []string // the server's arguments, written to Nightly
	Report     *Report  // report to print; nil: none
	Summary    bool     // append the report to the job's summary page when running in GitHub Actions

	Say *progress.Console

	keep    *experiment.Batches
	results []*Served
}

// Measure runs all batches that fit and stores their results in keep. If Measure is interrupted, it reports the batches
// that have finished.
func (r *Remote) Measure(ctx context.Context, keep *experiment.Batches) error {
	r.keep = keep
	if err := r.Look(ctx); err != nil {
		return err
	}
	keep.Server(r.Told)
	keep.About(func(m *runs.Manifest) { m.Model = r.model() })
	capacity := strconv.Itoa(r.Capacity)
	if r.AnyCapacity {
		r.Capacity, capacity = math.MaxInt, "inf"
	}
	if !r.VLLM {
		fmt.Fprintf(r.Out, "max_running_requests_per_dp=%d\ndp_size=%d\nskip_max_running_requests_threshold=%d\nskip_token_capacity_threshold=%s\n",
			r.MaxRunning, r.DP, r.MaxRunning*r.DP, capacity)
	}
	if err := r.openData(ctx); err != nil {
		return err
	}
	if !r.SkipWarmup {
		if err := r.warmUp(ctx); err != nil {
			return err
		}
	}
	var cases []Case
	for _, c := range r.Cases() {
		if text := r.Skip(r.Lengths(c), r.Several, r.Lens...); text != "" {
			fmt.Fprintln(r.Out, text)
			keep.Note(strings.Trim(text, "="))
			r.Say.Incomplete()
			continue
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		return errors.New("no batch fits the server: give shorter ones")
	}
	err := r.measure(ctx, cases)
	if err == nil && r.Profile {
		err = r.profile(ctx, cases)
	}
	return errors.Join(r.finish(), err)
}

// openData finds the tokenizer and opens the data set.
func (r *Remote) openData(ctx context.Context) error {
	tok, why, err := workload.Resolve(ctx, workload.Sources{Flag: r.TokenizerPath, Server: r.Server.Server, Model: r.Model})
	if err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), "--tokenizer", "--local-tokenizer-path"))
	}
	if _, guess := tok.(workload.Estimate); guess {
		return fmt.Errorf("prompts need a tokenizer: give --local-tokenizer-path a model directory (%s)", why)
	}
	said := map[string]bool{}
	r.Tok, r.Note = tok, func(text string) {
		if !said[text] {
			said[text] = true
			r.Say.Line(text)
		}
	}
	return r.Open(ctx)
}

// warmupInput and warmupOutput are the lengths of a warm-up sequence in SGLang's tool, in tokens. If the longest
// measured length is shorter, the warm-up uses the longest measured length.
const warmupInput, warmupOutput = 1024, 16

// warmUp sends a warm-up batch of each batch size. All sequences of a warm-up batch have the same lengths, even if
// r.Lens gives different lengths to the measured sequences.
func (r *Remote) warmUp(ctx context.Context) error {
	how, data := r.How, r.Data
	how.CacheHitRate, how.StopAtEOS, data.Lens = 0, false, nil
	sizes := slices.Clone(r.Batches)
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	fmt.Fprintf(r.Out, "======== Warmup Begin ========\nWarmup with batch_size=%s\n", strings.ReplaceAll(fmt.Sprint(sizes), " ", ", "))
	for _, n := range sizes {
		c := Case{Batch: n, Input: min(warmupInput, slices.Max(r.Inputs)), Output: min(warmupOutput, slices.Max(r.Outputs))}
		if r.Skip(data.Lengths(c), r.Several) != "" {
			continue
		}
		p, err := data.Prompts(ctx, c)
		if err != nil {
			return err
		}
		if _, err := r.Run(ctx, "", p, how, nil); err != nil {
			return fmt.Errorf("warm-up: %w", err)
		}
	}
	fmt.Fprintf(r.Out, "======== Warmup End   ========\n\n")
	return nil
}

func (r *Remote) measure(ctx context.Context, cases []Case) error {
	for _, c := range cases {
		p, err := r.Prompts(ctx, c)
		if err != nil {
			return err
		}
		s, err := r.Run(ctx, r.Name, p, r.How, nil)
		if err != nil {
			return err
		}
		r.results = append(r.results, s)
		r.keep.Add(s.Batch(false))
		if err := r.keep.Rows.Add(s); err != nil {
			return err
		}
		fmt.Fprintln(r.Out)
	}
	return nil
}

// profile runs all batches again with a profiling window open. A failure in one batch does not affect the other
// batches.
func (r *Remote) profile(ctx context.Context, cases []Case) error {
	for i, c := range cases {
		s, err := r.profileOne(ctx, c, r.results[i].reference())
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.keep.Note(fmt.Sprintf("the traces of %s may be missing: %v", c.Name(), err))
			r.Say.Lack("batch size %d, input_len %d: Error profiling, some profile traces may not be dumped: %v", c.Batch, c.Input, err)
		}
		if s == nil {
			continue
		}
		r.results[i].ProfileDir = s.ProfileDir
		r.keep.Add(s.Batch(true))
		if r.AppendProfiled {
			if err := r.keep.Rows.Add(s); err != nil {
				return err
			}
		}
		fmt.Fprintln(r.Out)
	}
	return nil
}

// profileOne records one batch. The argument ref holds the step times without a profiler; nil: unknown.
func (r *Remote) profileOne(ctx context.Context, c Case, ref *trace.Reference) (*Served, error) {
	p, err := r.Prompts(ctx, c)
	if err != nil {
		return nil, err
	}
	w, err := r.Window(c)
	if err != nil {
		return nil, err
	}
	var session *torch.Session
	dir := ""
	start := func() error {
		session, err = torch.Start(ctx, []torch.Target{{URL: r.URL, Header: r.Header}}, w, torch.Options{Log: r.Say.Line, LoadFollows: true, Sessions: r.Sessions})
		if err == nil {
			dir = session.Dir()
			fmt.Fprintf(r.Out, "Dump profiling traces to %s\n", dir)
			r.Say.Line("What follows is of the recorded pass, which is slower")
		}
		return err
	}
	s, err := r.Run(ctx, r.Name, p, r.How, start)
	if session == nil {
		return nil, err
	}
	if ctx.Err() != nil {
		_, err := session.Collect(ctx, dir) // Collect leaves no profiler running
		return nil, err
	}
	// If a batch has fewer steps than the window, the window is still open when the batch ends.
	if stopErr := session.Stop(ctx); err == nil {
		err = stopErr
	}
	if err != nil {
		return s, err
	}
	res, err := session.Collect(ctx, dir)
	if err != nil {
		return s, err
	}
	if res.Incomplete() {
		r.Say.Incomplete()
	}
	for i := range res.Servers {
		server := &res.Servers[i]
		if ref != nil && len(res.Servers) == 1 && len(server.Traces) > 0 {
			server.Refer(ref)
		}
		fmt.Fprintf(r.Out, "%s\n", strings.Join(server.Lines(), "\n"))
	}
	r.keep.Capture(c.Name(), res)
	s.ProfileDir = res.Dir
	return s, nil
}

// finish reports the results.
func (r *Remote) finish() error {
	if err := r.keep.Rows.Close(); err != nil {
		return err
	}
	if r.ResultName != "" && len(r.results) > 0 {
		fmt.Fprintf(r.Out, "Results are saved to %s\n", r.ResultName)
	}
	if r.Nightly != "" {
		if err := atomicfile.Named(r.Nightly, atomicfile.Write(r.Nightly, r.nightly)); err != nil {
			return err
		}
	}
	if r.Report == nil || len(r.results) == 0 {
		return nil
	}
	r.Report.HourlyCost *= float64(r.TP)
	text := r.Report.Text(r.results)
	if _, err := io.WriteString(r.Out, text); err != nil {
		return err
	}
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if !r.Summary || path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("GITHUB_STEP_SUMMARY: %w", err)
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// model returns the model's path, or the server's name for the model.
func (r *Remote) model() string {
	told, _ := r.Told["model_path"].(string)
	return cmp.Or(r.ModelPath, r.Model, told)
}
