package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

func pageOf(t *testing.T, r *result.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var inline = regexp.MustCompile(`(?s)<(script|style)([^>]*)>.*?</(script|style)>`)

// The page without the text of its scripts and styles must nest as XML does
// (void elements apart), hold each id once, and point only at what is there.
func TestHTMLWellFormed(t *testing.T) {
	for name, r := range samples() {
		t.Run(name, func(t *testing.T) {
			d := xml.NewDecoder(strings.NewReader(inline.ReplaceAllString(pageOf(t, r), "<$1$2></$1>")))
			d.Entity, d.AutoClose = xml.HTMLEntity, xml.HTMLAutoClose
			d.Strict = false
			ids, wanted := map[string]bool{}, map[string]string{}
			var open []string
			for {
				tok, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				switch tok := tok.(type) {
				case xml.StartElement:
					open = append(open, tok.Name.Local)
					for _, a := range tok.Attr {
						switch a.Name.Local {
						case "id":
							if ids[a.Value] {
								t.Errorf("id %q stands twice", a.Value)
							}
							ids[a.Value] = true
						case "aria-labelledby":
							wanted[a.Value] = tok.Name.Local
						case "href", "src":
							if !strings.HasPrefix(a.Value, "#") {
								t.Errorf("<%s> loads %q: the page must need no network", tok.Name.Local, a.Value)
							} else {
								wanted[a.Value[1:]] = tok.Name.Local
							}
						}
					}
				case xml.EndElement:
					if len(open) == 0 || open[len(open)-1] != tok.Name.Local {
						t.Fatalf("</%s> ends %v", tok.Name.Local, open)
					}
					open = open[:len(open)-1]
				}
			}
			if len(open) > 0 {
				t.Errorf("never ended: %v", open)
			}
			for id, by := range wanted {
				if !ids[id] {
					t.Errorf("<%s> points at #%s, which is not there", by, id)
				}
			}
		})
	}
}

// TestFindingsOfPage: a finding says what it is worth, shows its evidence, says what to do, and leads to where it can be
// looked up.
func TestFindingsOfPage(t *testing.T) {
	page := pageOf(t, straggler())
	_, page, _ = strings.Cut(page, "<body>")
	head, page, _ := strings.Cut(page, "<nav")
	_, page, _ = strings.Cut(page, "</nav>")
	answer, _, found := strings.Cut(page, `<section id="maps"`)
	if !found {
		t.Fatal("there are no maps")
	}
	golden(t, "straggler-findings.html", []byte(head+answer))
}

// TestOpenCommand: the command goes into a shell as it stands.
func TestOpenCommand(t *testing.T) {
	for _, c := range []struct {
		files []string
		id    string
		want  string
	}{
		{nil, "1", ""},
		{[]string{"/tmp/p/1-TP-0.trace.json.gz", "/tmp/p/1-TP-1.trace.json.gz"}, "1", "stepscope trace open /tmp/p --profile-id 1"},
		{[]string{"/a/1-TP-0.trace.json.gz", "/b/1-TP-1.trace.json.gz"}, "", "stepscope trace open /a /b"},
		{[]string{"merged-1.trace.json.gz"}, "1", "stepscope trace open merged-1.trace.json.gz"},
		{[]string{"it's $(one) \x1b[31mfile"}, "1", `stepscope trace open 'it'\''s $(one)  [31mfile'`},
	} {
		if got := openCommand(&result.Source{Files: c.files, ID: c.id}); got != c.want {
			t.Errorf("%q: got  %s\nwant %s", c.files, got, c.want)
		}
	}
}

func TestCapital(t *testing.T) {
	for s, want := range map[string]string{
		"decode steps are host-bound": "Decode steps are host-bound", "recording: it costs": "Recording: it costs", "": "",
		"aten::mm takes long": "aten::mm takes long", "model.layers.5 takes long": "model.layers.5 takes long", "TP02 is late": "TP02 is late",
	} {
		if got := capital(s); got != want {
			t.Errorf("%q becomes %q, want %q", s, got, want)
		}
	}
}

// Names from a trace are data: they neither end the script that holds them nor
// become elements.
func TestHTMLEscapes(t *testing.T) {
	const evil = `</script><script>alert(1)</script><img src=x onerror=alert(2)>`
	r := straggler()
	r.Source.ID, r.Source.Ranks[0], r.Source.Device = evil, evil, evil
	r.Kernels[0].Name, r.Kernels[0].Short, r.Memory[0].Device, r.Steps[0].Kind = evil, evil, evil, evil
	r.Findings[0].Title, r.Findings[0].Severity, r.Findings[0].ID = fact.Name(evil), evil, evil
	page := pageOf(t, r)
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img") {
		t.Error("a name became an element")
	}
	if n := strings.Count(page, "</script>"); n != 2 {
		t.Errorf("%d scripts end, want those of the data and of the page", n)
	}
	if n := strings.Count(page, "&lt;img src=x onerror=alert(2)&gt;"); n < 5 {
		t.Errorf("the name is shown %d times", n)
	}
	m := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindStringSubmatch(page)
	var d pageData
	if m == nil {
		t.Fatal("no data")
	} else if err := json.Unmarshal([]byte(m[1]), &d); err != nil {
		t.Fatal(err)
	}
	if d.Ranks[0] != evil {
		t.Errorf("rank reads back as %q", d.Ranks[0])
	}
}

// A large capture stays a page that one can send, and says what it left out.
func TestHTMLBounded(t *testing.T) {
	r := stepped(64, 2000, 17, 600)
	for range 5000 {
		r.Kernels = append(r.Kernels, result.KernelRow{Name: strings.Repeat("template<", 1000), Short: "t", Total: 1})
		r.Gaps = append(r.Gaps, result.Gap{Step: -1, Host: fact.Name(strings.Repeat("x", 5000))})
	}
	for i := range 200 {
		m := result.MemorySeries{Rank: i % 64, Peak: int64(i)}
		for j := range 500 {
			m.Points = append(m.Points, result.MemoryPoint{At: int64(j) * ms, Allocated: 1 << 36, Reserved: 1 << 37})
		}
		r.Memory = append(r.Memory, m)
	}
	page := pageOf(t, r)
	if len(page) > pageMax {
		t.Errorf("%d bytes", len(page))
	}
	for _, want := range []string{"each column of the plots over steps covers 6 steps", "400 of 5,000 kernels", "32 series with the highest peaks of 200"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// Steps that share a column are averaged for bars, and keep the value furthest
// from the peers for maps; nothing is lost from the sum.
func TestGridBuckets(t *testing.T) {
	steps := stepped(4, 21, 2, 7).Steps
	whole := newGrid(steps, []string{"decode", "prefill"}, 4, 1000)
	few := newGrid(steps, []string{"decode", "prefill"}, 4, 4*6)
	if whole.Bucket != 1 || whole.Cols != 21 || few.Bucket != 4 || few.Cols != 6 {
		t.Fatalf("buckets of %d and %d steps, %d and %d columns", whole.Bucket, few.Bucket, whole.Cols, few.Cols)
	}
	for p := range whole.Parts {
		for rank := range 4 {
			for c := range few.Cols {
				var sum, n int64
				for s := c * 4; s < min(c*4+4, 21); s++ {
					sum, n = sum+whole.Parts[p].NS[rank*21+s], n+1
				}
				if got := few.Parts[p].NS[rank*6+c]; got != sum/n {
					t.Fatalf("%s of rank %d, column %d: %d, want the mean %d", whole.Parts[p].Name, rank, c, got, sum/n)
				}
			}
		}
	}
	if got, want := few.Work[2*6+4], whole.Work[2*21+16]; got < ms/3 || got < want {
		t.Errorf("the late rank's excess became %d in its bucket, it was %d", got, want)
	}
	for rank := range 4 {
		for c := range whole.Cols {
			var sum int64
			for _, p := range whole.Parts {
				sum += p.NS[rank*21+c]
			}
			if want := steps[c].Ranks[rank].Total; sum != want {
				t.Fatalf("parts of rank %d, step %d sum up to %d, want %d", rank, c, sum, want)
			}
		}
	}
}
