package timeline

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// FuzzAnswer: no query panics, and no answer to a tile query exceeds the limit of a view.
func FuzzAnswer(f *testing.F) {
	for _, q := range []string{
		"tiles?level=12&tiles=0-3@-1_4;5-5@0_0", "tiles?level=0&axis=stretched&tiles=1-1@2147483646_2147483647",
		"tiles?level=40&tiles=0-447@0_0", "tiles?level=22&tiles=0-0@-2147483647_-2147483640", "head?", "names?block=3", "span?rank=1&span=77",
		"range?from=0&to=9000000&rows=0,3-4", "range?from=5&to=900000&align=step&step=3", "search?q=gemm&after=0&back=1",
		"align?align=collective&at=-5", "moved?from=0&to=100000000&ranks=0-2&n=64", "ribbons?from=0&to=1000000000&most=10",
		"parts?domain=0&index=4", "heat?measure=wait", "hit?lane=3&from=100&to=5000000", "hit?lane=3&from=100&to=5000000&axis=stretched", "beside?rank=0&span=9&back=1", "range?from=1152921504606846976&to=1", "list?",
	} {
		what, query, _ := strings.Cut(q, "?")
		f.Add(what, query)
	}
	f.Fuzz(func(t *testing.T, what, query string) {
		tl := open(t, "graphs")
		v, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		got, err := tl.Answer(what, v)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n") && !strings.Contains(query, "%0") {
				t.Errorf("the error is not one line: %q", err)
			}
			return
		}
		if b, ok := got.([]byte); ok {
			if len(b) > MostBytes {
				t.Errorf("%d bytes", len(b))
			}
			return
		}
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "[null") || strings.HasSuffix(string(text), "null]") {
			t.Errorf("a list has null: %.200s", text)
		}
	})
}

// TestQueries: an invalid query gets an error of one line.
func TestQueries(t *testing.T) {
	for _, c := range []struct{ query, says string }{
		{"level=3&tiles=0-0@0_0", ""},
		{"level=3&tiles=0-1@0_2;2-2@-5_-5&axis=stretched", ""},
		{"tiles=0-0@0_0", "level=: give a power of two from 0 to 40"},
		{"level=41&tiles=0-0@0_0", "level=41: give a power of two from 0 to 40"},
		{"level=3&axis=mars&tiles=0-0@0_0", "axis=mars: want wall or stretched"},
		{"level=3", `tiles: "": give FIRST-LAST@FROM_TO, lanes and tiles`},
		{"level=3&tiles=0@0_0", `tiles: "0@0_0": give FIRST-LAST@FROM_TO, lanes and tiles`},
		{"level=3&tiles=2-1@0_0", `tiles: "2-1@0_0": give FIRST-LAST@FROM_TO, lanes and tiles`},
		{"level=3&tiles=0-0@1_0", `tiles: "0-0@1_0": give FIRST-LAST@FROM_TO, lanes and tiles`},
		{"level=3&tiles=0-10@0_0", `tiles: "0-10@0_0": there are 10 lanes`},
		{"level=3&tiles=0-9@0_43;0-9@0_0", "tiles: more than 448 at once"},
		{"level=3&tiles=0-0@-2147483647_2147483647", `tiles: "0-0@-2147483647_2147483647": give FIRST-LAST@FROM_TO, lanes and tiles`},
		{"level=40&tiles=0-0@8191_8192", `tiles: "0-0@8191_8192": time out of range`},
		{"level=40&tiles=0-0@8190_8190", ""},
	} {
		v, err := url.ParseQuery(strings.ReplaceAll(c.query, ";", "%3B"))
		if err != nil {
			t.Fatal(err)
		}
		says := ""
		if _, err := ParseQuery(v, 10); err != nil {
			says = err.Error()
		}
		if says != c.says {
			t.Errorf("%s: %q, want %q", c.query, says, c.says)
		}
	}
}
