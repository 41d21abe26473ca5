package record

import "time"

// epoch is the moment from which this process counts time. All ranks of the process share it, so their times are
// exactly comparable.
var epoch = time.Now()

// Now is the monotonic clock, in ns since epoch.
func Now() int64 { return int64(time.Since(epoch)) }

// Epoch returns the wall clock time at which Now was 0, in ns since 1970. Processes of one host that share a time line
// all use the epoch of one of these processes.
func Epoch() int64 { return epoch.UnixNano() }
