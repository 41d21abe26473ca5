package report

import (
	"io"
)

// The page of a comparison is made as that of an analysis (html.go), of the same style and tables.

// comparePage is what the template sees.
type comparePage struct {
	assets
	Title string
	Parts []comparePart // of captures or of benchmarks, and then of the captures of these
}

type comparePart struct {
	ID, Name  string // before the ids of its sections
	Sides     [2]string
	Verdict   string
	Unlike    []string
	Gate      string
	Failed    bool
	Worse     []string
	Undecided []string
	Causes    []comparedCause
	Tables    []pageTable
	Notes     []string
	Doubts    []string
}

// HTML writes the comparison as one self-contained page.
func (v *Comparison) HTML(w io.Writer) error {
	p := comparePage{Title: v.title, Parts: []comparePart{v.part("", "")}}
	if v.captures != nil {
		p.Parts = append(p.Parts, v.captures.part("captures-", "Captures"))
	}
	p.assets.take("compare", "page/page.css", "comparepage/compare.css")
	text, err := execute("compare.html", &p, &p.Data, struct{}{})
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

func (v *Comparison) part(id, name string) comparePart {
	p := comparePart{
		ID: id, Name: name, Sides: v.sides, Verdict: v.verdict, Unlike: v.unlike, Gate: v.gate, Failed: v.failed, Worse: v.worse,
		Undecided: v.undecided, Causes: v.causes, Notes: v.notes, Doubts: v.doubts,
	}
	for _, t := range v.tables {
		p.Tables = append(p.Tables, pageTableOf(t, pageLimits))
	}
	return p
}
