package record

import "time"

// epoch is the moment from which this process counts. All its ranks share it, so their times compare exactly.
var epoch = time.Now()

// Now is the monotonic clock, ns since the process began to count.
func Now() int64 { return int64(time.Since(epoch)) }

// Epoch is the wall clock when Now was 0, ns since 1970. Processes of one host that share a time line use the epoch of
// one of them.
func Epoch() int64 { return epoch.UnixNano() }
