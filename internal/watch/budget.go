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
	last  time.Time            // when the last one began
	by    map[string]time.Time // and that of each rule
	bytes int64
}

// refuses says why there is no capture now for a rule; "": there may be one. A rule that somebody asked for has a
// cooldown of its own, so that no other takes its turn.
func (b *budget) refuses(c *Capture, rule *detect.Rule, now time.Time) string {
	last := b.last
	if rule.Asked {
		last = b.by[rule.Name]
	}
	switch {
	case b.made >= c.Most:
		return fmt.Sprintf("%s made, and --max-captures allows no more", plural(b.made, "capture"))
	case b.bytes >= c.MostBytes:
		return fmt.Sprintf("captures take %s, and --max-disk allows %s", metric.Bytes(b.bytes), metric.Bytes(c.MostBytes))
	case !last.IsZero() && now.Sub(last) < c.Cooldown:
		return fmt.Sprintf("the last one began at %s, and --cooldown is %v", clock(last), c.Cooldown)
	}
	return ""
}

// begin counts a capture that rules have.
func (b *budget) begin(now time.Time, rules []alarm) {
	b.made, b.last = b.made+1, now
	if b.by == nil {
		b.by = map[string]time.Time{}
	}
	for _, a := range rules {
		b.by[a.Rule.Name] = now
	}
}

func (b *budget) spent(bytes int64) { b.bytes += bytes }
