package load

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/jsonscan"
	"github.com/stepscope/stepscope/internal/measure/workload"
)

// landed feeds a complete reply, cut into pieces that arrive at 1, 2, 3…, to a request and returns its record at the
// end of the connection.
func landed(be string, opt Options, pieces ...string) bench.Record {
	opt.Backend, opt.Stream, opt.KeepText = be, true, true
	opt.defaults()
	b, err := backend(be)
	if err != nil {
		panic(err)
	}
	f := &flight{run: &run{opt: &opt, target: &target{Backend: b}}, recs: make([]bench.Record, 1), req: &workload.Request{OutputLen: 100}}
	f.run.target.opt = &opt
	if err := f.prepare(); err != nil {
		panic(err)
	}
	f.open(0)
	f.rec.Sent = 0
	for i, p := range pieces {
		if !f.over && len(p) > 0 {
			f.user = int64(i + 1)
			f.feed([]byte(p), f.user)
		}
	}
	f.land(nil)
	return *f.rec
}

// said formats a record without its times.
func said(r bench.Record) string {
	var tokens []string
	for _, c := range r.Chunks {
		s := fmt.Sprint(c.Tokens)
		if !c.Text {
			s += "-"
		}
		tokens = append(tokens, s)
	}
	return strings.TrimSpace(fmt.Sprintf("%q finish=%s out=%d/%s in=%d cached=%d dp=%d chunks=%s %s %s",
		r.Text, r.Finish, r.OutputLen, r.OutputFrom, r.PromptLen, r.CachedTokens, r.DPRank, strings.Join(tokens, ","), r.Failure, r.Error))
}

// The replies have the forms that the named servers send.
var replies = []struct {
	name, backend, reply, want string
}{
	{"SGLang native: text is cumulative, the last event has no new token", "sglang", stream(
		`{"text":"Hello","output_ids":[9906],"meta_info":{"id":"a","finish_reason":null,"prompt_tokens":5,"weight_version":"default","completion_tokens":1,"cached_tokens":2,"dp_rank":3}}`,
		`{"text":"Hello wor","output_ids":[9906,1,2],"meta_info":{"id":"a","finish_reason":null,"prompt_tokens":5,"completion_tokens":3,"cached_tokens":2}}`,
		`{"text":"Hello world","output_ids":[9906,1,2,3],"meta_info":{"id":"a","finish_reason":null,"prompt_tokens":5,"completion_tokens":4,"cached_tokens":2}}`,
		`{"text":"Hello world","output_ids":[9906,1,2,3],"meta_info":{"id":"a","finish_reason":{"type":"length","length":4},"prompt_tokens":5,"completion_tokens":4,"e2e_latency":0.5}}`,
		"[DONE]"), `"Hello world" finish=length out=4/server in=5 cached=2 dp=3 chunks=1,2,1`},
	{"SGLang native, incremental", "sglang", stream(
		`{"text":"Hello","meta_info":{"finish_reason":null,"completion_tokens":1}}`,
		`{"text":" wor","meta_info":{"finish_reason":null,"completion_tokens":3}}`,
		`{"text":"ld","meta_info":{"finish_reason":{"type":"stop","matched":2},"completion_tokens":4}}`,
		"[DONE]"), `"Hello world" finish=stop out=4/server in=0 cached=-1 dp=-1 chunks=1,2,1`},
	{"SGLang native, incremental, with the same first piece twice", "sglang", stream(
		`{"text":"ha","meta_info":{"finish_reason":null,"completion_tokens":1}}`,
		`{"text":"ha","meta_info":{"finish_reason":null,"completion_tokens":2}}`,
		`{"text":"!","meta_info":{"finish_reason":{"type":"length"},"completion_tokens":3}}`,
		"[DONE]"), `"haha!" finish=length out=3/server in=0 cached=-1 dp=-1 chunks=1,1,1`},
	{"SGLang native: a token that is half a character has no text yet", "sglang", stream(
		`{"text":"","output_ids":[1],"meta_info":{"finish_reason":null,"completion_tokens":1}}`,
		`{"text":"日","output_ids":[1,2],"meta_info":{"finish_reason":{"type":"stop"},"completion_tokens":2}}`,
		"[DONE]"), `"日" finish=stop out=2/server in=0 cached=-1 dp=-1 chunks=1-,1`},
	{"SGLang native without tokenizer: ids only", "sglang", stream(
		`{"output_ids":[1],"meta_info":{"finish_reason":null,"completion_tokens":1}}`,
		`{"output_ids":[1,2],"meta_info":{"finish_reason":{"type":"length"},"completion_tokens":2}}`,
		"[DONE]"), `"" finish=length out=2/server in=0 cached=-1 dp=-1 chunks=1,1`},
	{"completions without usage: events are counted", "sglang-oai", stream(
		`{"id":"x","object":"text_completion","choices":[{"index":0,"text":" a","logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}`,
		`{"id":"x","object":"text_completion","choices":[{"index":0,"text":" \"b\"\n","logprobs":{"tokens":["text"],"top_logprobs":[{"}":-1}]},"finish_reason":null}],"usage":null}`,
		`{"id":"x","object":"text_completion","choices":[{"index":0,"text":"","finish_reason":"length","matched_stop":null}],"usage":null}`,
		"[DONE]"), `" a \"b\"\n" finish=length out=2/chunks in=0 cached=-1 dp=-1 chunks=-1,-1`},
	{"completions, usage in each event", "vllm", stream(
		`{"choices":[{"text":" a","finish_reason":null}],"usage":{"prompt_tokens":7,"total_tokens":8,"completion_tokens":1}}`,
		`{"choices":[{"text":" b","finish_reason":null}],"usage":{"prompt_tokens":7,"total_tokens":11,"completion_tokens":4}}`,
		`{"choices":[{"text":"","finish_reason":"stop"}],"usage":{"prompt_tokens":7,"total_tokens":12,"completion_tokens":5}}`,
		`{"choices":[],"usage":{"prompt_tokens":7,"total_tokens":12,"completion_tokens":5}}`,
		"[DONE]"), `" a b" finish=stop out=5/server in=7 cached=-1 dp=-1 chunks=1,3,1-`},
	{"chat: role, reasoning, content, usage at the end", "sglang-oai-chat", stream(
		`{"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":null,"tool_calls":null},"finish_reason":null}],"usage":null}`,
		`{"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"Hm."},"finish_reason":null}]}`,
		`{"choices":[{"index":0,"delta":{"content":"Yes","reasoning_content":null},"finish_reason":null}]}`,
		`{"choices":[{"index":0,"delta":{"content":null},"finish_reason":"stop","matched_stop":128009}]}`,
		`{"choices":[],"usage":{"prompt_tokens":11,"total_tokens":14,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8},"reasoning_tokens":1}}`,
		"[DONE]"), `"Hm.Yes" finish=stop out=3/server in=11 cached=8 dp=-1 chunks=-1,-1`},
	{"chat: vLLM's name for reasoning; the standard one wins", "vllm-chat", stream(
		`{"choices":[{"delta":{"reasoning":"one","reasoning_content":null}}]}`,
		`{"choices":[{"delta":{"reasoning":"x","reasoning_content":"two"}}]}`,
		`{"choices":[{"delta":{"reasoning_content":"three","reasoning":"x"},"finish_reason":"length"}]}`,
		"[DONE]"), `"onetwothree" finish=length out=3/chunks in=0 cached=-1 dp=-1 chunks=-1,-1,-1`},
	{"chat: pieces of a tool call are output", "vllm-chat", stream(
		`{"choices":[{"delta":{"role":"assistant","content":null}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"t","function":{"name":"ls","arguments":""}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[]},"finish_reason":"tool_calls"}]}`,
		"[DONE]"), `"" finish=tool_calls out=1/chunks in=0 cached=-1 dp=-1 chunks=-1`},
	{"Triton: no finish reason, no [DONE], no space", "trt",
		plain("text/event-stream", "data:{\"m\":\"x\",\"text_output\":\"a\"}\n\ndata:{\"text_output\":\" b\"}\n\n"),
		`"a b" finish= out=2/chunks in=0 cached=-1 dp=-1 chunks=-1,-1`},
	{"CRLF, comments, event names, data over two lines, extensions and a trailer", "vllm-chat",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: Text/Event-Stream\r\ntransfer-encoding: Chunked\r\n\r\n" +
			chunk(";x=\"y\"", ": a comment\r\n") + chunk("", "\r\nevent: token\ndata") + chunk(" ", ": {\"choices\":[{\"delta\":\r\ndata:{\"content\":\"a\"},\"fini") +
			chunk("", "sh_reason\":\"stop\"}]}\r\n\r\nid: 7\n\nda") + chunk("", "ta: [DONE]\n\n") + "0\r\nX-Trailer: 1\r\n\r\n",
		`"a" finish=stop out=1/chunks in=0 cached=-1 dp=-1 chunks=-1`},
	{"a reply without a stream: SGLang native", "sglang",
		plain("application/json", `{"text":"\u00e9\ud83d\ude00","output_ids":[1,2,3],"meta_info":{"finish_reason":{"type":"length"},"prompt_tokens":4,"completion_tokens":3} }`+"\n"),
		`"é😀" finish=length out=3/server in=4 cached=-1 dp=-1 chunks=3`},
	{"a reply without a stream: chat", "vllm-chat",
		plain("application/json", `{"choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":2}}`),
		`"ok" finish=stop out=2/server in=4 cached=-1 dp=-1 chunks=2`},
	{"an error event keeps the server's message", "vllm-chat",
		plain("text/event-stream", "event: message\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\nevent: error\ndata: {\"message\":\"engine dead\"}\n\ndata: [DONE]\n\n"),
		`"a" finish= out=1/chunks in=0 cached=-1 dp=-1 chunks=-1 server_error engine dead`},
	{"an error event without data is none", "vllm-chat",
		plain("text/event-stream", "event: error\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"),
		`"a" finish=stop out=1/chunks in=0 cached=-1 dp=-1 chunks=-1`},
	{"a compressed stream", "vllm-chat",
		zipped("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n", "data: {\"choices\":[{\"delta\":{\"content\":\" b\"},\"finish_reason\":\"stop\"}]}\n\n", "data: [DONE]\n\n"),
		`"a b" finish=stop out=2/chunks in=0 cached=-1 dp=-1 chunks=-1,-1`},
	{"a compressed stream of several members, and bytes after it", "vllm-chat",
		strings.Replace(zipped("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"), "0\r\n\r\n", "", 1) +
			strings.SplitN(strings.Replace(zipped("data: {\"choices\":[{\"delta\":{\"content\":\" b\"},\"finish_reason\":\"stop\"}]}\n\n", "data: [DONE]\n\n"), "0\r\n\r\n", "", 1), "\r\n\r\n", 2)[1] + chunk("", "rest") + "0\r\n\r\n",
		`"a b" finish=stop out=2/chunks in=0 cached=-1 dp=-1 chunks=-1,-1`},
	{"a body that is not compressed as it says", "vllm-chat", strings.Replace(plain("text/event-stream", "data: [DONE]\n\n"), "\r\n", "\r\nContent-Encoding: gzip\r\n", 1),
		`"" finish= out=0/chunks in=0 cached=-1 dp=-1 chunks= malformed the body is not valid gzip: gzip: invalid header`},
	{"embeddings", "vllm-embedding",
		plain("application/json", `{"object":"list","data":[{"embedding":[0.1,-2e-3]}],"usage":{"prompt_tokens":6,"x":{}}}`),
		`"" finish= out=0/server in=6 cached=-1 dp=-1 chunks=`},
	{"images", Images,
		plain("application/json", `{"created":1,"data":[{"b64_json":"aa"},{"b64_json":null}],"usage":null,"peak_memory_mb":1.5}`),
		`"" finish= out=0/chunks in=0 cached=-1 dp=-1 chunks=`},
}

// plain returns a reply with a length; chunk returns a chunk of a body, with ext after its size.
func plain(kind, body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", kind, len(body), body)
}

// zipped returns a reply whose chunks are the compressed pieces, each complete when it is sent.
func zipped(pieces ...string) string {
	var b bytes.Buffer
	out := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
	z := gzip.NewWriter(&b)
	for _, p := range pieces {
		z.Write([]byte(p))
		z.Flush()
		out += chunk("", b.String())
		b.Reset()
	}
	z.Close()
	return out + chunk("", b.String()) + "0\r\n\r\n"
}

func chunk(ext, body string) string { return fmt.Sprintf("%X%s\r\n%s\r\n", len(body), ext, body) }

// TestReplies parses each reply whole, cut in two at every position, and byte by byte.
func TestReplies(t *testing.T) {
	for _, c := range replies {
		t.Run(c.name, func(t *testing.T) {
			if got := said(landed(c.backend, Options{}, c.reply)); got != c.want {
				t.Fatalf("whole:\n got %s\nwant %s", got, c.want)
			}
			for i := range c.reply {
				if got := said(landed(c.backend, Options{}, c.reply[:i], c.reply[i:])); got != c.want {
					t.Fatalf("cut before %q:\n got %s\nwant %s", c.reply[i:], got, c.want)
				}
			}
			if got := said(landed(c.backend, Options{}, strings.Split(c.reply, "")...)); got != c.want {
				t.Fatalf("byte by byte:\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestMoments checks that each event has the time of its read (1, 2, 3…), and that events of one read are merged.
func TestMoments(t *testing.T) {
	head, body, _ := strings.Cut(stream(
		`{"choices":[{"delta":{"role":"assistant","content":""}}]}`,
		`{"choices":[{"delta":{"reasoning_content":"a"}}]}`,
		`{"choices":[{"delta":{"content":"b"}}]}`,
		`{"choices":[{"delta":{"content":"c"}}]}`,
		`{"choices":[{"delta":{},"finish_reason":"stop"}]}`,
		"[DONE]"), "\r\n\r\n")
	e := strings.SplitAfter(body, "\n\n\r\n")
	r := landed("vllm-chat", Options{}, head+"\r\n\r\n", e[0], e[1][:20], e[1][20:], e[2]+e[3], e[4], e[5], e[6])
	got := []int64{r.Headers, r.FirstAny, r.First, r.Visible, r.Last, r.Done}
	if want := []int64{1, 2, 4, 5, 5, 8}; !reflect.DeepEqual(got, want) {
		t.Errorf("headers, first event, first text, first visible, last, done at %v, want %v", got, want)
	}
	want := []bench.Chunk{{At: 4, Tokens: -1, Text: true}, {At: 5, Tokens: -1, Text: true}, {At: 5, Tokens: -1, Text: true, Merged: true}}
	if !reflect.DeepEqual(r.Chunks, want) {
		t.Errorf("chunks %+v, want %+v", r.Chunks, want)
	}
}

// TestUnseenTokens checks that a reply whose tokens have no text has not failed, and has a TTFT.
func TestUnseenTokens(t *testing.T) {
	for _, c := range []struct {
		name, backend string
		events        []string
		first, last   int64
	}{
		{"special tokens, each in an event", "sglang", []string{
			`{"text":"","output_ids":[2],"meta_info":{"finish_reason":null,"completion_tokens":1}}`,
			`{"text":"","output_ids":[2,2],"meta_info":{"finish_reason":{"type":"length"},"completion_tokens":2}}`}, 2, 3},
		{"counted only by the usage", "sglang-oai", []string{
			`{"choices":[{"index":0,"text":"","finish_reason":"length"}],"usage":null}`,
			`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1}}`}, 5, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			head, body, _ := strings.Cut(stream(append(c.events, "[DONE]")...), "\r\n\r\n")
			e := strings.SplitAfter(body, "\n\n\r\n")
			r := landed(c.backend, Options{}, append([]string{head + "\r\n\r\n"}, e...)...)
			if r.Failure != "" || r.First != c.first || r.Last != c.last {
				t.Errorf("failure %q, first token at %d and last at %d, want %d and %d", r.Failure, r.First, r.Last, c.first, c.last)
			}
		})
	}
}

// TestNoAllocations checks that an event causes no allocation.
func TestNoAllocations(t *testing.T) {
	for _, c := range []struct{ backend, event string }{
		{"sglang", `{"text":"Hello","output_ids":[1,2],"meta_info":{"id":"a","finish_reason":null,"prompt_tokens":5,"completion_tokens":%d}}`},
		{"vllm", `{"id":"x","choices":[{"index":0,"text":" a%d","logprobs":null,"finish_reason":null}],"usage":null}`},
		{"vllm-chat", `{"id":"x","choices":[{"index":0,"delta":{"content":"%d"},"finish_reason":null}],"usage":null}`},
	} {
		opt := Options{Backend: c.backend, Stream: true}
		opt.defaults()
		f := &flight{run: &run{opt: &opt, target: &target{Backend: Backends[c.backend], opt: &opt}}, recs: make([]bench.Record, 1), req: &workload.Request{OutputLen: 2000}}
		if err := f.prepare(); err != nil {
			t.Fatal(err)
		}
		f.open(0)
		var reads [][]byte
		for i := range 1002 {
			e := fmt.Sprintf(c.event, i+1)
			reads = append(reads, fmt.Appendf(nil, "%x\r\ndata: %s\n\n\r\n", len(e)+8, e))
		}
		head, _, _ := strings.Cut(stream(), "0\r\n")
		f.feed([]byte(head), 0)
		f.feed(reads[0], 1)
		i := 0
		if n := testing.AllocsPerRun(1000, func() { i++; f.feed(reads[i], int64(i)) }); n != 0 {
			t.Errorf("%s: %v allocations for an event", c.backend, n)
		}
		if len(f.rec.Chunks) != 1002 {
			t.Errorf("%s: %d chunks, want 1002", c.backend, len(f.rec.Chunks))
		}
	}
}

// FuzzReply checks that no bytes from a server cause a panic, and that the positions of cuts make no difference.
func FuzzReply(f *testing.F) {
	for _, c := range replies {
		f.Add(c.reply, len(c.reply)/2)
	}
	f.Fuzz(func(t *testing.T, reply string, cut int) {
		cut = min(max(cut, 0), len(reply))
		for _, be := range []string{"sglang", "vllm-chat"} {
			whole, parts := said(landed(be, Options{}, reply)), said(landed(be, Options{}, reply[:cut], reply[cut:]))
			if whole != parts && !strings.Contains(whole, "malformed") {
				t.Errorf("%s: whole: %s\nin two: %s", be, whole, parts)
			}
		}
	})
}

// FuzzScanner compares the scanner with encoding/json: input accepted by both gives the same result. Duplicate keys and
// keys with escapes are not compared.
func FuzzScanner(f *testing.F) {
	for _, s := range []string{
		`{"text":"a\"b\\","meta_info":{"completion_tokens":12,"finish_reason":{"type":"stop"}}}`, `{"text":null,"x":[1,[2,{"y":"]"}],true],"meta_info":{}}`,
		`{"text":"\ud83d\ude00\u00e9\n","meta_info":{"completion_tokens":-3}}`, `{ }`, `{"text":"\ud83d","z":1e5}`, `[]`, `{"meta_info":[{"completion_tokens":1}]}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var e event
		err := e.parse(native, []byte(s))
		var want map[string]json.RawMessage
		if json.Unmarshal([]byte(s), &want) != nil || want == nil {
			return
		}
		if err != nil {
			t.Fatalf("refused: %q", s)
		}
		once := func(key string) bool { return strings.Count(strings.ToLower(s), key) == 1 }
		var text string
		if raw, ok := want["text"]; ok && once("text") && json.Unmarshal(raw, &text) == nil {
			if got := jsonscan.Unquote(e.text); got != text {
				t.Errorf("text %q, want %q, of %q", got, text, s)
			}
		}
		var meta map[string]json.RawMessage
		if once("meta_info") && once("completion_tokens") && json.Unmarshal(want["meta_info"], &meta) == nil {
			n := -1
			if raw, ok := meta["completion_tokens"]; ok && json.Unmarshal(raw, &n) == nil && abs(int64(n)) < 1e15 && e.completion != n {
				t.Errorf("completion_tokens %d, want %d, of %q", e.completion, n, s)
			}
		}
	})
}

// BenchmarkEvent reads one event of each kind.
func BenchmarkEvent(b *testing.B) {
	for _, bb := range []struct {
		name  string
		fam   family
		event string
	}{
		{"native", native, `{"text":"Hello","output_ids":[1,2],"meta_info":{"id":"a","finish_reason":null,"prompt_tokens":5,"weight_version":"default","completion_tokens":12,"cached_tokens":0,"cached_tokens_details":{"device":0,"host":0},"dp_rank":1}}`},
		{"chat", chat, `{"id":"x","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"role":null,"content":"Hello","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}`},
	} {
		b.Run(bb.name, func(b *testing.B) {
			text := []byte(bb.event)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				var e event
				if err := e.parse(bb.fam, text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
