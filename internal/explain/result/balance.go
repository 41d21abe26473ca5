package result

// Kinds of work that are spread over ranks, and over which of their coordinates.
const (
	Attention = "attention"
	Experts   = "experts"
)

// BalanceRow is how evenly a kind of work is spread over the ranks of a domain, by its time
// on their devices in steps of one kind. It is of the places between two collectives of
// all these ranks in which there is such work: mostly one a layer.
type BalanceRow struct {
	Work   string  `json:"work"`           // Attention over DP ranks, Experts (their matrix products) over EP ranks
	Kind   string  `json:"kind"`           // of steps
	Steps  int     `json:"steps"`          // that were compared
	Ratio  float64 `json:"balance"`        // mean over maximum, in each place; 1: even
	Lost   int64   `json:"lost_ns"`        // a step: by which the slowest of each place are above the mean
	Waited int64   `json:"waited_ns"`      // of it: what ranks waited, the mean, where the slowest came last
	Halves bool    `json:"halves"`         // Same is known: there are steps enough
	Same   float64 `json:"same_share"`     // of Lost: always of the same ranks in a place, so by where work is placed
	Period int64   `json:"step_period_ns"` // median of the steps

	Parts  []BalancePart  `json:"parts"`
	Layers []BalanceLayer `json:"layers"` // none where places cannot be told
	Of     []int          `json:"-"`      // the steps
}

// BalancePart is the ranks of one coordinate.
type BalancePart struct {
	Coordinate int     `json:"coordinate"` // DP or EP
	Ranks      []int   `json:"ranks"`
	Time       int64   `json:"time_ns"` // a step, the mean over its ranks
	Share      float64 `json:"share"`   // of what is lost: where this one is the slowest
}

// BalanceLayer is one place.
type BalanceLayer struct {
	Stack   string  `json:"stack"` // "": layers are not marked, and Layer counts the places
	Layer   int     `json:"layer"`
	Ratio   float64 `json:"balance"`
	Lost    int64   `json:"lost_ns"`
	Slowest int     `json:"slowest"` // the coordinate that takes longest in all of these steps
	Same    float64 `json:"same_share"`
}
