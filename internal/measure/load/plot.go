package load

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/live"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/capture/signals"
)

// plot draws a run from its counts. It reads the counts only when it draws a frame, without disturbing the goroutines
// that send requests and read replies.
type plot struct {
	*Shown
	looks []look // one per second for the last span seconds, the newest last
	next  time.Duration
	// Values per second, the newest last.
	requests, output, ttft, itl, queued []float64
	queue                               float64 // maximum queue length in the current second
}

// look holds the counts at one time.
type look struct {
	at            time.Duration
	ended, tokens int64
	ttft, itl     counts
}

const (
	span        = 5 // seconds over which figures are computed
	mostSeconds = 120
)

func newPlot(s *Shown) *plot {
	return &plot{Shown: s, looks: make([]look, 1, span+1), next: time.Second}
}

func (p *plot) look(at time.Duration) (l look) {
	l = look{at: at, ended: p.Live.ended(), tokens: p.Live.tokens()}
	p.Live.TTFT.read(&l.ttft)
	p.Live.ITL.read(&l.itl)
	return l
}

// since returns the increase of the counts since the earlier look before.
func (l look) since(before *look) look {
	l.at, l.ended, l.tokens = l.at-before.at, l.ended-before.ended, l.tokens-before.tokens
	l.ttft.since(&before.ttft)
	l.itl.since(&before.itl)
	return l
}

// second stores the values of the last second.
func (p *plot) second(now look, queued float64) {
	d := now.since(&p.looks[len(p.looks)-1])
	for _, one := range []struct {
		of    *[]float64
		value float64
	}{
		{&p.requests, float64(d.ended) / d.at.Seconds()}, {&p.output, float64(d.tokens) / d.at.Seconds()},
		{&p.ttft, float64(d.ttft.quantile(0.99))}, {&p.itl, float64(d.itl.quantile(0.99))}, {&p.queued, queued},
	} {
		if *one.of = append(*one.of, one.value); len(*one.of) > mostSeconds {
			*one.of = slices.Delete(*one.of, 0, 1)
		}
	}
	if p.looks = append(p.looks, now); len(p.looks) > span {
		p.looks = slices.Delete(p.looks, 0, 1)
	}
}

// frame draws the run at a given time.
func (p *plot) frame(at time.Duration, width, rows int) []string {
	now := p.look(at)
	server, told := signals.State{}, false
	if p.Server != nil {
		server, told = p.Server()
	}
	p.queue = max(p.queue, server.Queued)
	if at >= p.next {
		p.second(now, p.queue)
		p.queue = server.Queued
		p.next = at.Truncate(time.Second) + time.Second
	}
	done, count := float64(now.ended)/float64(max(p.Total, 1)), p.count()
	lines := []string{
		columns.Ends(columns.Clean(p.Title), p.clock(at, done), width),
		columns.Ends(live.Bar(done, max(width-len(count)-2, 8)), count, width),
	}
	if rows < 12 { // a small terminal shows only these two lines
		return lines
	}
	first := &p.looks[0]
	d := now.since(first)
	lines = append(lines, row(fmt.Sprintf("of the last %d s", len(p.looks)), "", "each second", "", width))
	lines = append(lines,
		p.row("requests done", rate(float64(d.ended)/d.at.Seconds()), p.requests, rate, width),
		p.row("output tokens", rate(float64(d.tokens)/d.at.Seconds()), p.output, rate, width))
	quantiles := func(name string, all *Hist, c *counts, values []float64) {
		if all.N() > 0 {
			text := "none"
			if p99 := c.quantile(0.99); p99 > 0 {
				text = fmt.Sprintf("p50 %s, p99 %s", metric.Duration(c.quantile(0.5)), metric.Duration(p99))
			}
			lines = append(lines, p.row(name, text, values, metric.Duration[float64], width))
		}
	}
	quantiles("TTFT", &p.Live.TTFT, &d.ttft, p.ttft)
	quantiles("ITL", &p.Live.ITL, &d.itl, p.itl)
	if told {
		text := fmt.Sprintf("%.0f running, %.0f queued", server.Running, server.Queued)
		if server.KV >= 0 {
			text += fmt.Sprintf(", KV %.0f %%", 100*server.KV)
		}
		lines = append(lines, p.row("server", text, p.queued, func(n float64) string { return fmt.Sprintf("%.0f queued", n) }, width))
	}
	var failed []string
	reasons := p.Live.reasons()
	for _, r := range reasons {
		failed = append(failed, fmt.Sprintf("%d %s", r.Count, r.Reason))
	}
	if len(failed) > 0 {
		text := fmt.Sprintf("%-*s%s: %s", nameWidth, "failed", strings.Join(failed, ", "), columns.Clean(reasons[0].Example))
		lines = append(lines, columns.Short(text, width))
	}
	if p.More != nil {
		for _, line := range p.More(width) {
			lines = append(lines, columns.Short(line, width))
		}
	}
	return lines
}

// rate formats a number of events per second.
func rate(n float64) string {
	if n < 100 {
		return fmt.Sprintf("%.1f /s", n)
	}
	return metric.Count(int64(n)) + " /s"
}

// clock formats the elapsed and remaining time.
func (p *plot) clock(at time.Duration, done float64) string {
	text := fmt.Sprintf("%.0f s", at.Truncate(time.Second).Seconds())
	switch left := p.Last - at; {
	case left > 0:
		text += fmt.Sprintf(", sending for %.0f s more", left.Round(time.Second).Seconds())
	case p.Last == 0 && done > 0.05 && done < 1:
		text += fmt.Sprintf(", about %.0f s left", at.Seconds()*(1-done)/done)
	}
	return text
}

// Column widths of a row.
const (
	nameWidth, figuresWidth, mostWidth = 15, 32, 16
)

// row draws a line of figures, followed by one bar per second.
func (p *plot) row(name, figures string, values []float64, most func(float64) string, width int) string {
	values = values[max(len(values)-max(width-nameWidth-figuresWidth-mostWidth, 0), 0):]
	top := ""
	if len(values) > 0 && slices.Max(values) > 0 {
		top = "max " + most(slices.Max(values))
	}
	return row(name, figures, live.Spark(values), top, width)
}

func row(name, figures, plot, top string, width int) string {
	if width < nameWidth+figuresWidth+mostWidth {
		plot, top = "", ""
	}
	return columns.Short(strings.TrimRight(fmt.Sprintf("%-*s%-*s%s  %s", nameWidth, name, figuresWidth, figures, plot, top), " "), width)
}
