package brief

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// one is the content of an answer about one finding.
type one struct {
	Format  int    `json:"format"`
	Input   string `json:"input"`
	Capture string `json:"capture"`
	finding
	Worth   *worth    `json:"worth"` // null: not known
	Found   string    `json:"how_found"`
	Against []string  `json:"against"` // objections to it, and its limits
	Where   *place    `json:"where"`   // null: the finding is about the whole capture
	Look    []string  `json:"look"`    // commands that show more
	Omitted []Omitted `json:"omitted"`
}

// worth is the length of steps without the cause of a finding.
type worth struct {
	Kind      string  `json:"kind"`
	Steps     int     `json:"steps"`
	StepNS    int64   `json:"step_ns"`
	WithoutNS int64   `json:"without_ns"`
	LowNS     int64   `json:"without_low_ns"`
	HighNS    int64   `json:"without_high_ns"`
	AtMost    bool    `json:"at_most"` // an upper bound of the gain
	Tokens    float64 `json:"tokens_per_s"`
	Without   float64 `json:"without_tokens_per_s"`
}

// place is where the viewer shows a finding.
type place struct {
	Rank    string `json:"rank"`
	StartNS int64  `json:"start_ns"` // since the beginning of the capture
	EndNS   int64  `json:"end_ns"`
	Thread  string `json:"thread"`
	Span    string `json:"span"`
	Address string `json:"address"` // follows the address that view prints
}

// Finding answers with all evidence of the finding with the given id, in at most limit bytes. If there is no such
// finding, the error lists the ids.
func Finding(c *Capture, want string, limit int) (*Answer, error) {
	c = c.named()
	var ids []string
	var server *Server
	var found *result.Finding
	for i := range c.Servers {
		s := &c.Servers[i]
		if s.Report == nil {
			continue
		}
		for k := range s.Report.Findings {
			f := &s.Report.Findings[k]
			ids = append(ids, id(s.Name, f))
			if want == id(s.Name, f) {
				server, found = s, f
			}
		}
	}
	for _, pd := range c.Together {
		for k := range pd.Findings {
			f := &pd.Findings[k]
			ids = append(ids, id("", f))
			if want == id("", f) {
				server, found = &Server{Report: &result.Report{}}, f
			}
		}
	}
	if found == nil {
		list, more := few(ids, 20)
		text := "there are none"
		if len(list) > 0 {
			text = "there are " + strings.Join(list, ", ")
		}
		if more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		return nil, fmt.Errorf("no finding has the id %q: %s", Cut(want, nameBytes), text)
	}
	return newAnswer(limit, func(m amount) content { return newOne(c, server, found, m) }), nil
}

func newOne(c *Capture, s *Server, f *result.Finding, m amount) *one {
	r := s.Report
	m.facts *= 10
	o := &one{
		Format: 1, Input: Cut(c.Args.Input, argBytes), Capture: r.Source.ID, finding: newFinding(r, f, s.Name, m), Found: report.How(f), Against: report.Against(r, f), Omitted: []Omitted{},
	}
	if w := &f.Worth; w.Known {
		o.Worth = &worth{w.Kind, w.Steps, w.Step, w.Without, w.Low, w.High, w.AtMost, w.Tokens, w.WithoutTokens}
	}
	if at := report.NewOverviewFinding(r, f).At; at != nil && at.Rank < len(r.Source.Ranks) {
		o.Where = &place{
			Rank: r.Source.Ranks[at.Rank], StartNS: at.From, EndNS: at.To, Thread: f.At.Track, Span: f.At.Span,
			Address: fmt.Sprintf("#tab=timeline&step=%d&rank=%d&t0=%d&t1=%d", at.Step, at.Rank, at.From, at.To),
		}
	}
	o.Look = append(o.Look, c.Args.command("view"))
	if tables := tablesOf(f); tables != "" {
		o.Look = append(o.Look, c.Args.command("analyze", "--tables "+tables))
	}
	if f.Guide != "" {
		o.Look = append(o.Look, "stepscope guide "+f.Guide)
	}
	o.Omitted = omit(o.Omitted, o.More, "facts", c.Args.command("analyze", "--all"))
	return o
}

// tablesOf returns the tables of analyze that show more about a finding.
func tablesOf(f *result.Finding) string {
	var names []string
	for _, l := range result.KindOf(f.Kind).Links {
		names = append(names, l.Table)
	}
	if f.Kind == result.Straggler {
		names = append(names, "ranks", "steps", "collectives")
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

func (o *one) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Finding `%s` of %s\n%s: %s\n", o.ID, o.Input, strings.ToUpper(o.Severity), o.Title)
	if o.Cost != "" {
		fmt.Fprintf(&b, "Gain: %s\n", o.Cost)
	}
	list(&b, "Evidence", o.Facts)
	if o.Found != "" {
		fmt.Fprintf(&b, "\n## How it was found\n%s\n", o.Found)
	}
	list(&b, "What speaks against it", o.Against)
	list(&b, "Next", o.Next)
	b.WriteString("\n## Where to look\n")
	if o.Where != nil {
		fmt.Fprintf(&b, "- viewer: %s at %.3f to %.3f ms; address ends in `%s`\n", o.Where.Rank, float64(o.Where.StartNS)/1e6, float64(o.Where.EndNS)/1e6, o.Where.Address)
		if o.Where.Span != "" {
			fmt.Fprintf(&b, "- span `%s` on thread %s\n", o.Where.Span, o.Where.Thread)
		}
	}
	for _, s := range o.Look {
		fmt.Fprintf(&b, "- `%s`\n", s)
	}
	omittedText(&b, o.Omitted)
	return b.String()
}
