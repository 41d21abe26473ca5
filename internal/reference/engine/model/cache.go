package model

import "github.com/stepscope/stepscope/internal/reference/engine/tensor"

// kvCache holds the rank's keys and values of one layer. Each of the rank's KV heads has blocks of BlockLen positions,
// with keys as [head_dim][BlockLen] and values as [BlockLen][head_dim], the layout that tensor.AttendRows reads. Block
// NumBlocks always contains zeros. The blocks of a head are adjacent in memory, so that the CPU prefetches the next
// block while the current block is processed.
type kvCache struct {
	heads, blocks, size int // size: elements of a block of one head
	k, v                []float32
}

func newKVCache(heads, headDim, blocks int) *kvCache {
	size := headDim * BlockLen
	n := (blocks + 1) * heads * size
	return &kvCache{heads, blocks + 1, size, tensor.Zeros(n), tensor.Zeros(n)}
}

func (c *kvCache) key(block int32, head int) []float32 {
	return c.k[(head*c.blocks+int(block))*c.size:][:c.size:c.size]
}

func (c *kvCache) value(block int32, head int) []float32 {
	return c.v[(head*c.blocks+int(block))*c.size:][:c.size:c.size]
}

// KVBytesPerBlock returns the memory, in bytes, that one block of BlockLen positions occupies in all layers of a rank.
func (c *Config) KVBytesPerBlock(s Shard) (int64, error) {
	g, err := c.cut(s)
	if err != nil {
		return 0, err
	}
	const keyAndValue, float32Bytes = 2, 4
	return int64(g.layers.Len()) * int64(g.kv.Len()) * int64(c.HeadDim) * BlockLen * keyAndValue * float32Bytes, nil
}

// Stored returns this rank's part of the model's keys and values: the ranges lo ≤ i < hi of layers and of KV heads.
func (r *Runner) Stored() (layers, heads [2]int) {
	g := r.geo
	return [2]int{g.layers.Lo, g.layers.Hi}, [2]int{g.kv.Lo, g.kv.Hi}
}

// KV returns the keys and the values of n consecutive blocks, beginning with block. Each has n·head_dim·BlockLen
// elements. layer and head are numbered over the whole model.
func (r *Runner) KV(layer, head int, block int32, n int) (k, v []float32) {
	c := r.kv[layer-r.geo.layers.Lo]
	at := ((head-r.geo.kv.Lo)*c.blocks + int(block)) * c.size
	return c.k[at:][: n*c.size : n*c.size], c.v[at:][: n*c.size : n*c.size]
}
