package watch

import (
	"fmt"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// budget is what captures have cost.
type budget struct {
	made  int
	bytes int64

	by    map[string]time.Time // when the last one for a cause began
	shown map[string]shown     // by group: the last one of its servers
}

// shown is a capture.
type shown struct {
	name string
	at   time.Time
}

// cause is what an alarm is of: a rank that has more to do, a rank that is slower, a rank that says nothing, or the
// servers as a whole; captures of different causes do not take each other's turn. What somebody asked for is a cause
// of its own.
func (a *alarm) cause() string {
	what := "all"
	switch {
	case a.Rule.Asked:
		what = "rule " + a.Rule.Name
	case a.Rule.Kind == detect.Silent:
		what = "silent"
	case a.Rule.Kind == detect.Imbalance && a.Rule.Slowness():
		what = "slow"
	case a.Rule.Kind == detect.Imbalance:
		what = "busy"
	}
	return fmt.Sprintf("%s\x00%s\x00%d", a.of.name, what, a.Who)
}

// refuses says why there is no capture now for an alarm; "": there may be one.
func (b *budget) refuses(c *Capture, a *alarm, now time.Time) string {
	last, before := b.by[a.cause()], b.shown[a.of.name]
	switch {
	case b.made >= c.Most:
		return fmt.Sprintf("%s made, and --max-captures allows no more", plural(b.made, "capture"))
	case b.bytes >= c.MostBytes:
		return fmt.Sprintf("captures take all that --max-disk allows, %s", metric.Bytes(c.MostBytes))
	case !last.IsZero() && now.Sub(last) < c.Cooldown:
		return fmt.Sprintf("the last one for this began at %s, and --cooldown is %v", clock(last), c.Cooldown)
	case !a.Rule.Asked && a.Onset.Before(before.at) && now.Sub(before.at) < c.Cooldown:
		return fmt.Sprintf("it was so when %s began at %s, which shows it, and --cooldown is %v", before.name, clock(before.at), c.Cooldown)
	}
	return ""
}

// begin counts a capture, and which groups it shows.
func (b *budget) begin(s *shot, groups []string) {
	b.made++
	s.name = fmt.Sprintf("capture-%d", b.made)
	if b.by == nil {
		b.by, b.shown = map[string]time.Time{}, map[string]shown{}
	}
	for i := range s.why {
		b.by[s.why[i].cause()] = s.at
	}
	for _, g := range groups {
		b.shown[g] = shown{s.name, s.at}
	}
}

func (b *budget) spent(bytes int64) { b.bytes += bytes }
