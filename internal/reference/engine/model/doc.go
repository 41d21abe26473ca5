// Package model runs transformers of the Llama and Qwen families on the software GPU of package device: the
// configuration and weights of a Hugging Face directory, one rank's share of them, and the forward pass.
//
// A [Config] describes the architecture, a [Source] yields the weights by their Hugging Face names, and a [Runner] is
// one rank: its shard of the weights, its blocks of the KV cache, and [Runner.Forward], which computes one [Batch].
// The layers of a rank's work are:
//
//	config.go hf.go rope.go builtin.go              what the model is
//	names.go                                        which tensors its weights are; package hf reads them
//	open.go                                         both, for a model path
//	shard.go weights.go                             which part of them a rank holds
//	batch.go cache.go runner.go                     what is asked of a forward pass, and the memory it works in
//	forward.go ops.go attention.go moe.go launch.go the pass: one launch for each operation
//	graph.go                                        decode steps as replayed graphs
//
// Sizes are in elements, positions in tokens from 0. Activations are [rows][width] float32, row-major; one row is one
// token.
package model
