package result

// Kinds of work that are divided among ranks.
const (
	Attention = "attention"
	Experts   = "experts"
)

// BalanceRow describes how evenly one kind of work is spread over the ranks of a domain, by the device time of this
// work in steps of one kind. It covers all places with such work, usually one per layer. A place is the time between
// two successive collectives of all these ranks.
type BalanceRow struct {
	Work   string  `json:"work"`           // Attention over DP ranks, or Experts (matrix products) over EP ranks
	Kind   string  `json:"kind"`           // kind of the steps
	Steps  int     `json:"steps"`          // number of steps compared
	Ratio  float64 `json:"balance"`        // mean time divided by maximum time, over all places; 1: even
	Lost   int64   `json:"lost_ns"`        // per step: time of the slowest rank minus mean time, summed over places
	Waited int64   `json:"waited_ns"`      // part of Lost in which ranks waited for the slowest rank, mean over ranks
	Halves bool    `json:"halves"`         // whether there were enough steps to compute Same
	Same   float64 `json:"same_share"`     // share of Lost due to placement: the same ranks are always the slowest
	Period int64   `json:"step_period_ns"` // median period of the steps

	Parts  []BalancePart  `json:"parts"`
	Layers []BalanceLayer `json:"layers"` // empty if places cannot be identified
	Of     []int          `json:"-"`      // steps compared
}

// BalancePart describes the ranks with one coordinate.
type BalancePart struct {
	Coordinate int     `json:"coordinate"` // DP or EP coordinate
	Ranks      []int   `json:"ranks"`
	Time       int64   `json:"time_ns"` // time per step, mean over the ranks
	Share      float64 `json:"share"`   // share of Lost in places where this coordinate is the slowest
}

// BalanceLayer describes the balance in one place.
type BalanceLayer struct {
	Stack   string  `json:"stack"` // "": layers are unknown, and Layer is the index of the place
	Layer   int     `json:"layer"`
	Ratio   float64 `json:"balance"`
	Lost    int64   `json:"lost_ns"`
	Slowest int     `json:"slowest"` // coordinate with the largest total time over all steps
	Same    float64 `json:"same_share"`
}
