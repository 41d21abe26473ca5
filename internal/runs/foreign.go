package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/bench"
)

// Names of other benchmark clients.
const (
	ofSGLang = "SGLang's bench_serving"
	ofVLLM   = "vllm bench serve"
	ofAIPerf = "aiperf"
)

// Foreign is the result file of another benchmark client.
type Foreign struct {
	Tool    string
	Run     bench.Run
	Totals  bench.Totals
	Records []bench.Record // nil: the file has no values of single requests
	Timed   bool           // the records have send times
	Notes   []string       // what was left out or is inexact
}

const (
	mostForeign  = 1 << 30 // bytes of a file
	foreignHead  = 1 << 16 // bytes in which such a file shows what it is
	mostRequests = 1 << 24
)

// IsForeign reports whether a file looks like the result of another benchmark client.
func IsForeign(path string) bool {
	if ext := filepath.Ext(path); ext != ".json" && ext != ".jsonl" {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, _ := io.ReadAll(io.LimitReader(f, foreignHead))
	has := func(key string) bool { return bytes.Contains(head, []byte(`"`+key+`"`)) }
	return has("request_throughput") && has("completed") || has("request_start_ns") && has("metrics") || has("aiperf_version")
}

// ReadForeign reads the result file of another benchmark client: a line of SGLang's bench_serving, the JSON of vllm
// bench serve --save-result, or aiperf's profile_export.jsonl or profile_export_aiperf.json.
func ReadForeign(path string) (*Foreign, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.Size() > mostForeign {
		return nil, fmt.Errorf("%s: %d MB: a result may have %d MB", path, st.Size()>>20, mostForeign>>20)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := parseForeign(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.Totals.ID, f.Totals.Run = filepath.Base(path), &f.Run
	return f, nil
}

// object is a JSON object whose members are decoded when they are needed.
type object map[string]json.RawMessage

// Load returns the load for a comparison.
func (f *Foreign) Load() bench.Load {
	return bench.Load{ID: f.Totals.ID, Runs: []bench.Measured{{Run: &f.Run, Records: f.Records}}}
}

// Keep adds the file, its key figures and, if they have send times, its requests to a run.
func (f *Foreign) Keep(r *Run, path string) error {
	format := strings.TrimPrefix(filepath.Ext(path), ".")
	source, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	// The file is copied, not linked, because clients append to their files.
	copied := func(w io.Writer) error { _, err := io.Copy(w, in); return err }
	if err := r.Write(File{Path: "result." + format, Kind: KindFigures, Format: format, Source: source}, copied); err != nil {
		return err
	}
	numbers := f.numbers()
	if f.Timed {
		sum := bench.Summarize(f.Records, &f.Run, bench.Options{})
		numbers = Numbers(sum)
		if err := f.keepRequests(r, sum); err != nil {
			return err
		}
	}
	return r.Update(func(m *Manifest) { m.Numbers, m.Notes = numbers, append(m.Notes, f.Notes...) })
}

func (f *Foreign) keepRequests(r *Run, sum *bench.Summary) error {
	if err := r.WriteJSON(File{Path: "run.json", Kind: KindRun, Format: "json"}, []*bench.Run{&f.Run}); err != nil {
		return err
	}
	if err := r.WriteJSON(File{Path: "summary.json", Kind: KindSummary, Format: "json"}, []*bench.Summary{sum}); err != nil {
		return err
	}
	w, err := r.WriteRecords()
	if err != nil {
		return err
	}
	for i := range f.Records {
		if err := w.Add(&f.Records[i]); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	return w.Close()
}

// Numbers returns the key figures of a load.
func Numbers(sum *bench.Summary) (out []Number) {
	number := func(name string, v float64, unit string) {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out = append(out, Number{Name: name, Value: v, Unit: unit})
		}
	}
	if !sum.Lacks(bench.Rates) {
		number("request throughput", sum.RequestRate, "req/s")
		number("output throughput", sum.OutputRate, "tok/s")
	}
	number("failed", float64(sum.Requests-sum.Completed), "req")
	if sum.TTFT.N > 0 {
		number("TTFT p50", sum.TTFT.Median/1e6, "ms")
		number("TTFT p99", sum.TTFT.P99/1e6, "ms")
	}
	if sum.ITL.N > 0 {
		number("ITL p50", sum.ITL.Median/1e6, "ms")
		number("ITL p99", sum.ITL.P99/1e6, "ms")
	}
	return out
}

// totalNames are the names of key figures.
var totalNames = []struct {
	metric, figure, name, unit string
	scale                      float64
}{
	{"request_throughput", "mean", "request throughput", "req/s", 1}, {"output_throughput", "mean", "output throughput", "tok/s", 1},
	{"ttft", "median", "TTFT p50", "ms", 1e-6}, {"ttft", "p99", "TTFT p99", "ms", 1e-6}, {"itl", "median", "ITL p50", "ms", 1e-6}, {"itl", "p99", "ITL p99", "ms", 1e-6},
}

// numbers returns the key figures among totals.
func (f *Foreign) numbers() (out []Number) {
	for _, n := range totalNames {
		for _, t := range f.Totals.Totals {
			if t.Metric == n.metric && t.Figure == n.figure {
				out = append(out, Number{Name: n.name, Value: t.Value * n.scale, Unit: n.unit})
			}
		}
	}
	return append(out, Number{Name: "failed", Value: float64(f.Totals.Failed), Unit: "req"})
}

func parseForeign(text []byte) (*Foreign, error) {
	dec := json.NewDecoder(bytes.NewReader(strictJSON(text)))
	var all []object
	for {
		var o object
		err := dec.Decode(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("result %d is not a JSON object: %w", len(all)+1, err)
		}
		if all = append(all, o); len(all) > mostRequests {
			return nil, fmt.Errorf("over %d lines", mostRequests)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("it is empty")
	}
	last := all[len(all)-1]
	var f *Foreign
	var err error
	switch {
	case last["metadata"] != nil && last["metrics"] != nil:
		return aiperfRecords(all)
	case last["aiperf_version"] != nil || last["request_latency"] != nil:
		f, err = aiperfTotals(last)
	case last["mean_ttft_ms"] == nil || last["duration"] == nil:
		return nil, errors.New("this is no result of SGLang's bench_serving, vllm bench serve or aiperf")
	case last["total_token_throughput"] != nil || last["model_id"] != nil || last["tokenizer_id"] != nil:
		f, err = clientResult(last, ofVLLM)
	default:
		f, err = clientResult(last, ofSGLang)
	}
	if err == nil && len(all) > 1 {
		f.Notes = append(f.Notes, fmt.Sprintf("the file has %d results: the last one is used", len(all)))
	}
	return f, err
}

// strictJSON replaces the numbers that only Python writes, NaN and Infinity, with null.
func strictJSON(text []byte) []byte {
	if !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
		return text
	}
	out := make([]byte, 0, len(text))
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\' && i+1 < len(text):
			out = append(out, c)
			i++
			c = text[i]
		case c == '"':
			quoted = !quoted
		case !quoted:
			word := ""
			for _, w := range []string{"NaN", "Infinity", "-Infinity"} {
				if bytes.HasPrefix(text[i:], []byte(w)) {
					word = w
				}
			}
			if word != "" {
				out = append(out, "null"...)
				i += len(word) - 1
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// number returns a member that is a finite number.
func (o object) number(key string) (float64, bool) {
	var v *float64
	if json.Unmarshal(o[key], &v) != nil || v == nil || math.IsInf(*v, 0) || math.Abs(*v) > 1e15 {
		return 0, false
	}
	return *v, true
}

func (o object) text(keys ...string) string {
	for _, key := range keys {
		var s string
		if json.Unmarshal(o[key], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// count returns a member that is a number of things.
func (o object) count(key string) int {
	v, _ := o.number(key)
	return int(min(max(v, 0), 1<<53))
}

// add adds a figure if the object has it.
func (f *Foreign) add(o object, key, metric, figure string, unit bench.Unit, scale float64) {
	if v, ok := o.number(key); ok && v >= 0 {
		f.Totals.Totals = append(f.Totals.Totals, bench.Total{Metric: metric, Figure: figure, Unit: unit, Higher: unit == bench.PerSecond, Value: v * scale})
	}
}

// setRequests sets the numbers of requests.
func (f *Foreign) setRequests(all, failed int) {
	s := &f.Totals.Side
	s.Backend, s.Model, s.Runs, s.Requests, s.Failed = f.Run.Backend, f.Run.Model, 1, all, failed
	if all > 0 {
		f.Totals.Totals = append(f.Totals.Totals, bench.Total{Metric: "failed", Figure: "mean", Unit: bench.Share, Value: float64(failed) / float64(all)})
	}
}

func firstText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// longest bounds a time in s, so that sums of times fit into an int64.
const longest = 1e8

func nanoseconds(seconds float64) int64 { return int64(min(max(seconds, 0), longest) * 1e9) }

// newRecord returns the record of a request that has no reply yet. at is its send time in ns.
func newRecord(index int, at float64, input, output int) bench.Record {
	sent := nanoseconds(at / 1e9)
	return bench.Record{
		Index: index, Scheduled: sent, Released: sent, Connected: bench.Never, Sent: sent, Headers: bench.Never, FirstAny: bench.Never,
		First: bench.Never, Visible: bench.Never, Last: bench.Never, Done: sent, PromptLen: max(input, 0), TextLen: max(input, 0), AskedLen: max(output, 0),
		OutputLen: max(output, 0), Retokenized: -1, CachedTokens: -1, DPRank: -1, OutputFrom: bench.FromServer,
	}
}

// fail marks a request as failed.
func fail(r *bench.Record, why string) {
	why, _, _ = strings.Cut(strings.TrimSpace(why), "\n")
	r.Failure, r.Error = bench.ServerError, firstText(why, "no token")
}

// arrive adds the events of a reply: the time to the first, and the gaps between the others, in s.
func arrive(r *bench.Record, ttft float64, gaps []float64) {
	at := r.Sent + nanoseconds(ttft)
	tokens := -1 // in each event
	if len(gaps)+1 == r.OutputLen {
		tokens = 1
	}
	r.Status, r.First, r.FirstAny, r.Visible = 200, at, at, at
	r.Chunks = append(r.Chunks, bench.Chunk{At: at, Tokens: tokens, Text: true})
	for _, gap := range gaps {
		at = min(at+nanoseconds(gap), math.MaxInt64/4)
		r.Chunks = append(r.Chunks, bench.Chunk{At: at, Tokens: tokens, Text: true})
	}
	r.Last, r.Done = at, at
}
