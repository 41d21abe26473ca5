package chromejson

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// sample returns a real trace reduced to one event of each kind.
func sample(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/kineto.json")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// brief formats an event on one line: ph|cat|name|pid|tid|ts|dur|id|args.
func brief(e seen) string {
	ph := ""
	if e.Ph != 0 {
		ph = string(rune(e.Ph))
	}
	return strings.Join([]string{ph, e.Cat, e.Name, e.PID, e.TID, e.TS, e.Dur, e.ID, e.Args}, "|")
}

// kineto returns an event in the layout of libkineto's writer.
func kineto(name, args string) string {
	return "{\n    \"ph\": \"X\", \"cat\": \"c\", \"name\": \"" + name + "\", \"pid\": 1, \"tid\": 2,\n" +
		"    \"ts\": 3.000, \"dur\": 4.000,\n    \"args\": {\n      " + args + "\n    }\n  }"
}

func within(events ...string) string {
	return "{\n  \"traceEvents\": [\n  " + strings.Join(events, ",\n  ") + "\n  ]\n}"
}

const deep = `[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[` // maxDepth of them

var oddTexts = []struct {
	name   string
	text   string
	events []string // brief
	meta   []string // key=value
	stats  Stats    // the test fills in Events, Bytes, FirstSkip -1 and most of End
	reason string   // of End; empty: complete
	after  int      // bytes after End.Offset
}{
	{name: "nothing", text: "", reason: "it contains no JSON"},
	{name: "white space only", text: " \n\t ", reason: "it contains no JSON", after: 4},
	{name: "another format", text: "hello", reason: "it is not a JSON object or array: it begins with 'h'", after: 5},
	{name: "metadata only", text: `{"schemaVersion": 1, "distributedInfo": {"rank": 0}}`,
		meta: []string{"schemaVersion=1", `distributedInfo={"rank": 0}`}},
	{name: "no events", text: `{"traceEvents":[]}`},
	{name: "traceEvents is no array", text: `{"traceEvents":null}`, meta: []string{"traceEvents=null"}},
	{name: "bare array", text: `[{"ph":"B","name":"a","ts":1},{"ph":"E","ts":2}]`,
		events: []string{`B||"a"|||1|||`, `E|||||2|||`}},
	{name: "bare array without its bracket", text: `[{"ph":"B"},` + "\n", events: []string{`B||||||||`}, after: 2},
	{name: "bare array cut in an event", text: `[{"ph":"B"},{"ph":"`, events: []string{`B||||||||`},
		reason: "the file ends in the middle of an event", after: 8},
	{name: "object cut between events", text: `{"traceEvents":[{"ph":"B"},`, events: []string{`B||||||||`},
		reason: "the file ends before traceEvents does", after: 1},
	{name: "object cut after the events", text: `{"traceEvents":[{"ph":"B"}], "traceName": "x`, events: []string{`B||||||||`},
		reason: "the file ends in its metadata", after: 17},
	{name: "byte order mark", text: "\xef\xbb\xbf" + `{"a":1}`, meta: []string{"a=1"}},
	{name: "metadata after the events", text: `{"traceEvents":[{"ph":"B"}],"distributedInfo":{"rank":1},"traceName":"a]b"}`, events: []string{`B||||||||`},
		meta: []string{`distributedInfo={"rank":1}`, `traceName="a]b"`}},
	{name: "garbage after the document", text: `{"traceEvents":[]} xyz `, stats: Stats{End: End{Lost: 4}}, after: 5},
	{name: "white space after the document", text: "[]\n\n", after: 2},
	{name: "trailing commas", text: `{"traceEvents":[{"ph":"B","args":{"a":[1,],},},],}`,
		events: []string{`B||||||||{"a":[1]}`}, stats: Stats{Cleaned: 1}},
	{name: "empty object as last element", text: within(`{"ph":"B"}`, `{}`), events: []string{`B||||||||`, `||||||||`}},
	{name: "elements that are no objects", text: `[1, "x{", null, ["a", {"ph":"X"}], {"ph":"i"}]`, events: []string{`i||||||||`},
		stats: Stats{Skipped: 4, SkippedBytes: 26, FirstSkip: 1}},
	{name: "ph missing, not a letter, too long", text: `[{"ts":1},{"ph":123},{"ph":"XX"},{"ph":null}]`,
		events: []string{`|||||1|||`, `||||||||`, `||||||||`, `||||||||`}},
	{name: "args null, empty, missing, an array", text: `[{"args":null},{"args":{}},{"ph":"X"},{"args":["stream"]}]`,
		events: []string{`||||||||null`, `||||||||{}`, `X||||||||`, `||||||||["stream"]`}},
	{name: "first of duplicate keys", text: `[{"pid":1,"pid":2,"args":{"stream":1},"args":{"stream":2},"ph":"X","ph":"i"}]`,
		events: []string{`X|||1|||||{"stream":1}`}},
	{name: "pid and tid as text, large, negative, dur as text", text: `[{"pid":"[TP00] 7","tid":18446744073709551615,"dur":"4.5","ts":-1}]`,
		events: []string{`|||"[TP00] 7"|18446744073709551615|-1|"4.5"||`}},
	{name: "not a number", text: within(kineto("k", `"blocks per SM": inf, "a": -Infinity, "b": NaN, "c": [nan, -nan, -inf, Infinity], "d": "inf"`)),
		events: []string{`X|"c"|"k"|1|2|3.000|4.000||{` + "\n      " + `"blocks per SM": null, "a": null, "b": null, "c": [null, null, null, null], "d": "inf"` + "\n    }"},
		stats:  Stats{Cleaned: 1}},
	{name: "not a number in the metadata", text: `{"a": NaN, "b": "` + "\x01\xff" + `", "c` + "\x02" + `": 1}`,
		meta: []string{`a=null`, `b="\u0001` + "\ufffd" + `"`, `c\u0002=1`}, stats: Stats{Cleaned: 3}},
	{name: "integers above 2^63", text: within(kineto("k", `"Comms Id": 18446744073709551615, "stream": 9223372036854775808`)),
		events: []string{`X|"c"|"k"|1|2|3.000|4.000||{` + "\n      " + `"Comms Id": 18446744073709551615, "stream": 9223372036854775808` + "\n    }"}},
	{name: "unescaped quotes in a dynamo name", text: within(kineto(`{"device": "cpu"}(12): run`, `"a": 1`), kineto("next", `"b": 2`)),
		events: []string{`X|"c"|"{\"device\": \"cpu\"}(12): run"|1|2|3.000|4.000||{` + "\n      " + `"a": 1` + "\n    }",
			`X|"c"|"next"|1|2|3.000|4.000||{` + "\n      " + `"b": 2` + "\n    }"},
		stats: Stats{Repaired: 1}},
	{name: "unescaped quotes before commas, brackets and colons", text: `[{"name":"f("a", "b"), {"x": "y"}, [1, "z"]","args":{"k":["p"q","r"]}}]`,
		events: []string{`||"f(\"a\", \"b\"), {\"x\": \"y\"}, [1, \"z\"]"||||||{"k":["p\"q","r"]}`}, stats: Stats{Repaired: 1}},
	{name: "unescaped quotes in the last event of an open array", text: `[{"name":"a"b"}`,
		events: []string{`||"a\"b"||||||`}, stats: Stats{Repaired: 1}},
	{name: "unescaped quotes in the metadata", text: `{"host_name": "a "b" c", "traceEvents":[{"ph":"B"}], "traceName": "x"y"}`, events: []string{`B||||||||`},
		meta: []string{`host_name="a \"b\" c"`, `traceName="x\"y"`}, stats: Stats{Repaired: 2}},
	{name: "broken metadata before the events", text: `{"a": {1}, "traceEvents": [{"ph":"B"}]}`, events: []string{`B||||||||`},
		stats: Stats{Skipped: 1, SkippedBytes: 10, FirstSkip: 1}},
	{name: "broken metadata after the events", text: `{"traceEvents": [{"ph":"B"}], "a": {1}}`, events: []string{`B||||||||`},
		reason: "broken JSON in the metadata", stats: Stats{Skipped: 1, SkippedBytes: 9, FirstSkip: 30}, after: 11},
	{name: "raw control characters", text: within(kineto("a\tb\x00c\nd", "\"x\": \"\r\"")),
		events: []string{`X|"c"|"a\u0009b\u0000c\u000ad"|1|2|3.000|4.000||{` + "\n      " + `"x": "\u000d"` + "\n    }"},
		stats:  Stats{Cleaned: 1}},
	{name: "invalid UTF-8", text: within(kineto("a\xff\xc3b\xe2\x82", `"x": "ok é"`)),
		events: []string{`X|"c"|"a` + "\ufffd\ufffdb\ufffd\ufffd" + `"|1|2|3.000|4.000||{` + "\n      " + `"x": "ok é"` + "\n    }"},
		stats:  Stats{Cleaned: 1}},
	{name: "valid UTF-8 passes as it is", text: `[{"name":"naïve 模型 🚀"}]`, events: []string{`||"naïve 模型 🚀"||||||`}},
	{name: "lone surrogates pass as they are", text: `[{"name":"\ud800 \udc00"}]`, events: []string{`||"\ud800 \udc00"||||||`}},
	{name: "Windows paths", text: `[{"name":"C:\Users\x\py\u12.py(3): f","cat":"a\\b\/c"}]`,
		events: []string{`|"a\\b\/c"|"C:\\Users\\x\\py\\u12.py(3): f"||||||`}, stats: Stats{Cleaned: 1}},
	{name: "broken event between good ones", text: within(`{"ph":"B","name":}`, `{"ph":"E"}`),
		events: []string{`E||||||||`}, stats: Stats{Skipped: 1, SkippedBytes: 22, FirstSkip: 23}},
	{name: "broken last event", text: `{"traceEvents":[{"ph":"B"},{"ph":!}], "traceName":"x"}`, events: []string{`B||||||||`},
		meta: []string{`traceName="x"`}, stats: Stats{Skipped: 1, SkippedBytes: 8, FirstSkip: 27}},
	{name: "nothing but a broken event", text: `[{"ph"!}]`, reason: "broken JSON up to the end of the file",
		stats: Stats{Skipped: 1, SkippedBytes: 8, FirstSkip: 1}, after: 8},
	{name: "numbers JSON does not have", text: `[{"ts":01},{"ts":1.},{"ts":+1},{"ts":.5},{"ts":1e},{"ph":"i"}]`, events: []string{`i||||||||`},
		stats: Stats{Skipped: 5, SkippedBytes: 50, FirstSkip: 1}},
	{name: "deepest nesting, with something to mend", text: `[{"args":{"a":` + deep + "NaN" + strings.Repeat("]", maxDepth) + `}}]`,
		events: []string{`||||||||{"a":` + deep + "null" + strings.Repeat("]", maxDepth) + `}`}, stats: Stats{Cleaned: 1}},
	{name: "nesting too deep", text: `[{"args":{"a":[` + deep + strings.Repeat("]", maxDepth) + `]}},{"ph":"i"}]`, events: []string{`i||||||||`},
		stats: Stats{Skipped: 1, SkippedBytes: 146, FirstSkip: 1}},
	{name: "two lists of events", text: `{"traceEvents":[{"ph":"B"}],"traceEvents":[{"ph":"E"}]}`, events: []string{`B||||||||`, `E||||||||`}},
}

func TestOddTexts(t *testing.T) {
	for _, c := range oddTexts {
		t.Run(c.name, func(t *testing.T) {
			got := collectText(t, c.text)
			var events []string
			for _, e := range got.Events {
				events = append(events, brief(e))
			}
			equal(t, "events", events, c.events)
			var meta []string
			for _, m := range got.Meta {
				meta = append(meta, m.Key+"="+m.Value)
			}
			equal(t, "metadata", meta, c.meta)
			want := c.stats
			want.Events, want.Bytes = int64(len(c.events)), int64(len(c.text))
			want.End.Complete, want.End.Reason = c.reason == "", c.reason
			want.End.Offset = want.Bytes - int64(c.after)
			if c.reason != "" {
				want.End.Lost = int64(c.after)
			}
			if want.Skipped == 0 {
				want.FirstSkip = -1
			}
			if got.Stats != want {
				t.Errorf("stats\n got %+v\nwant %+v", got.Stats, want)
			}
		})
	}
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if g, w := fmt.Sprintf("%q", got), fmt.Sprintf("%q", want); g != w {
		t.Errorf("%s\n got %s\nwant %s", what, g, w)
	}
}

// TestHugeArgs reads an event many times larger than a block, on both paths, and one above the maximum size of an
// event.
func TestHugeArgs(t *testing.T) {
	lim := limits{block: 64, headroom: 32, element: 4000, guess: 1000}
	fits := within(kineto("a", `"stream": 7, "Concrete Inputs": "`+strings.Repeat("x", 3000)+`", "correlation": 9`), kineto("b", `"stream": 8`))
	for _, general := range []bool{false, true} {
		got := collect(t, strings.NewReader(fits), lim, general)
		if len(got.Events) != 2 || !strings.Contains(got.Events[0].Known, ":9@") || got.Stats.Skipped > 0 {
			t.Errorf("general %v: %d events, %+v", general, len(got.Events), got.Stats)
		}
	}
	tooLarge := within(kineto("a", `"x": "`+strings.Repeat("y", 4000)+`"`), kineto("b", `"stream": 8`))
	got := collect(t, strings.NewReader(tooLarge), lim, false)
	if len(got.Events) != 1 || got.Events[0].Name != `"b"` || got.Stats.Skipped != 1 || !got.Stats.End.Complete {
		t.Errorf("too large: %+v", got)
	}
	inMeta := `{"a": "` + strings.Repeat("y", 4000) + `", "traceEvents": [{"ph":"i"}]}`
	got = collect(t, strings.NewReader(inMeta), lim, false)
	if len(got.Events) != 1 || len(got.Meta) != 0 || got.Stats.Skipped != 1 || !got.Stats.End.Complete {
		t.Errorf("too large in the metadata: %+v", got)
	}
}
