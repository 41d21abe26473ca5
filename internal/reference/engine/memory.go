package engine

import (
	"fmt"
	"path/filepath"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/memsnap"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
)

// Memory that a software device reserves has no real addresses. In snapshots this memory begins at the following
// address, far from the addresses that Go allocates.
const (
	firstAddr = 1 << 44
	addrStep  = 2 << 20 // granularity of CUDA's allocator
)

// reserved returns, for each rank of a group, the memory that the rank allocates at its creation. This memory consists
// of the weights and a KV cache, which has the given number of blocks plus a zero block. No step may run during the
// call. For a group that cannot report its memory, reserved returns nothing.
func reserved(g Group, blocks int) ([][]memsnap.Block, error) {
	out := make([][]memsnap.Block, len(g.Ranks()))
	r, ok := g.(*Ranks)
	if !ok {
		return out, nil
	}
	err := r.Each(func(i int, run *model.Runner, _ *device.Host) error {
		m := &r.list[i].Meta
		perBlock, err := run.Config().KVBytesPerBlock(model.Shard{
			TPRank: m.TP.Rank, TPSize: m.TP.Size, PPRank: m.PP.Rank, PPSize: m.PP.Size, EPSize: m.EP.Size,
		})
		at := uint64(firstAddr)
		for _, b := range []memsnap.Block{{Size: run.WeightBytes(), Name: "weights"}, {Size: perBlock * int64(blocks+1), Name: "kv_cache"}} {
			if b.Size > 0 {
				b.Addr = at
				out[i] = append(out[i], b)
				at += uint64(b.Size+addrStep-1) / addrStep * addrStep
			}
		}
		return err
	})
	return out, err
}

// writeMemory writes a snapshot of a rank's memory, as torch does on behalf of SGLang for the activity MEM.
func (s *session) writeMemory(f rankFile) {
	snap := memsnap.Snapshot{Device: f.rank.Meta.Device.Index, Before: f.reserved, MaxEntries: s.req.MemEntries}
	err := f.rec.DeviceMemory(func(at int64, addr uint64, bytes int64) {
		if bytes != 0 {
			snap.History = append(snap.History, memsnap.Event{TimeUS: at / 1000, Addr: addr, Size: bytes})
		}
	})
	if err != nil {
		s.fail(fmt.Errorf("fetch the memory of %s: %w", s.place(f.rank), err))
		return
	}
	path := filepath.Join(s.req.OutputDir, s.memoryName(f))
	if s.writeFile(path, "memory of "+s.place(f.rank), snap.Write) {
		s.mu.Lock()
		s.snapshots = append(s.snapshots, path)
		s.mu.Unlock()
	}
}

// memoryName returns the name of a rank's snapshot. Like SGLang's name, it contains the time instead of prefix and id.
// Unlike in SGLang, all ranks of a window use the same time. SGLang's name contains only the TP rank, so with DP or PP
// the files would overwrite each other. Therefore memoryName uses the same coordinates as a trace's name.
func (s *session) memoryName(f rankFile) string {
	name := fmt.Sprintf("%s-%s-memory", api.PythonTime(f.stopped), s.place(f.rank))
	if f.stage != "" {
		name += "-" + f.stage
	}
	return name + ".pickle"
}
