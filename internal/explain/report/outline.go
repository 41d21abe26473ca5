package report

// Outline is a comparison in sentences, for answers of a limited size. Texts contain no control characters.
type Outline struct {
	Sides     []string // the base first
	Verdict   string
	Gate      string // the result of --fail-on; "": not asked
	Failed    bool
	Worse     []string // figures that --fail-on forbids
	Undecided []string
	Unlike    []string // differences between the workloads
	Doubts    []string // data that the sides lack
	Causes    []OutlineCause
	Head      []string   // names of the columns of Rows
	Rows      [][]string // the main table
	Notes     []string
	Captures  *Outline // comparison of the captures of the compared runs; nil: none
}

// OutlineCause is a cause of a change in sentences.
type OutlineCause struct {
	Change, Title, Cost string
	Facts               []string // also the changes of kernels
	Next                []string
	Guide               string
	Finding             string // id in the analysis of the side that has the cause; "": no finding
	Fits                bool   // the cause has the same direction as the change of the step time
}

// Outline returns the comparison in sentences.
func (v *Comparison) Outline() *Outline {
	o := &Outline{
		Sides: v.sides, Verdict: v.verdict, Gate: v.gate, Failed: v.failed, Worse: v.worse, Undecided: v.undecided, Unlike: v.unlike,
		Doubts: v.doubts, Notes: v.notes,
	}
	for _, c := range v.causes {
		o.Causes = append(o.Causes, OutlineCause{c.Mark, c.Title, c.Cost, append(c.Facts[:len(c.Facts):len(c.Facts)], c.Rows...), c.Next, c.Guide, c.Finding, c.Fits})
	}
	if len(v.tables) > 0 {
		for _, c := range v.tables[0].cols {
			o.Head = append(o.Head, c.name)
		}
		for _, row := range v.tables[0].rows {
			var texts []string
			for _, c := range row {
				texts = append(texts, c.text)
			}
			o.Rows = append(o.Rows, texts)
		}
	}
	if v.captures != nil {
		o.Captures = v.captures.Outline()
	}
	return o
}
