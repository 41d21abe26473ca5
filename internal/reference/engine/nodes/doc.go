// Package nodes runs the ranks of an engine in several processes, one per node.
//
// Node 0 has the schedulers. A data-parallel rank with ranks on other nodes has a [Group] there, which sends each
// forward step to them and reads their answers. [Follow] is the other end. All ranks run the same launches, each on its
// shard, and meet in collectives over package mesh. Node 0 also starts and stops the recorders of all ranks and fetches
// their traces.
//
// Steps use the fast lane, in order. Files use the bulk lane, so that no step waits for them. Messages are little
// endian, in the format of codec.go.
package nodes
