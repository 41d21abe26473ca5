package report

import (
	"io"
)

// comparePage is the data of the template. The page shares style and tables with the page of an analysis (html.go).
type comparePage struct {
	assets
	Title string
	Parts []comparePart // comparison of captures or benchmarks, then of the captures of these benchmarks
}

type comparePart struct {
	ID, Name string // ID is the prefix of the ids of the part's sections
	Gate     string
	Failed   bool
	ComparedPage
	Worse     []string
	Undecided []string
	Causes    []comparedCause
	Doubts    []string
}

// ComparedPage is the content of a comparison that both the page of the comparison and the viewer show.
type ComparedPage struct {
	Sides   []string    `json:"sides"`
	Verdict string      `json:"verdict"`
	Unlike  []string    `json:"unlike"`
	Tables  []pageTable `json:"tables"`
	Notes   []string    `json:"notes"`
}

// Page returns the content of v that the page and the viewer show.
func (v *Comparison) Page() *ComparedPage {
	p := &ComparedPage{Sides: v.sides, Verdict: v.verdict, Unlike: append([]string{}, v.unlike...), Tables: []pageTable{}, Notes: append([]string{}, v.notes...)}
	for _, t := range v.tables {
		p.Tables = append(p.Tables, pageTableOf(t, pageLimits))
	}
	return p
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
	return comparePart{
		ID: id, Name: name, Gate: v.gate, Failed: v.failed, ComparedPage: *v.Page(), Worse: v.worse, Undecided: v.undecided, Causes: v.causes, Doubts: v.doubts,
	}
}
