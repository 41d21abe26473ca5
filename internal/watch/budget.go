package watch

import (
	"fmt"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// budget counts the captures and their total size.
type budget struct {
	made  int
	bytes int64
	full  string // capture that did not fit in the rest of --max-disk; "": none

	by    map[string]time.Time // start of the last capture, by cause
	shown map[string]shown     // last capture of the group's servers, by group
}

// shown describes a capture that included the servers of a group.
type shown struct {
	name string
	at   time.Time
}

// cause returns the cause of an alarm: a busier rank, a slower rank, a silent rank, or the servers as a whole. The
// cooldown applies per cause, so a capture for one cause does not delay a capture for another cause. Each rule that the
// user has given is a separate cause.
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

// refuses returns the reason why no capture is made for an alarm now, or "" if a capture is allowed.
func (b *budget) refuses(c *Capture, a *alarm, now time.Time) string {
	last, before := b.by[a.cause()], b.shown[a.of.name]
	switch {
	case b.made >= c.Most:
		return fmt.Sprintf("%s made, the most that --max-captures allows", plural(b.made, "capture"))
	case b.bytes >= c.MostBytes:
		return fmt.Sprintf("captures have used up --max-disk, %s", metric.Bytes(c.MostBytes))
	case b.full != "":
		return fmt.Sprintf("%s did not fit in --max-disk, %s", b.full, metric.Bytes(c.MostBytes))
	case !last.IsZero() && now.Sub(last) < c.Cooldown:
		return fmt.Sprintf("the last capture for this cause began at %s, and --cooldown is %v", clock(last), c.Cooldown)
	case !a.Rule.Asked && a.Onset.Before(before.at) && now.Sub(before.at) < c.Cooldown:
		return fmt.Sprintf("%s, which began at %s, already shows it, and --cooldown is %v", before.name, clock(before.at), c.Cooldown)
	}
	return ""
}

// begin counts a capture that begins, and records the groups that the capture covers.
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
