// Package memsnap writes snapshots of device memory like _dump_snapshot of torch.cuda.memory, for display by
// pytorch.org/memory_viz and torch/cuda/_memory_viz.py. A snapshot contains the memory in use, by segment and block,
// and the history of allocations and frees. The fields are those of torch/csrc/cuda/memory_snapshot.cpp. They are
// described by the types in _snapshot of torch/cuda/memory.py.
//
// Sizes are in bytes.
package memsnap

import (
	"cmp"
	"io"
	"maps"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Block is an allocated piece of memory.
type Block struct {
	Addr uint64
	Size int64  // greater than 0
	Name string // purpose of the block; viewers show it as the stack of the allocation
}

// Event is an allocation, or a free if Size is below 0.
type Event struct {
	TimeUS int64 // since 1970
	Addr   uint64
	Size   int64 // not 0
}

// Snapshot is the memory of one device.
type Snapshot struct {
	Device     int
	Before     []Block // blocks in use when the history began
	History    []Event // in time order
	MaxEntries int     // maximum number of torch's entries (an allocation has one, a free two); 0: no limit
}

// segment is a range of addresses that was in use at some time. A segment lists the blocks that are in use at the end
// of the history.
type segment struct {
	addr   uint64
	size   int64
	blocks []Block
}

// Write writes the snapshot.
func (s *Snapshot) Write(w io.Writer) error {
	p := newPickler(w)
	p.dict(func() {
		segments := s.segments()
		p.key("segments").list(len(segments), func(i int) { s.segment(p, &segments[i]) })
		// The format requires a list for every device number from 0 to this device's.
		p.key("device_traces").list(s.Device+1, func(device int) {
			if device == s.Device {
				s.history(p)
			} else {
				p.list(0, nil)
			}
		})
		p.key("allocator_settings").dict(func() {
			p.key("PYTORCH_CUDA_ALLOC_CONF").str("")
			p.key("max_split_size").int(-1)
			p.key("garbage_collection_threshold").float(0)
			p.key("expandable_segments").bool(false)
			p.key("pinned_num_register_threads").int(1)
			p.key("release_lock_on_cudamalloc").bool(false)
			p.key("pinned_use_cuda_host_register").bool(false)
			p.key("roundup_power2_divisions").dict(func() {})
		})
		p.key("external_annotations").list(0, nil)
	})
	return p.done()
}

// segments returns the address ranges of all blocks that ever existed. It joins overlapping ranges.
func (s *Snapshot) segments() []segment {
	all := slices.Clone(s.Before)
	live := map[uint64]Block{}
	for _, b := range s.Before {
		live[b.Addr] = b
	}
	for _, e := range s.History {
		b := Block{Addr: e.Addr, Size: max(e.Size, -e.Size)}
		all = append(all, b)
		if e.Size > 0 {
			live[b.Addr] = b
		} else {
			delete(live, b.Addr)
		}
	}
	sorts.By(all, func(a, b Block) int { return cmp.Compare(a.Addr, b.Addr) })
	var out []segment
	for _, b := range all {
		if n := len(out); n > 0 && b.Addr < out[n-1].addr+uint64(out[n-1].size) {
			out[n-1].size = max(out[n-1].size, int64(b.Addr-out[n-1].addr)+b.Size)
			continue
		}
		out = append(out, segment{addr: b.Addr, size: b.Size})
	}
	at := 0
	for _, addr := range slices.Sorted(maps.Keys(live)) {
		for addr >= out[at].addr+uint64(out[at].size) {
			at++
		}
		out[at].add(live[addr])
	}
	return out
}

// add appends a block. If the block overlaps the previous block, add cuts off the overlap, because the blocks of a
// segment must be adjacent.
func (g *segment) add(b Block) {
	if n := len(g.blocks); n > 0 {
		last := g.blocks[n-1]
		if over := int64(last.Addr) + last.Size - int64(b.Addr); over > 0 {
			b.Addr, b.Size = b.Addr+uint64(over), b.Size-over
		}
	}
	if b.Size > 0 {
		g.blocks = append(g.blocks, b)
	}
}

func (s *Snapshot) segment(p *pickler, g *segment) {
	used := int64(0)
	for _, b := range g.blocks {
		used += b.Size
	}
	kind := "small"
	if g.size > 1<<20 {
		kind = "large"
	}
	p.dict(func() {
		p.key("device").int(int64(s.Device))
		p.key("address").int(int64(g.addr))
		p.key("total_size").int(g.size)
		p.key("allocated_size").int(used)
		p.key("active_size").int(used)
		p.key("requested_size").int(used)
		p.key("stream").int(0)
		p.key("segment_type").str(kind)
		p.key("segment_pool_id").pair(0, 0)
		p.key("is_expandable").bool(false)
		p.key("frames").list(0, nil)
		parts := g.parts()
		p.key("blocks").list(len(parts), func(i int) {
			b := &parts[i]
			p.dict(func() {
				p.key("address").int(int64(b.Addr))
				p.key("size").int(b.Size)
				if b.used {
					p.key("requested_size").int(b.Size)
					p.key("state").str("active_allocated")
				} else {
					p.key("requested_size").int(0)
					p.key("state").str("inactive")
				}
				frames(p.key("frames"), b.Name)
			})
		})
	})
}

// part is a block in use, or a gap.
type part struct {
	Block
	used bool
}

// parts returns the blocks of the segment and the gaps between them.
func (g *segment) parts() []part {
	var out []part
	at := g.addr
	gap := func(until uint64) {
		if until > at {
			out = append(out, part{Block: Block{Addr: at, Size: int64(until - at)}})
		}
	}
	for _, b := range g.blocks {
		gap(b.Addr)
		out = append(out, part{b, true})
		at = b.Addr + uint64(b.Size)
	}
	gap(g.addr + uint64(g.size))
	return out
}

// frames writes the stack of a block's allocation.
func frames(p *pickler, name string) {
	if name == "" {
		p.list(0, nil)
		return
	}
	p.list(1, func(int) {
		p.dict(func() {
			p.key("name").str(name)
			p.key("filename").str("stepscope")
			p.key("line").int(0)
		})
	})
}

// entry is one entry of the history, in torch's terms.
type entry struct {
	action string
	Event
}

func (s *Snapshot) history(p *pickler) {
	var list []entry
	for _, e := range s.History {
		if e.Size > 0 {
			list = append(list, entry{"alloc", e})
			continue
		}
		// On this device no free waits for a stream. Every free therefore completes as soon as it is requested.
		e.Size = -e.Size
		list = append(list, entry{"free_requested", e}, entry{"free_completed", e})
	}
	if s.MaxEntries > 0 {
		list = list[max(len(list)-s.MaxEntries, 0):]
	}
	p.list(len(list), func(i int) {
		e := &list[i]
		p.dict(func() {
			p.key("action").str(e.action)
			p.key("addr").int(int64(e.Addr))
			p.key("size").int(e.Size)
			p.key("stream").int(0)
			p.key("time_us").int(e.TimeUS)
			frames(p.key("frames"), "")
		})
	})
}
