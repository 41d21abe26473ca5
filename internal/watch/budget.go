package watch

import (
	"fmt"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
)

// budget is what captures have cost.
type budget struct {
	made  int
	last  time.Time // when the last one began
	bytes int64
}

// refuses says why there is no capture now; "": there may be one.
func (b *budget) refuses(c *Capture, now time.Time) string {
	switch {
	case b.made >= c.Most:
		return fmt.Sprintf("%s made, and --max-captures allows no more", plural(b.made, "capture"))
	case b.bytes >= c.MostBytes:
		return fmt.Sprintf("captures take %s, and --max-disk allows %s", metric.Bytes(b.bytes), metric.Bytes(c.MostBytes))
	case b.made > 0 && now.Sub(b.last) < c.Cooldown:
		return fmt.Sprintf("the last one began at %s, and --cooldown is %v", clock(b.last), c.Cooldown)
	}
	return ""
}

func (b *budget) begin(now time.Time) { b.made, b.last = b.made+1, now }

func (b *budget) spent(bytes int64) { b.bytes += bytes }
