package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// This file writes the line that SGLang's bench_serving appends to its output file, with the same keys in the same
// order (docs/formats/bench.md).

// LineOptions select the content of a line.
type LineOptions struct {
	// Python means that values without a JSON form are written in Python's notation: Infinity and NaN. If Python is
	// false, an infinite request rate is written as "inf", and every other value without a JSON form as null.
	Python  bool
	Details bool // add the lists with one value per request
	Cache   bool // add the key cache_report and the lists of cached tokens
}

// WriteJSONL writes one line with a single call of Write, so a line appended to a file is either complete or absent.
func WriteJSONL(w io.Writer, s *Summary, run *Run, records []Record, o LineOptions) error {
	l := line{python: o.Python, buf: []byte{'{'}}
	l.arguments(run)
	l.results(s)
	if o.Cache {
		l.cache(s.Cache)
	}
	l.window(s.Window)
	if o.Details {
		l.details(records, run, o.Cache)
	}
	if l.err != nil {
		return fmt.Errorf("write benchmark record: %w", l.err)
	}
	_, err := w.Write(append(l.buf, '}', '\n'))
	return err
}

type line struct {
	buf    []byte
	python bool
	err    error
}

func (l *line) key(name string) {
	if last := l.buf[len(l.buf)-1]; last != '{' {
		l.buf = append(l.buf, ", "...)
	}
	l.buf = append(strconv.AppendQuote(l.buf, name), ": "...)
}

func (l *line) put(name string, v any) {
	l.key(name)
	l.value(v)
}

func (l *line) value(v any) {
	if f, ok := v.(float64); ok {
		l.float(f)
		return
	}
	text, err := json.Marshal(v)
	if err != nil && l.err == nil {
		l.err = err
	}
	l.buf = append(l.buf, text...)
}

func (l *line) float(f float64) {
	switch {
	case !math.IsNaN(f) && !math.IsInf(f, 0):
		l.buf = append(l.buf, metric.PythonFloat(f)...)
	case !l.python:
		l.buf = append(l.buf, "null"...)
	case math.IsNaN(f):
		l.buf = append(l.buf, "NaN"...)
	case f > 0:
		l.buf = append(l.buf, "Infinity"...)
	default:
		l.buf = append(l.buf, "-Infinity"...)
	}
}

// list writes a list of n values.
func (l *line) list(name string, n int, value func(i int)) {
	l.key(name)
	l.buf = append(l.buf, '[')
	for i := range n {
		if i > 0 {
			l.buf = append(l.buf, ", "...)
		}
		value(i)
	}
	l.buf = append(l.buf, ']')
}

func (l *line) arguments(run *Run) {
	l.put("tag", orNull(run.Tag))
	l.put("backend", run.Backend)
	l.put("dataset_name", run.Dataset)
	switch {
	case run.Traced:
		l.put("request_rate", "trace")
	case run.Rate > 0:
		l.put("request_rate", run.Rate)
	case l.python:
		l.put("request_rate", math.Inf(1))
	default:
		l.put("request_rate", "inf")
	}
	l.put("max_concurrency", orNull(run.MaxConcurrency))
	l.put("sharegpt_output_len", run.arg("sharegpt_output_len", nil))
	l.put("random_input_len", run.arg("random_input_len", 1024))
	l.put("random_output_len", run.arg("random_output_len", 1024))
	l.put("random_range_ratio", run.arg("random_range_ratio", 0.0))
	l.put("server_info", orNullMap(run.ServerInfo))
}

func (l *line) results(s *Summary) {
	l.put("duration", float64(s.Duration)/1e9)
	l.put("completed", s.Completed)
	l.put("total_input_tokens", s.InputTokens)
	l.put("total_input_text_tokens", s.TextTokens)
	l.put("total_input_vision_tokens", s.VisionTokens)
	l.put("total_output_tokens", s.OutputTokens)
	if s.Retokenized < 0 {
		l.put("total_output_tokens_retokenized", nil)
	} else {
		l.put("total_output_tokens_retokenized", s.Retokenized)
	}
	l.figures(s)
	l.goodput(s)
}

// figures writes the figures measured over time.
func (l *line) figures(s *Summary) {
	rate := func(name string, v any) {
		if s.Lacks(Rates) {
			v = math.NaN()
		}
		l.put(name, v)
	}
	rate("request_throughput", s.RequestRate)
	rate("input_throughput", s.InputRate)
	rate("output_throughput", s.OutputRate)
	rate("total_throughput", s.TotalRate)
	for _, f := range []struct {
		name string
		of   Stats
	}{{"e2e_latency", s.E2E}, {"ttft", s.TTFT}, {"tpot", s.TPOT}, {"itl", s.ITL}} {
		for _, x := range f.of.six() {
			v := x.Value / 1e6
			if f.of.N == 0 {
				v = math.NaN() // NaN: no value, which differs from 0
			}
			l.put(x.Name+"_"+f.name+"_ms", v)
		}
	}
	rate("concurrency", s.Concurrency)
	if s.AcceptLength > 0 {
		l.put("accept_length", s.AcceptLength)
	} else {
		l.put("accept_length", nil)
	}
	rate("max_output_tokens_per_s", s.MaxOutputRate)
	rate("max_concurrent_requests", s.MaxConcurrent)
}

// goodput writes the keys of SGLang's --goodput. The values are null if they were not measured, or if too little of the
// run lies outside its profiling window.
func (l *line) goodput(s *Summary) {
	g := s.Goodput
	value := func(v float64) float64 { return v }
	if g == nil && s.Window != nil {
		g = s.Window.Whole.Goodput
		value = func(float64) float64 { return math.NaN() }
	}
	if g != nil && !g.Measured() {
		value = func(float64) float64 { return math.NaN() }
	}
	if g != nil {
		limits, met := line{python: l.python, buf: []byte{'{'}}, line{python: l.python, buf: []byte{'{'}}
		for i, o := range g.SLO {
			limits.put(o.Metric(), float64(o.Limit)/1e6)
			met.put(o.Metric(), value(g.Met[i]))
		}
		l.put("goodput_slos_ms", json.RawMessage(append(limits.buf, '}')))
		l.put("request_goodput", value(g.Rate))
		l.put("slo_attainment", value(g.Share))
		l.put("slo_attainment_by_metric", json.RawMessage(append(met.buf, '}')))
	}
}

// window writes a key that SGLang's client does not have. The key describes the profiling windows and gives the figures
// of the whole run. The figures outside this key exclude the touched time.
func (l *line) window(w *Window) {
	if w == nil {
		return
	}
	in := line{python: l.python, buf: []byte{'{'}}
	in.list("spans", len(w.Spans), func(i int) {
		in.value([2]float64{float64(w.Spans[i].From) / 1e9, float64(w.Spans[i].To) / 1e9})
	})
	in.put("touched_requests", w.Touched)
	in.put("untouched_duration", float64(w.Untouched)/1e9)
	in.put("lacks", w.Lacks)
	whole := line{python: l.python, buf: []byte{'{'}}
	whole.figures(w.Whole)
	whole.goodput(w.Whole)
	in.key("whole_run")
	in.buf = append(append(in.buf, whole.buf...), '}')
	l.key("profile_window")
	l.buf = append(append(l.buf, in.buf...), '}')
}

func (l *line) cache(c *Cache) {
	if c == nil {
		c = &Cache{}
	}
	in := line{python: l.python, buf: []byte{'{'}}
	in.put("total_prompt_tokens", c.Prompt)
	in.put("total_cached_tokens", c.Cached)
	in.put("cache_hit_rate_pct", math.Round(c.HitRate*1e4)/1e2)
	for _, f := range []struct {
		name string
		n    int
		said bool
	}{{"device", c.Device, c.Details}, {"host", c.Host, c.Details}, {"storage", c.Storage, c.Storage > 0}} {
		if f.said {
			in.put(f.name+"_cached_tokens", f.n)
		} else {
			in.put(f.name+"_cached_tokens", nil)
		}
	}
	in.put("storage_backend", orNull(c.Backend))
	l.key("cache_report")
	l.buf = append(append(l.buf, in.buf...), '}')
}

// details writes the lists with one value per request. Requests are in plan order, whatever the order of the records,
// and times are in seconds. A request without a token has no TTFT, whereas SGLang gives it a TTFT of 0.
func (l *line) details(records []Record, run *Run, cache bool) {
	records = slices.Clone(records)
	sorts.Stable(records, func(a, b Record) int { return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Turn, b.Turn)) })
	n := len(records)
	l.list("input_lens", n, func(i int) { l.value(records[i].PromptLen) })
	l.list("output_lens", n, func(i int) {
		if records[i].failure(run.Embedding()) != "" {
			l.value(0)
			return
		}
		l.value(records[i].OutputLen)
	})
	l.list("ttfts", n, func(i int) {
		v := math.NaN()
		if ns, ok := records[i].TTFT(); ok {
			v = float64(ns) / 1e9
		}
		l.float(v)
	})
	l.list("itls", n, func(i int) {
		l.buf = append(l.buf, '[')
		for k, v := range records[i].itls(run.native()) {
			if k > 0 {
				l.buf = append(l.buf, ", "...)
			}
			l.float(v / 1e9)
		}
		l.buf = append(l.buf, ']')
	})
	l.list("generated_texts", n, func(i int) { l.value(records[i].Text) })
	l.list("errors", n, func(i int) { l.value(records[i].Error) })
	if cache {
		l.list("cached_tokens", n, func(i int) { l.value(max(records[i].CachedTokens, 0)) })
		l.list("cached_tokens_details", n, func(i int) { l.value(orNullMap(records[i].CachedDetails)) })
	}
}

// FileName returns the name of the default output file of SGLang's client. The file is in the current directory. Its
// name consists of the backend, the day and the load.
func FileName(run *Run, now time.Time) string {
	day := now.Format("0102")
	n, in, out := run.arg("num_prompts", 1000), run.arg("random_input_len", 1024), run.arg("random_output_len", 1024)
	switch {
	case run.Dataset == "image":
		return fmt.Sprintf("%s_%s_%v_%v_%v_%vimgs_%v.jsonl", run.Backend, day, n, in, out, run.arg("image_count", 1), run.arg("image_resolution", "1080p"))
	case strings.HasPrefix(run.Dataset, "random"):
		return fmt.Sprintf("%s_%s_%v_%v_%v.jsonl", run.Backend, day, n, in, out)
	}
	return fmt.Sprintf("%s_%s_%v_%s.jsonl", run.Backend, day, n, run.Dataset)
}

// arg returns the value of a flag of the run, whose name may be spelled with _ or -. If the flag is not set, it returns
// the value passed as otherwise, which is the default of SGLang's client.
func (r *Run) arg(name string, otherwise any) any {
	for _, k := range []string{name, strings.ReplaceAll(name, "_", "-")} {
		if v, ok := r.Args[k]; ok {
			return v
		}
	}
	return otherwise
}

func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

func orNullMap(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}
