// Package model runs transformers of the Llama and Qwen families on the software GPU of package device. It reads the
// configuration and weights of a Hugging Face directory, loads one rank's share of the weights, and computes the
// forward pass.
//
// A [Config] describes the architecture and a [Source] yields the weights by their Hugging Face names. A [Runner] is
// one rank. It has a shard of the weights and blocks of the KV cache, and its method [Runner.Forward] computes one
// [Batch]. The files, in the order of a rank's work:
//
//	config.go hf.go rope.go builtin.go              the architecture
//	names.go its weight tensors; package hf reads them
//	open.go                                         both, for a model path
//	shard.go weights.go                             the part of them that a rank holds
//	batch.go cache.go runner.go                     the input of a forward pass, and its memory
//	forward.go ops.go attention.go moe.go launch.go the pass: one launch for each operation
//	graph.go                                        decode steps as replayed graphs
//
// Sizes are in elements, positions in tokens from 0. Activations are [rows][width] float32, row-major; one row is one
// token.
package model
