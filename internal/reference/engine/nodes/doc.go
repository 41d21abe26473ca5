// Package nodes runs the ranks of an engine in several processes, one per node.
//
// Node 0 has the schedulers. For each data-parallel rank with ranks on other nodes, node 0 has a [Group], which sends
// each forward step to those nodes and reads their answers. On the other nodes [Follow] receives the steps. All ranks
// run the same launches, each on its own shard, and meet in collectives over package mesh. Node 0 also starts and stops
// the recorders of all ranks and fetches their traces.
//
// Steps use the fast lane, in order. Files use the bulk lane, so that no step waits for them. Messages are little
// endian, in the format of codec.go.
package nodes
