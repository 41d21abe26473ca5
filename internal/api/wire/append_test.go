package wire

import (
	"encoding/json"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func TestMetaInfoReadsBack(t *testing.T) {
	text := "é\"\\\n\x01"
	for name, m := range map[string]MetaInfo{
		"plain": {ID: "a", PromptTokens: 3, CompletionTokens: 1, CachedTokens: 2, WeightVersion: "default"},
		"end": {ID: "a", FinishReason: &FinishReason{Type: "stop", Matched: json.RawMessage(`"x"`)}, E2ELatency: ptr(.25), DPRank: ptr(1),
			Retractions: 2, CachedDetails: &CachedTokensDetails{Device: 3, Storage: ptr(1), StorageBackend: "file"}, SpecVerify: 2, SpecAcceptLength: 1.5},
		"abort": {FinishReason: &FinishReason{Type: "abort", Message: "why", Status: 503, ErrType: "x"}},
		"logprobs": {HasLogprobs: true, HasTop: true, FinishReason: &FinishReason{Type: "length", Length: 2},
			InputLogprobs:  []TokenLogprob{{Logprob: -1, ID: 4}},
			OutputLogprobs: []TokenLogprob{{Logprob: -.5, ID: 1, Text: &text}, {Logprob: -2, ID: 2}},
			OutputTop:      [][]TokenLogprob{nil, {{Logprob: -.25, ID: 9}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := MetaInfo{HasLogprobs: m.HasLogprobs, HasTop: m.HasTop}
			enc := m.Append(nil)
			if err := json.Unmarshal(enc, &got); err != nil {
				t.Fatalf("%v in %s", err, enc)
			}
			if m.HasTop && m.InputTop == nil {
				m.InputTop = [][]TokenLogprob{}
			}
			if !reflect.DeepEqual(got, m) {
				t.Errorf("got  %+v\nwant %+v\n%s", got, m, enc)
			}
		})
	}
}

func TestLogprobWithoutValue(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(-1)} {
		enc, err := json.Marshal(TokenLogprob{Logprob: x, ID: 3})
		if err != nil || string(enc) != "[null,3,null]" {
			t.Errorf("%v: got %s, %v", x, enc, err)
		}
	}
	var got TokenLogprob
	if err := json.Unmarshal([]byte("[null,3,null]"), &got); err != nil || !math.IsNaN(got.Logprob) || got.ID != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{"[]", "[1]", "{}", `["x",1]`} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

// TestPieces checks the hand-written events against the types that clients decode.
func TestPieces(t *testing.T) {
	p := Piece{ID: "a", Model: "m\"", Created: 5, Index: 1, Text: AppendEscaped(nil, "x\n"), Finish: "stop", Matched: json.RawMessage("257"),
		Logprobs: &CompletionLogprobs{TextOffset: []int{-1}, TokenLogprobs: []*float64{nil}, Tokens: []string{"t"}}, Usage: &Usage{PromptTokens: 1}}
	var c Completion
	strict(t, p.AppendCompletion(nil), &c)
	if ch := c.Choices[0]; c.ID != "a" || c.Model != "m\"" || c.Created != 5 || ch.Index != 1 || ch.Text != "x\n" || *ch.FinishReason != "stop" ||
		string(ch.MatchedStop) != "257" || ch.Logprobs.Tokens[0] != "t" || c.Usage.PromptTokens != 1 {
		t.Errorf("got %+v", c)
	}
	p.Logprobs, p.Finish, p.Matched, p.Usage = nil, "", nil, nil
	want := `{"id":"a","object":"text_completion","created":5,"model":"m\"","choices":[{"index":1,"text":"x\n","logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}`
	if got := string(p.AppendCompletion(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var k ChatChunk
	strict(t, p.AppendChat(nil), &k)
	if k.Object != "chat.completion.chunk" || *k.Choices[0].Delta.Content != "x\n" || k.Choices[0].Delta.Role != nil {
		t.Errorf("got %+v", k)
	}
	p.Role = true
	strict(t, p.AppendChat(nil), &k)
	if *k.Choices[0].Delta.Role != "assistant" || *k.Choices[0].Delta.Content != "" {
		t.Errorf("got %+v", k)
	}
	p.Role, p.Text = false, nil
	k = ChatChunk{}
	strict(t, p.AppendChat(nil), &k)
	if d := k.Choices[0].Delta; d.Role != nil || d.Content != nil {
		t.Errorf("got %+v", d)
	}
}

func strict(t *testing.T, text []byte, dst any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(dst); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("plain", 2)
	f.Add("é\"\\\n\x00\u2028", 3)
	f.Add("a\xffb", 1)
	f.Fuzz(func(t *testing.T, s string, cut int) {
		var got string
		if err := json.Unmarshal(AppendString(nil, s), &got); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); strings.Count(got, "\ufffd") < strings.Count(want, "\ufffd") || (want == s && got != s) {
			t.Errorf("%q came back as %q", s, got)
		}
		if strings.ContainsAny(string(AppendString(nil, s)), "\n\r") {
			t.Errorf("%q is not one line", s)
		}
		runes := []rune(s)
		if cut < 0 || cut > len(runes) || want(runes) != s {
			return
		}
		a, b := string(runes[:cut]), string(runes[cut:])
		if whole := string(AppendEscaped(nil, s)); string(AppendEscaped(AppendEscaped(nil, a), b)) != whole {
			t.Errorf("%q and %q do not join to %q", a, b, whole)
		}
	})
}

func want(r []rune) string { return string(r) }

func TestEventReader(t *testing.T) {
	stream := string(AppendEvent(nil, []byte(`{"a":1}`))) + ": comment\nevent: x\ndata:{\"b\":2}\r\n\r\n" + Done + "data: after\n\n"
	for name, r := range map[string]io.Reader{"at once": strings.NewReader(stream), "byte by byte": iotest.OneByteReader(strings.NewReader(stream))} {
		er := NewEventReader(r, 100)
		for i, want := range []string{`{"a":1}`, `{"b":2}`} {
			got, err := er.Next()
			if err != nil || string(got) != want {
				t.Errorf("%s: event %d: %q, %v", name, i, got, err)
			}
		}
		if _, err := er.Next(); err != io.EOF {
			t.Errorf("%s: end: %v", name, err)
		}
	}
	if _, err := NewEventReader(strings.NewReader("data: 1"), 100).Next(); err != nil {
		t.Errorf("last line without newline: %v", err)
	}
	if _, err := NewEventReader(strings.NewReader("x\n"), 100).Next(); err != io.ErrUnexpectedEOF {
		t.Errorf("cut stream: %v", err)
	}
	if _, err := NewEventReader(strings.NewReader("data: "+strings.Repeat("x", 200)+"\n"), 100).Next(); err == nil || err == io.ErrUnexpectedEOF {
		t.Errorf("long event: %v", err)
	}
}
