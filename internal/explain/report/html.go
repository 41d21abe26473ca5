package report

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// The page is one file that needs no network. It contains all styles and scripts, and a content security policy forbids
// loading anything else. Go writes the findings and the tables, so they work without JavaScript and in print. A script
// draws the plots over steps and makes the tables sortable and filterable. The scripts are bundled from TypeScript code;
// what the viewer also draws, and its style, are in internal/web.

//go:generate go tool esbuild page=page/page.ts bench=benchpage/bench.ts sweep=sweeppage/sweep.ts compare=comparepage/compare.ts charts=../../web/charts.css --bundle --format=iife --target=es2022 --charset=utf8 --minify --line-limit=160 --legal-comments=none --outdir=dist

//go:embed */*.html */*.css dist
var pageFiles embed.FS

const (
	pageRows = 400     // maximum rows per table
	pageMax  = 5 << 20 // maximum bytes of a page
)

var pageTemplate = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"pct":  func(f float64) string { return fmt.Sprintf("%.3f", max(min(finite(f), 1), 0)*100) },
	"slug": slug,
	// at returns the x position of a value in the drawing of a span. The drawing has a width of 160.
	"at":    func(f float64) string { return fmt.Sprintf("%.1f", 4+152*max(min(finite(f), 1), 0)) },
	"share": share,
	"side":  sideLetter,
	"count": metric.Count[int64],
	"one":   columns.Clean,
	"clip":  func(n int, s string) string { return shortenName(columns.Clean(s), n) },
	"trust": confidence,
	"none":  func() string { return noFindings },
	"worth": worth,
	"words": func(f fact.Fact) string { return capital(columns.Clean(Words(f))) },
	"first": func(e []pageProof) []pageProof { return e[:min(len(e), firstEvidence)] },
	"rest":  func(e []pageProof) []pageProof { return e[min(len(e), firstEvidence):] },
	"facts": func(e []pageProof) string { return plural(len(e), "more fact") },
}).ParseFS(pageFiles, "page/*.html", "benchpage/*.html", "sweeppage/*.html", "comparepage/*.html"))

// slug returns s as the name of a CSS class or element id.
func slug(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(s))
}

// HTML writes r as one self-contained page of at most 5 MB. If the page would be larger, it contains only the most
// important rows and lists the omissions.
func HTML(w io.Writer, r *result.Report) error {
	r = Plain(r)
	for l := pageLimits; ; l = l.shrink() {
		page, err := htmlPage(r, l)
		if err != nil {
			return err
		}
		if len(page) <= pageMax || l.cells == 1 {
			_, err = w.Write(page)
			return err
		}
	}
}

func htmlPage(r *result.Report, l limits) ([]byte, error) {
	data := newPageData(r, l)
	p := page{
		R: r, Title: "Analysis", Caveat: caveat(r), HasGrid: data.Grid.Cols > 0, HasMemory: len(data.Memory) > 0,
	}
	if r.Source.ID != "" {
		p.Title = "Analysis of " + columns.Clean(r.Source.ID)
	}
	p.Head, p.Verdict = headline(r), answer(r)
	if all := overall(r); all != nil {
		parts := split(all)
		p.Summary, p.Segments = summary(all), parts.segments(all.Total)
	}
	p.HasMaps, p.Open = p.HasGrid && p.Summary != "" && len(r.Source.Ranks) > 1, openCommand(&r.Source)
	p.tables(r, l)
	data.Light = p.light(r, l)
	p.find(r)
	p.left(r, data)
	p.assets.take("page", "page/page.css")
	return execute("page.html", &p, &p.Data, data)
}

// Page is a link to a different page.
type Page struct{ Name, File string }

// assets holds the style, script and data of a page.
type assets struct {
	CSS    template.CSS
	Data   template.JS
	Script template.JS
}

// take reads style and script from the binary.
func (a *assets) take(script string, styles ...string) {
	read := func(name string) string {
		text, err := pageFiles.ReadFile(name)
		if err != nil {
			panic(err) // the binary was built without its embedded files
		}
		return string(text)
	}
	var css []string
	for _, name := range append([]string{"dist/charts.css"}, styles...) {
		css = append(css, read(name))
	}
	a.CSS = template.CSS(strings.Join(css, "\n"))
	a.Script = template.JS(read("dist/" + script + ".js"))
}

// execute stores data as JSON in into, a field of the page, and then renders the page.
func execute(name string, page any, into *template.JS, data any) ([]byte, error) {
	text, err := json.Marshal(data) // Marshal escapes <, > and &, so the text cannot contain </script>
	*into = template.JS(text)
	var b bytes.Buffer
	if err == nil {
		err = pageTemplate.ExecuteTemplate(&b, name, page)
	}
	if err != nil {
		return nil, fmt.Errorf("write report page: %w", err)
	}
	return b.Bytes(), nil
}

// page is the data of the template.
type page struct {
	assets
	R         *result.Report
	Title     string
	Caveat    string
	Verdict   string
	Head      []string
	Summary   string
	Segments  []segment
	Tables    []pageTable
	ByKind    []classBar
	LeftOut   []string
	Others    []Page // pages of the individual servers
	Findings  []pageFound
	Open      string // the command that opens the capture in Perfetto
	HasGrid   bool
	HasMaps   bool
	HasMemory bool
	NoLight   string // the reason if the speed of light cannot be told
}

type pageTable struct {
	ID      string       `json:"id"`
	Title   string       `json:"title"`
	Lead    string       `json:"lead,omitempty"`
	Omitted string       `json:"omitted,omitempty"`
	Legend  []string     `json:"legend,omitempty"`
	Cols    []pageColumn `json:"cols"`
	Rows    []pageRow    `json:"rows"`
	Names   bool         `json:"names,omitempty"` // at least one cell has a longer name than is shown
}

type pageColumn struct {
	Name  string `json:"name"`
	Help  string `json:"help,omitempty"`
	Right bool   `json:"right,omitempty"`
	Code  bool   `json:"code,omitempty"`
	Bar   bool   `json:"bar,omitempty"`
	Graph bool   `json:"graph,omitempty"`
}

// pageRow is a row of a table. The row has an ID if a link leads to the row.
type pageRow struct {
	ID    string     `json:"id,omitempty"`
	Cells []pageCell `json:"cells"`
}

// pageCell is a cell of a table. Num is "" if the column is sorted by text.
type pageCell struct {
	Text  string    `json:"text"`
	Full  string    `json:"full,omitempty"`
	Num   string    `json:"num,omitempty"`
	Code  bool      `json:"code,omitempty"`
	Right bool      `json:"right,omitempty"`
	Short bool      `json:"short,omitempty"` // a text on one line
	Wrap  bool      `json:"wrap,omitempty"`  // a text that needs some width
	Bar   []segment `json:"bar,omitempty"`
	Span  *span     `json:"span,omitempty"`
}

// wrap decides whether a text may wrap.
func (c *pageCell) wrap(flex bool) {
	c.Wrap = flex && len(c.Text) > 30
	c.Short = flex && !c.Wrap && !c.Code
}

// classBar is one line of the diagram of kernel classes.
type classBar struct {
	Kind     string
	Segments []segment
}

func (p *page) tables(r *result.Report, l limits) {
	for _, t := range sections(r, l.rows, false) {
		p.Tables = append(p.Tables, pageTableOf(t, l))
	}
	rows, kinds := classes(r)
	for _, k := range kinds {
		bar := classBar{Kind: k}
		for _, c := range rows {
			if row := c.kinds[k]; row != nil {
				bar.Segments = append(bar.Segments, segment{c.class, finite(row.Share)})
			}
		}
		p.ByKind = append(p.ByKind, bar)
	}
}

// light returns the pictures of the speed of light. If there are none, the page has the reason in their place, without
// the words about parts.
func (p *page) light(r *result.Report, l limits) *LightPicture {
	out := NewLightPicture(r, l.rows)
	if out == nil {
		return nil
	}
	for _, k := range out.Kinds {
		for _, of := range k.Ranks {
			for i := range of.Modules {
				of.Modules[i].Full = "" // the table has it
			}
		}
	}
	if !out.None {
		return out
	}
	p.NoLight = out.Says
	if i := slices.IndexFunc(p.Tables, func(t pageTable) bool { return t.ID == "light" }); i >= 0 {
		p.Tables[i].Lead = ""
	} else {
		p.Tables = append(p.Tables, pageTable{ID: "light", Title: "Speed of light"})
	}
	return nil
}

func pageTableOf(t *table, l limits) pageTable {
	out := pageTable{ID: t.id, Title: t.title, Lead: t.lead, Omitted: t.omitted, Legend: t.legend, Rows: []pageRow{}}
	for i, c := range t.cols {
		graph := len(t.rows) > 0 && t.rows[0][i].span != nil
		out.Cols = append(out.Cols, pageColumn{Name: c.name, Help: c.help, Right: c.right, Code: c.code, Bar: c.bar, Graph: graph})
	}
	for _, row := range t.rows {
		cells := make([]pageCell, len(row))
		for i, c := range row {
			pc := pageCell{Text: c.text, Code: t.cols[i].code && c.text != "", Right: t.cols[i].right, Bar: c.bar, Span: c.span}
			pc.wrap(t.cols[i].flex)
			if c.full != "" {
				pc.Full = shortenName(c.full, l.name)
				out.Names = out.Names || c.span == nil
			}
			if t.cols[i].right || t.cols[i].bar || c.span != nil || c.num != 0 {
				pc.Num = fmt.Sprintf("%.6g", c.num)
			}
			cells[i] = pc
		}
		out.Rows = append(out.Rows, pageRow{Cells: cells})
	}
	return out
}

// left collects the descriptions of the rows and points that plots and tables omit.
func (p *page) left(r *result.Report, d *pageData) {
	if d.Grid.Bucket > 1 {
		p.LeftOut = append(p.LeftOut, fmt.Sprintf("%s × %s: each column of the plots over steps covers %d steps. Bars show their mean, the maps the value furthest from 0.",
			plural(len(d.Ranks), "rank"), plural(len(r.Steps), "step"), d.Grid.Bucket))
	}
	if n := len(d.Lengths.Step); n < len(r.Steps) {
		p.LeftOut = append(p.LeftOut, fmt.Sprintf("Step lengths show the longest of each kind in every %d steps (%s of %s).",
			d.Lengths.Every, metric.Count(n), metric.Count(len(r.Steps))))
	}
	if len(d.Memory) < len(r.Memory) {
		p.LeftOut = append(p.LeftOut, fmt.Sprintf("The memory timeline shows the %d series with the highest peaks of %d.", len(d.Memory), len(r.Memory)))
	}
	if d.Light != nil && d.Light.Left > 0 {
		p.LeftOut = append(p.LeftOut, fmt.Sprintf("The bars of modules leave out %s ranks, by kind of step.", metric.Count(d.Light.Left)))
	}
	for _, t := range p.Tables {
		if t.Omitted != "" {
			p.LeftOut = append(p.LeftOut, t.Title+": "+t.Omitted+".")
		}
	}
}
