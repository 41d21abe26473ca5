package launch

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// Without --max-total-tokens and --mem-fraction-static, weights and KV cache together occupy this fraction of the
// memory. However, the KV cache occupies at most defaultMostKV, which is enough to test a server.
const (
	defaultFraction = 0.5
	defaultMostKV   = 1 << 30 // bytes per rank
)

// unknownMemory is the assumed memory, in bytes, of a system that does not report its memory.
const unknownMemory = 8 << 30

// freeMemory returns the memory, in bytes, that this process may still use. This is Linux's available memory or, if it
// is lower, the memory limit of the process's control group.
func freeMemory() int64 {
	free := int64(unknownMemory)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range bytes.Lines(text) {
			if rest, ok := bytes.CutPrefix(line, []byte("MemAvailable:")); ok {
				kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(string(rest)), " kB"), 10, 64)
				if err == nil {
					free = kib << 10
				}
			}
		}
	}
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil { // else "max"
			free = min(free, limit)
		}
	}
	return free
}

// blocks returns the number of KV cache blocks of each rank.
func (a *ModelArgs) blocks(c *model.Config, format tensor.Format, memory int64) (int, error) {
	perBlock, err := c.KVBytesPerBlock(model.Shard{TPSize: a.TP, PPSize: a.PP, EPSize: a.EP})
	if err != nil {
		return 0, err
	}
	bytesPerWeight := int64(2)
	if format == tensor.F32 {
		bytesPerWeight = 4
	}
	weights := c.Params() * bytesPerWeight / int64(a.TP*a.PP)
	if a.MaxTotalTokens > 0 {
		n := (a.MaxTotalTokens-1)/model.BlockLen + 1
		if most := (memory - weights) / perBlock; int64(n) > most {
			return 0, fmt.Errorf("--max-total-tokens %d: besides weights of %d MiB, the %d MiB of a rank hold at most %d tokens",
				a.MaxTotalTokens, weights>>20, memory>>20, max(most, 0)*model.BlockLen)
		}
		return n, nil
	}
	fraction, most := a.MemFraction, int64(1)<<62
	if fraction == 0 {
		fraction, most = defaultFraction, max(defaultMostKV, perBlock)
	}
	n, err := engine.KVBlocks(memory, weights, perBlock, fraction)
	if err != nil {
		return 0, fmt.Errorf("%w or give --max-total-tokens", err)
	}
	return int(min(int64(n), most/perBlock)), nil
}

// mostGarbage is the approximate limit for uncollected garbage, in bytes.
const mostGarbage = 256 << 20

// GCPercent returns the value for GOGC while the engine serves. By default, the collector lets garbage grow to the size
// of live memory, which consists almost entirely of weights and KV cache. With a KV cache of half the machine's memory,
// the process would therefore grow until it uses all memory.
func (e *Engine) GCPercent() int {
	return gcPercent((e.info.WeightBytes + e.info.KVBytes) * int64(e.here))
}

func gcPercent(inUse int64) int { return int(max(1, min(100, 100*mostGarbage/max(inUse, 1)))) }
