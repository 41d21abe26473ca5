package trace

import "encoding/json"

// World is the process group a file describes in distributedInfo.
type World struct {
	Known bool
	Rank  int   // -1 when absent
	Size  int   // 0 when absent
	RTT   int64 // ns there and back between the file's host and that of rank 0, as stepscope's nodes measure it; 0: not said
}

// ParseWorld reads distributedInfo, whose members may be missing. What is no JSON
// object is not Known.
func ParseWorld(text []byte) World {
	var d struct {
		Rank  *int            `json:"rank"`
		Size  int             `json:"world_size"`
		Clock json.RawMessage `json:"clock"`
	}
	if json.Unmarshal(text, &d) != nil {
		return World{Rank: -1}
	}
	var clock struct {
		RTT int64 `json:"rtt_ns"`
	}
	_ = json.Unmarshal(d.Clock, &clock) // another's may be anything
	w := World{Known: true, Rank: -1, Size: d.Size, RTT: max(clock.RTT, 0)}
	if d.Rank != nil {
		w.Rank = *d.Rank
	}
	return w
}
