package watch

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// Event is a line of the log of events, docs/formats/watch.md.
type Event struct {
	Format int       `json:"format"` // 1
	Kind   string    `json:"kind"`
	At     time.Time `json:"at"`
	Server string    `json:"server,omitempty"`

	Ranks int      `json:"ranks,omitempty"` // begin: data-parallel ranks
	Lacks []string `json:"lacks,omitempty"` // begin: what the server does not tell

	Rule   string     `json:"rule,omitempty"` // alarm, over
	Signal string     `json:"signal,omitempty"`
	Rank   string     `json:"rank,omitempty"` // that stands out
	Value  float64    `json:"value,omitempty"`
	Normal float64    `json:"normal,omitempty"`
	Limit  float64    `json:"limit,omitempty"`
	After  *time.Time `json:"onset_after,omitempty"` // the change lies after this
	Onset  *time.Time `json:"onset,omitempty"`       // and not after that

	Capture  string   `json:"capture,omitempty"` // its name
	Dir      string   `json:"dir,omitempty"`
	Verdict  *Verdict `json:"verdict,omitempty"`
	Error    string   `json:"error,omitempty"`
	Seconds  float64  `json:"seconds,omitempty"`  // back: that it was gone
	Captures int      `json:"captures,omitempty"` // end

	rule *detect.Rule
}

// eventOf is what a rule found on a server.
func eventOf(f *follower, ev *detect.Event) *Event {
	e := &Event{
		Kind: "alarm", At: ev.At, Server: f.name, Rule: ev.Rule.Name, Signal: ev.Rule.Signal, Value: ev.Value, Normal: ev.Normal, Limit: ev.Limit,
		After: &ev.After, Onset: &ev.Onset, rule: ev.Rule,
	}
	if ev.Ended {
		e.Kind = "over"
	}
	if ev.Who >= 0 {
		e.Rank = rankName(ev.Who)
	}
	return e
}

// rankName is a data-parallel rank as reports name it.
func rankName(dp int) string { return fmt.Sprintf("DP%02d", dp) }

// text says it for people.
func (e *Event) text() string {
	if e.Kind == "over" {
		return fmt.Sprintf("%s: over: %s", e.Server, e.Rule)
	}
	text := fmt.Sprintf("%s: %s since %s", e.Server, e.Rule, clock(*e.Onset))
	if e.Rank != "" {
		text = fmt.Sprintf("%s: %s: %s since %s", e.Server, e.Rank, e.Rule, clock(*e.Onset))
	}
	switch e.rule.Kind {
	case detect.Imbalance:
		what := "the largest over the mean of all ranks"
		if e.rule.Measure == detect.Variation {
			what = "standard deviation over mean of all ranks"
		}
		text += fmt.Sprintf(": %s is %.2f in %s, %.2f before", what, e.Value, e.Signal, e.Normal)
	case detect.Latency:
		if e.rule.Above > 0 {
			text += fmt.Sprintf(": %s is %s, %s before", e.Signal, metric.Duration(e.Value*1e9), metric.Duration(e.Normal*1e9))
		} else {
			text += fmt.Sprintf(": %s is %.2f times its median of the last minutes", e.Signal, e.Value)
		}
	case detect.Queue:
		text += fmt.Sprintf(": by %.1f requests a second", e.Value)
	case detect.Throughput:
		text += fmt.Sprintf(": %s of what as many requests got before", metric.Percent(1/e.Value))
	}
	return text
}

// events is the log of events.
type events struct {
	to  io.Writer // nil: nobody reads them
	run *runs.Run
	err error // the first of writing
}

func (l *events) add(e *Event) {
	e.Format = 1
	if l.to == nil || l.err != nil {
		return
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = l.to.Write(append(line, '\n'))
	}
	l.err = err
}
