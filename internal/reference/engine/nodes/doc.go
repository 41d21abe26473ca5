// Package nodes runs the ranks of an engine in several processes, one a node.
//
// Node 0 has the schedulers. A data-parallel rank with ranks on other nodes has a
// [Group] there, which sends each forward step to them and takes what they answer;
// [Follow] is the other end. All run the same launches, each on its shard, and meet
// in collectives that go over the mesh of package mesh. Node 0 also starts and
// stops the recorders of all ranks and fetches their traces.
//
// Steps go over the fast lane, in order; files over the bulk lane, so that no step
// waits for them. What is sent is little endian, in the form that codec.go gives it.
package nodes
