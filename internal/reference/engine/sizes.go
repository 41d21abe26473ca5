package engine

import (
	"fmt"
	"strings"

	"github.com/stepscope/stepscope/internal/reference/engine/sched"
)

// Sizes are the sizes of the parallel dimensions. 0 counts as 1.
type Sizes struct{ TP, DP, PP, EP int }

func (z Sizes) normal() Sizes {
	return Sizes{max(z.TP, 1), max(z.DP, 1), max(z.PP, 1), max(z.EP, 1)}
}

// LogPrefix returns the text, such as " DP1 TP0", that follows the time in SGLang's log lines about a data-parallel
// rank. Dimensions of size 1 are omitted.
func (z Sizes) LogPrefix(dp int) string {
	var b strings.Builder
	for _, d := range []struct {
		key      string
		at, size int
	}{{"DP", dp, z.DP}, {"TP", 0, z.TP}, {"EP", 0, z.EP}, {"PP", 0, z.PP}} {
		if d.size > 1 {
			fmt.Fprintf(&b, " %s%d", d.key, d.at)
		}
	}
	return b.String()
}

// BatchTokens returns the maximum number of new tokens in a batch of a scheduler that has these options.
// model.Options.MaxTokens must have this value.
func BatchTokens(o sched.Options, contextLen int) int {
	o = o.WithDefaults()
	if o.ChunkedPrefill > 0 {
		return max(min(o.MaxPrefill, o.ChunkedPrefill), o.MaxRunning)
	}
	return max(o.MaxPrefill, contextLen, o.MaxRunning)
}

// KVBlocks returns the number of KV cache blocks that, together with the weights, fill a fraction of a rank's memory
// (--mem-fraction-static). All sizes are bytes per rank.
func KVBlocks(memory, weights, perBlock int64, fraction float64) (int, error) {
	room := int64(float64(memory)*fraction) - weights
	if n := room / perBlock; n > 0 {
		return int(n), nil
	}
	return 0, fmt.Errorf("no memory for the KV cache: %.2f of %d MiB holds the weights (%d MiB) but no block of %d KiB, raise --mem-fraction-static",
		fraction, memory>>20, weights>>20, perBlock>>10)
}
