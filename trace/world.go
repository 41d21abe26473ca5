package trace

import "encoding/json"

// World is the process group described by a file's distributedInfo.
type World struct {
	Known bool
	Rank  int   // -1 when absent
	Size  int   // 0 when absent
	RTT   int64 // round trip between the file's host and rank 0's, in ns, as measured by stepscope's nodes; 0: unknown
}

// ParseWorld reads distributedInfo, in which members may be missing. If the text is not a JSON object, the World is not
// Known.
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
	_ = json.Unmarshal(d.Clock, &clock) // other programs may store anything under this key
	w := World{Known: true, Rank: -1, Size: d.Size, RTT: max(clock.RTT, 0)}
	if d.Rank != nil {
		w.Rank = *d.Rank
	}
	return w
}
