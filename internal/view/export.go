package view

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/view/kernels"
	"github.com/stepscope/stepscope/internal/view/timeline"
)

// Exported describes the parts of the views that an exported page contains or lacks.
type Exported struct {
	LeftOut     []string `json:"left_out"`     // missing parts, one sentence each
	KernelRanks bool     `json:"kernel_ranks"` // the page has kernels per rank, not only for all ranks together
	WhatIf      []string `json:"whatif"`       // settings for which the page has predictions, one at a time
}

// LeastExport is the smallest permitted size limit of an exported page, in bytes.
const LeastExport = 1_000_000

// Maximum shares of an exported page that kernels and predictions may take, in addition to their initial content. The
// timeline gets the rest.
const kernelShare, whatIfShare = 0.15, 0.1

// Export writes the views of a capture as one standalone page whose size in bytes is at most the parameter most. The
// page contains the answers to all requests that it makes, so it needs no server. Export omits content that does not
// fit, and lists it in the result.
func Export(ctx context.Context, w io.Writer, c *Capture, version string, most int) (*Exported, error) {
	s := New(Options{Given: []*Capture{c}, Version: version})
	x := &exporting{ctx: ctx, s: s, c: c, pack: &pack{left: most - pageBytes()}, out: &Exported{LeftOut: []string{}, WhatIf: []string{}}}
	if err := errors.Join(x.start(), x.kernels(), x.whatIf(), x.timeline(), x.session()); err != nil {
		return nil, err
	}
	page := exportedPage(x.pack.JSON())
	if len(page) > most {
		return nil, fmt.Errorf("the initial content of the page takes %s, more than the limit of %s: raise the limit, or cut a shorter window (stepscope trace cut)",
			metric.Bytes(len(page)), metric.Bytes(most))
	}
	_, err := w.Write(page)
	return x.out, err
}

// exporting is a page under construction.
type exporting struct {
	ctx  context.Context
	s    *Server
	c    *Capture
	pack *pack
	out  *Exported
}

// ask returns the answer that a server would give to a request of the page.
func (x *exporting) ask(path string, v url.Values) (a timeline.Answer, err error) {
	if err := x.ctx.Err(); err != nil {
		return a, err
	}
	r, err := http.NewRequestWithContext(x.ctx, http.MethodGet, "/?"+v.Encode(), nil)
	if err != nil {
		return a, err
	}
	of, err := x.s.answers()[path](r)
	return timeline.Answer{What: address(path, v), Of: of}, err
}

func (x *exporting) lack(format string, args ...any) {
	x.out.LeftOut = append(x.out.LeftOut, fmt.Sprintf(format, args...))
}

func (x *exporting) start() error {
	a, err := x.ask("summary", nil)
	x.pack.Add(math.MinInt, a)
	if err == nil {
		a, err = x.ask("notes", nil)
		x.pack.Add(math.MinInt, a)
	}
	if err == nil && x.c.head().Light {
		a, err = x.ask("light", nil)
		x.pack.Add(math.MinInt, a)
	}
	return err
}

// session adds the page's initial state. It must be called after all other content has been added.
func (x *exporting) session() error {
	x.lack("Benchmark runs, running servers, other captures and queries are not part of a standalone page.")
	a, err := x.ask("session", nil)
	if err != nil {
		return err
	}
	session := a.Of.(*Session)
	session.Exported, session.Captures[0].Load = x.out, ""
	x.pack.Add(math.MinInt, a)
	return nil
}

// kernels adds tables and flame graphs for all ranks together and, if space permits, for each rank.
func (x *exporting) kernels() error {
	of := func(ranks []string) (answers []timeline.Answer, err error) {
		for _, rank := range ranks {
			for _, kind := range append([]string{""}, x.c.head().Kinds...) {
				for _, by := range x.c.Kernels.Groups() {
					for _, path := range []string{"kernels", "flame"} {
						if path == "flame" && by == kernels.Kernel { // the flame graph by class contains this one
							continue
						}
						v := url.Values{"by": {string(by)}}
						if kind != "" {
							v.Set("kind", kind)
						}
						if rank != "" {
							v.Set("rank", rank)
						}
						a, err := x.ask(path, v)
						if err != nil {
							return nil, err
						}
						answers = append(answers, a)
					}
				}
			}
		}
		return answers, nil
	}
	all, err := of([]string{""})
	if err != nil {
		return err
	}
	leave := x.pack.Left() - int(float64(x.pack.Left())*kernelShare)
	x.pack.Add(math.MinInt, all...)
	n := len(x.c.Report.Source.Ranks)
	if n < 2 {
		return nil
	}
	var ranks []string
	for i := range n {
		ranks = append(ranks, strconv.Itoa(i))
	}
	each, err := of(ranks)
	if err != nil {
		return err
	}
	if x.out.KernelRanks = x.pack.Add(leave, each...); !x.out.KernelRanks {
		x.lack("Kernels are shown for all ranks together: there was no room for each rank's own.")
	}
	return nil
}

// whatIf adds the predicted step times for single settings.
func (x *exporting) whatIf() error {
	a, err := x.ask("whatif", nil)
	if err != nil {
		return err
	}
	x.pack.Add(math.MinInt, a)
	first := a.Of.(*WhatIf)
	if !first.Known {
		return nil
	}
	leave := x.pack.Left() - int(float64(x.pack.Left())*whatIfShare)
	who := []string{""}
	ranks := x.c.head().Ranks
	if len(ranks) > 1 {
		for _, rank := range x.foremost(len(ranks)) {
			who = append(who, ranks[rank])
		}
	}
	lacks := len(who)-1 < len(ranks) && len(ranks) > 1
	for _, rank := range who {
		var answers []timeline.Answer
		var set []string
		for _, part := range first.Parts {
			for _, to := range []string{"0", "0.25", "0.5", "0.75", "peers"} {
				what := part.ID
				if rank != "" {
					what = rank + "." + what
				}
				if to == "peers" && (rank == "" || !part.Peers) {
					continue
				}
				a, err := x.ask("whatif", url.Values{"set": {what + "=" + to}})
				if own, ok := errors.AsType[errStatus](err); ok && own.status == http.StatusBadRequest {
					continue // the rank does not have this part
				}
				if err != nil {
					return err
				}
				answers, set = append(answers, a), append(set, what+"="+to)
			}
		}
		if !x.pack.Add(leave, answers...) {
			lacks = true
			break
		}
		x.out.WhatIf = append(x.out.WhatIf, set...)
	}
	text := "What if answers one change at a time, in steps of a quarter"
	if lacks {
		text += ", and not for all ranks"
	}
	x.lack("%s.", text)
	return nil
}

// alone returns the number of ranks, out of n, for which predictions are computed individually. Each of these ranks
// needs about fifty replays of all steps on all ranks. With 256 ranks, a replay takes a quarter of a second.
func alone(n int) int { return min(n, max(1, min(16, 512/n))) }

// foremost returns n ranks for which predictions are offered: first ranks with findings, then others.
func (x *exporting) foremost(n int) (ranks []int) {
	for i := range x.c.Report.Findings {
		ranks = append(ranks, x.c.Report.Findings[i].Ranks...)
	}
	for rank := range n {
		ranks = append(ranks, rank)
	}
	var out []int
	for _, rank := range ranks {
		if len(out) < alone(n) && !slices.Contains(out, rank) {
			out = append(out, rank)
		}
	}
	return out
}

func (x *exporting) timeline() error {
	t, err := x.c.Timeline()
	if errors.Is(err, timeline.ErrNoTraces) {
		x.lack("Timeline: %v.", err)
		return nil
	}
	if err != nil {
		return err
	}
	e, err := t.Export(under{x.pack}, x.c.proofs())
	if err != nil {
		return err
	}
	if e.Drawn < e.All {
		x.lack("Timeline: %s of %s spans are drawn individually, those of at least %s; shorter ones appear as strips.",
			metric.Count(e.Drawn), metric.Count(e.All), metric.Duration(int64(3)<<e.Finest))
	}
	if e.Told < e.All {
		x.lack("Timeline: %s of %s spans have details such as arguments and counterparts, the longest of the pinned rows first.", metric.Count(e.Told), metric.Count(e.All))
	}
	summed, aligned := "steps", "not stretched"
	if n := len(x.c.Report.Steps); e.Summed < n {
		summed = fmt.Sprintf("the first %d of %d steps", e.Summed, n)
	}
	if !e.Met {
		aligned = "neither aligned by collectives nor stretched"
	}
	x.lack("Timeline: of the args of a span, only those that stepscope uses are shown.")
	counted := ""
	if e.Finest > 0 {
		counted = ", and search results are marked but not counted"
	}
	x.lack("Timeline: time is summed up only for %s, and ranks are %s%s.", summed, aligned, counted)
	return nil
}

// Replacements for the addresses from which a served page loads its resources.
var (
	styleLink  = []byte(`<link rel="stylesheet" href="app.css">`)
	scriptLink = []byte(`<script src="app.js" defer></script>`)
	bodyEnd    = []byte("</body>")
)

// exportedPage returns the served page with its resources and the answers inlined.
func exportedPage(answers []byte) []byte {
	script := file("ui/dist/app.js")
	sum := sha256.Sum256(script)
	policy := fmt.Sprintf(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-%s'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'">`,
		base64.StdEncoding.EncodeToString(sum[:]))
	page := file("ui/index.html")
	for _, part := range []struct{ was, is []byte }{
		{styleLink, fmt.Appendf(nil, "%s\n<style>%s</style>", policy, file("ui/dist/app.css"))},
		{scriptLink, nil},
		{bodyEnd, fmt.Appendf(nil, "<script type=\"application/json\" id=\"answers\">%s</script>\n<script>%s</script>\n</body>", answers, script)},
	} {
		page = bytes.Replace(page, part.was, part.is, 1)
	}
	return page
}

// pageBytes returns the length of an exported page without answers.
func pageBytes() int { return len(exportedPage(nil)) }
