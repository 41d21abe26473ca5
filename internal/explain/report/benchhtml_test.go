package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/bench"
)

func benchPageOf(t *testing.T, b *Bench) string {
	t.Helper()
	var out bytes.Buffer
	if err := BenchHTML(&out, b); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Apart from scripts and styles the page nests, holds each id once, and needs no
// network.
func TestBenchHTML(t *testing.T) {
	for name, b := range benchSamples() {
		t.Run(name, func(t *testing.T) {
			d := xml.NewDecoder(strings.NewReader(inline.ReplaceAllString(benchPageOf(t, b), "<$1$2></$1>")))
			d.Entity, d.AutoClose, d.Strict = xml.HTMLEntity, xml.HTMLAutoClose, false
			ids, wanted := map[string]bool{}, map[string]bool{}
			depth := 0
			for {
				tok, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				switch tok := tok.(type) {
				case xml.StartElement:
					depth++
					for _, a := range tok.Attr {
						switch {
						case a.Name.Local == "id" && ids[a.Value]:
							t.Errorf("id %q stands twice", a.Value)
						case a.Name.Local == "id":
							ids[a.Value] = true
						case (a.Name.Local == "href" || a.Name.Local == "src") && !strings.HasPrefix(a.Value, "#"):
							t.Errorf("<%s> loads %q", tok.Name.Local, a.Value)
						case a.Name.Local == "href":
							wanted[a.Value[1:]] = true
						}
					}
				case xml.EndElement:
					depth--
				}
			}
			if depth != 0 {
				t.Errorf("%d elements never end", depth)
			}
			for id := range wanted {
				if !ids[id] {
					t.Errorf("a link to #%s, which is not there", id)
				}
			}
		})
	}
}

// The latency plot is over the time of sending, but where all are sent at once:
// there it would be one column of dots.
func TestBenchHTMLAtOnce(t *testing.T) {
	for want, b := range map[string]*Bench{
		"Latencies are shown at the time the request was sent":    benchSample(),
		"Latencies and tokens are shown at the time they arrived": benchAtOnce(),
	} {
		if !strings.Contains(benchPageOf(t, b), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// Where no distribution is left the page says why.
func TestBenchHTMLBare(t *testing.T) {
	all := benchProfiled()
	all.Run.Profiled[0] = bench.Span{From: 0, To: 1 << 40}
	all.Summary = bench.Summarize(all.Records, all.Run, bench.Options{})
	for want, b := range map[string]*Bench{
		"<p>No request succeeded.</p>":                                benchNothing(),
		"<p>The captured window left too few untouched requests.</p>": all,
	} {
		if !strings.Contains(benchPageOf(t, b), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// The page leads to those of the window that was recorded meanwhile.
func TestBenchHTMLCaptures(t *testing.T) {
	b := benchProfiled()
	b.Captures = []Page{{"http://127.0.0.1:30000", "b-capture.html"}, {"<decode>", "b-capture-d.html"}}
	page := benchPageOf(t, b)
	if want := `The server in the captured window: <a href="b-capture.html">the analysis of http://127.0.0.1:30000</a>, <a href="b-capture-d.html">the analysis of &lt;decode&gt;</a>`; !strings.Contains(page, want) {
		t.Errorf("the page lacks %s", want)
	}
	b = benchSample() // the last of several runs, in which nothing was recorded
	b.Run.Profiled, b.Captures = nil, []Page{{"server", "b-capture.html"}}
	if want := "The server in the window captured in another run of this load: <a"; !strings.Contains(benchPageOf(t, b), want) {
		t.Errorf("the page lacks %s", want)
	}
}

// What a server says is data.
func TestBenchHTMLEscapes(t *testing.T) {
	const evil = `</script><script>alert(1)</script><img src=x onerror=alert(2)>`
	b := benchSample()
	b.Run.Model, b.Run.URL, b.Summary.Failures[0].Example, b.Summary.Health.Evidence = evil, evil, evil, []string{evil}
	b.Records[0].Error = evil
	page := benchPageOf(t, b)
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img") {
		t.Error("a text became an element")
	}
	if n := strings.Count(page, "&lt;img src=x onerror=alert(2)&gt;"); n < 4 {
		t.Errorf("the text is shown %d times", n)
	}
}

// A long run stays a page that one can send; the slowest and the failed requests
// are among those shown.
func TestBenchHTMLBounded(t *testing.T) {
	one := benchSample()
	b := &Bench{Run: one.Run}
	for len(b.Records) < 60_000 {
		b.Records = append(b.Records, one.Records...)
	}
	b.Summary = bench.Summarize(b.Records, b.Run, bench.Options{})
	page := benchPageOf(t, b)
	if len(page) > 1<<20 || !strings.Contains(page, "the latency plot shows 4,000 of 60,000 requests") {
		t.Errorf("%d bytes", len(page))
	}
	failed := 0
	for _, i := range benchPick(b.Records[:6000]) {
		if !b.Records[i].OK() {
			failed++
		}
	}
	if want := 20 * 8; failed != want {
		t.Errorf("%d failures shown of %d", failed, want)
	}
}

const benchProbe = `
  const out = {colors: {}, tips: {}};
  for (const c of document.querySelectorAll("canvas")) {
    const d = c.getContext("2d").getImageData(0, 0, c.width, c.height - 28 * devicePixelRatio).data, seen = new Set();
    for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
    out.colors[c.id] = seen.size;
    for (const k of c.id.startsWith("spread") ? ["End"] : ["Home", "+", "+", "ArrowRight", "ArrowRight"]) c.dispatchEvent(new KeyboardEvent("keydown", {key: k}));
    out.tips[c.id] = document.getElementById("tip").textContent;
    c.dispatchEvent(new KeyboardEvent("keydown", {key: "End"}));
    out.tips[c.id + "-end"] = document.getElementById("tip").textContent;
    c.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"}));
  }
  document.getElementById("latency-log").click();
  return out;
`

func TestBenchChromium(t *testing.T) {
	samples := benchSamples()
	samples["bench-at-once"] = benchAtOnce()
	samples["bench-long"] = benchLong()
	for name, b := range samples {
		t.Run(name, func(t *testing.T) {
			var p struct {
				Colors map[string]int
				Tips   map[string]string
			}
			browse(t, benchPageOf(t, b), benchProbe, &p)
			if got := p.Tips["latency-end"]; name == "bench-at-once" && (!strings.Contains(got, "longest E2E") || strings.Contains(got, "sent")) {
				t.Errorf("the last bin says %q", got)
			}
			if got := p.Tips["tokens"]; name == "bench-long" && (!strings.Contains(got, "output tokens in the busiest second") || !strings.Contains(got, "output tokens/s, mean")) {
				t.Errorf("a bin of several seconds says %q", got)
			}
			if name != "bench" {
				return
			}
			for id, least := range map[string]int{"latency": 10, "tokens": 4, "running": 6, "spread-ttft": 3, "spread-itl": 2, "spread-tpot": 3, "spread-e2e": 3} {
				if p.Colors[id] < least {
					t.Errorf("canvas %s holds %d colours, want at least %d", id, p.Colors[id], least)
				}
			}
			if got := p.Tips["spread-e2e"]; !strings.Contains(got, "longest") || !strings.Contains(got, "1.98 s") {
				t.Errorf("the end of E2E says %q", got)
			}
			if got := p.Tips["running"]; !strings.HasPrefix(got, "100 ms – 150 ms") || !strings.Contains(got, "under way at most") || !strings.Contains(got, "output tokens in the last second") {
				t.Errorf("the keys lead to %q", got)
			}
		})
	}
}

// benchLong takes so long that a bin of its plots is several seconds.
func benchLong() *Bench {
	b := benchSample()
	b.Run.Profiled = nil
	for i := range b.Records {
		r := &b.Records[i]
		for _, at := range []*int64{&r.Scheduled, &r.Released, &r.Connected, &r.Sent, &r.Headers, &r.FirstAny, &r.First, &r.Visible, &r.Last, &r.Done} {
			if *at != bench.Never {
				*at *= 100
			}
		}
		for k := range r.Chunks {
			r.Chunks[k].At *= 100
		}
	}
	b.Run.Duration *= 100
	b.Summary = bench.Summarize(b.Records, b.Run, bench.Options{})
	return b
}
