// Package nodes runs the ranks of an engine in several processes, one per node.
//
// Node 0 runs the schedulers. For each data-parallel rank that has ranks on other nodes, node 0 has a [Group]. The
// Group sends each forward step to those nodes and reads their answers. On the other nodes, [Follow] receives the
// steps. All ranks run the same launches, each on its own shard, and meet in collectives over package mesh. Node 0 also
// starts and stops the recorders of all ranks and fetches their traces.
//
// Steps use the fast lane, in order. Files use the bulk lane, so that no step waits for them. The format of messages is
// defined in codec.go; numbers of fixed size are little endian.
package nodes
