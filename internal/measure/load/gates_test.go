package load

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/measure/workload"
)

// timed is a piece of a reply and the time of its receipt, in ms.
type timed struct {
	at   float64
	text string
}

// received feeds a reply to a request sent at 0 and returns its record.
func received(backendName string, reply []timed) bench.Record {
	return *flown(backendName, Options{}, reply).rec
}

func flown(backendName string, opt Options, reply []timed) *flight {
	opt.Backend, opt.Stream = backendName, true
	opt.defaults()
	b, _ := backend(backendName)
	f := &flight{run: &run{opt: &opt, target: &target{Backend: b, opt: &opt}}, recs: make([]bench.Record, 1), req: &workload.Request{OutputLen: 16}}
	if err := f.prepare(); err != nil {
		panic(err)
	}
	f.open(0)
	f.rec.Sent = 0
	for _, p := range reply {
		f.user = int64(p.at * 1e6)
		f.feed([]byte(p.text), f.user)
	}
	f.land(nil)
	return f
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func completion(text, finish string, usage any) string {
	e := map[string]any{"choices": []any{map[string]any{"index": 0, "text": text, "finish_reason": nil}}, "usage": usage}
	if finish != "" {
		e["choices"].([]any)[0].(map[string]any)["finish_reason"] = finish
	}
	out, _ := json.Marshal(e)
	return "data: " + string(out) + "\n\n"
}

func used(tokens int) string {
	return fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":32,"completion_tokens":%d}}`+"\n\n", tokens)
}

// streamed is a reply of 16 tokens: the first after 100 ms, then one every 10 ms. each is the number of tokens of an
// event, at sets the time of receipt of the event at a time, usage is the server's count, and end is the time of the
// usage.
func streamed(each, usage int, end float64, at func(ms float64) float64) []timed {
	out := []timed{{at(0), streamHead}}
	for k := each; k <= 16; k += each {
		out = append(out, timed{at(100 + 10*float64(k-1)), chunk("", completion(strings.Repeat("w ", each), "", nil))})
	}
	return append(out, timed{at(end), chunk("", completion("", "length", nil)) + chunk("", used(usage)) + chunk("", "data: [DONE]\n\n") + "0\r\n\r\n"})
}

func asSent(ms float64) float64 { return ms }

// whole is a reply that is not a stream.
func whole(usage string) []timed {
	body := `{"choices":[{"index":0,"text":"` + strings.Repeat("w ", 16) + `","finish_reason":"length"}]` + usage + `}`
	return []timed{{250, plain("application/json", body)}}
}

// TestGates: a gate passes only measured latencies. Each fault has a healthy twin. Truth: TTFT 100 ms, TPOT 10 ms.
func TestGates(t *testing.T) {
	const passes, misses, unmeasured = "passes", "misses", "not measured"
	buffered := func(step float64) func(float64) float64 { // events arrive one after the other when the reply is complete
		return func(ms float64) float64 { return 260 + (ms-100)/10*step }
	}
	healthy := streamed(1, 16, 251, asSent)
	for _, c := range []struct {
		name, slo string
		reply     []timed
		others    []timed // replies of 199 other requests; nil: as reply
		want      string
	}{
		{"a proxy buffers, one read", "tpot:15", streamed(1, 16, 251, buffered(0)), nil, unmeasured},
		{"a proxy buffers, read by read", "tpot:15", streamed(1, 16, 251, buffered(0.09)), nil, unmeasured},
		{"its TTFT", "ttft:500", streamed(1, 16, 251, buffered(0.09)), nil, unmeasured},
		{"its longest gap", "itl:15", streamed(1, 16, 251, buffered(0.09)), nil, unmeasured},
		{"its end", "e2e:500", streamed(1, 16, 251, buffered(0.09)), nil, passes},
		{"a fast server", "tpot:15", streamed(1, 16, 251, func(ms float64) float64 { return 100 + (ms-100)/20 }), nil, passes},
		{"no proxy", "tpot:15,ttft:500,itl:15", healthy, nil, passes},
		{"no proxy, slow", "tpot:9", healthy, nil, misses},
		{"stream ignored", "tpot:15", whole(`,"usage":{"prompt_tokens":32,"completion_tokens":16}`), nil, unmeasured},
		{"stream ignored, TTFT", "ttft:500", whole(`,"usage":{"prompt_tokens":32,"completion_tokens":16}`), nil, unmeasured},
		{"stream ignored, no usage", "tpot:15", whole(""), nil, unmeasured},
		{"one token, not a stream", "tpot:15,ttft:500", whole(`,"usage":{"prompt_tokens":32,"completion_tokens":1}`), nil, passes},
		{"usage of 0 tokens", "tpot:15", streamed(1, 0, 251, asSent), nil, unmeasured},
		{"usage of 1 token", "tpot:15", streamed(1, 1, 251, asSent), nil, unmeasured},
		{"usage 300 ms late", "tpot:15", streamed(1, 16, 550, asSent), nil, passes},
		{"usage 300 ms late, slow", "tpot:9", streamed(1, 16, 550, asSent), nil, misses},
		{"four tokens in an event", "tpot:11", streamed(4, 16, 251, asSent), nil, passes},
		{"all tokens in one event", "tpot:15", streamed(16, 16, 251, asSent), nil, unmeasured},
		{"all tokens in one event, TTFT", "ttft:500", streamed(16, 16, 251, asSent), nil, passes},
		{"one request of 200", "tpot:15", whole(`,"usage":{"prompt_tokens":32,"completion_tokens":16}`), healthy, passes},
		{"one request of 200 was read late", "tpot:15", streamed(1, 16, 251, buffered(0)), healthy, passes},
	} {
		t.Run(c.name, func(t *testing.T) {
			var records []bench.Record
			for i := range 200 {
				reply := c.reply
				if i > 0 && c.others != nil {
					reply = c.others
				}
				r := received("vllm", reply)
				r.Index = i
				records = append(records, r)
			}
			bench.MarkHeld(records)
			slo, err := bench.ParseSLO(c.slo)
			if err != nil {
				t.Fatal(err)
			}
			s := bench.Summarize(records, &bench.Run{Backend: "vllm", Duration: 1e9}, bench.Options{SLO: slo})
			got := passes
			switch g := s.Goodput; {
			case s.Completed < s.Requests:
				t.Fatalf("%+v", s.Failures)
			case !g.Measured():
				got = unmeasured
			case g.Short(0.95) != "":
				got = misses
			}
			if got != c.want || got == unmeasured && s.Unseen == nil {
				t.Errorf("the gate %s, want %s; TPOT %v of %d, %+v", got, c.want, s.TPOT.Median/1e6, s.TPOT.N, s.Unseen)
			}
		})
	}
}

// TestUnseenFigures: figures cover only replies whose tokens were seen one by one.
func TestUnseenFigures(t *testing.T) {
	of := func(reply []timed) *bench.Summary {
		records := []bench.Record{received("vllm", reply)}
		bench.MarkHeld(records)
		return bench.Summarize(records, &bench.Run{Backend: "vllm", Duration: 1e9}, bench.Options{})
	}
	if s := of(whole("")); s.TTFT.N+s.TPOT.N+s.ITL.N != 0 || s.E2E.N != 1 || s.Unseen.Why != "the replies are not streams" {
		t.Errorf("not a stream: TTFT %+v, TPOT %+v, %+v", s.TTFT, s.TPOT, s.Unseen)
	}
	if s := of(streamed(1, 16, 550, asSent)); s.Unseen != nil || s.TTFT.Mean != 100e6 || s.TPOT.Mean != 10e6 || s.ITL.Mean != 10e6 || s.E2E.Mean != 550e6 {
		t.Errorf("late usage: TTFT %v, TPOT %v, ITL %v, E2E %v", s.TTFT.Mean, s.TPOT.Mean, s.ITL.Mean, s.E2E.Mean)
	}
}

// TestTokensOfOtherTokenizer: the tokens of events sum to the server's count if the tokenizer counts more, because texts
// begin inside words or the server has another tokenizer. The healthy twin has the server's tokenizer.
func TestTokensOfOtherTokenizer(t *testing.T) {
	// The first event of 16 tokens has the eight tokens up to 170 ms.
	reply := []timed{{0, streamHead}, {170, chunk("", completion(strings.Repeat("w ", 8), "", nil))}}
	for k := range 8 {
		reply = append(reply, timed{180 + 10*float64(k), chunk("", completion("w ", "", nil))})
	}
	reply = append(reply, timed{251, chunk("", completion("", "length", nil)) + chunk("", used(16)) + chunk("", "data: [DONE]\n\n") + "0\r\n\r\n"})
	for _, scale := range []int{1, 4} {
		f := flown("vllm", Options{Retokenize: func(_ context.Context, texts []string) ([]int, error) {
			var out []int
			for _, s := range texts {
				out = append(out, scale*len(strings.Fields(s)))
			}
			return out, nil
		}}, reply)
		f.run.flights = []*flight{f}
		if err := f.run.texts(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := bench.Summarize([]bench.Record{*f.rec}, &bench.Run{Backend: "vllm", Duration: 1e9}, bench.Options{})
		if s.TokensPerEvent != 16.0/9 || s.TPOT.Mean != 10e6 || s.TokenGap.Mean != 10e6 || f.rec.Retokenized != 16*scale {
			t.Errorf("%d tokens a word: %v tokens an event, TPOT %v, token gap %v, retokenized %d", scale, s.TokensPerEvent, s.TPOT.Mean, s.TokenGap.Mean, f.rec.Retokenized)
		}
	}
}

// TestTokensOfEvents: with speculative decoding, the tokenizer counts the tokens of each event, as SGLang's client does.
func TestTokensOfEvents(t *testing.T) {
	words := func(_ context.Context, texts []string) ([]int, error) {
		var out []int
		for _, s := range texts {
			out = append(out, len(strings.Fields(s)))
		}
		return out, nil
	}
	run := &bench.Run{Backend: "sglang-oai", Duration: 1e9, ServerInfo: map[string]any{"internal_states": []any{map[string]any{"avg_spec_accept_length": 4.0}}}}
	for each, counted := range map[int]bool{4: true, 1: false} {
		f := flown("sglang-oai", Options{Retokenize: words}, streamed(each, 16, 251, asSent))
		f.run.flights = []*flight{f}
		if err := f.run.texts(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, c := range f.rec.Chunks {
			if c.Tokens >= 0 != counted || counted && c.Tokens != each {
				t.Errorf("events of %d tokens: %+v", each, c)
			}
		}
		// The first event arrives with its last token, at 100 ms + 10 ms for each token after the first.
		s := bench.Summarize([]bench.Record{*f.rec}, run, bench.Options{})
		if s.TPOT.Mean != 10e6 || s.ITL.Mean != 10e6 || s.MaxOutputRate != 16 || s.PeakOutputRate != 16 {
			t.Errorf("events of %d tokens: TPOT %v, ITL %v, peaks %v and %v", each, s.TPOT.Mean, s.ITL.Mean, s.MaxOutputRate, s.PeakOutputRate)
		}
		figures, err := bench.Compat("sglang", []bench.Record{*f.rec}, run, bench.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range figures {
			if x.Name == "mean_itl_ms" && x.Value != 10 {
				t.Errorf("events of %d tokens: SGLang's ITL %v", each, x.Value)
			}
		}
	}
}
