package watch

import (
	"fmt"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
)

// budget is what captures may cost, and what they have.
type budget struct {
	made  int
	last  time.Time // when the last one began
	bytes int64
}

// refuses says why there is no capture now; "": there may be one.
func (b *budget) refuses(w *Watch, now time.Time) string {
	switch {
	case b.made >= w.MaxCaptures:
		return fmt.Sprintf("there were %s, as many as --max-captures allows", plural(b.made, "capture"))
	case b.bytes >= w.MaxBytes:
		return fmt.Sprintf("captures take %s, and --max-disk allows %s", metric.Bytes(b.bytes), metric.Bytes(w.MaxBytes))
	case b.made > 0 && now.Sub(b.last) < w.Cooldown:
		return fmt.Sprintf("the last one was %v ago, and --cooldown is %v", now.Sub(b.last).Round(time.Second), w.Cooldown)
	}
	return ""
}

func (b *budget) begin(now time.Time) { b.made, b.last = b.made+1, now }

func (b *budget) spent(bytes int64) { b.bytes += bytes }
