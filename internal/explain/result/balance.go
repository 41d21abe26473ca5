package result

// Kinds of work that are spread over ranks.
const (
	Attention = "attention"
	Experts   = "experts"
)

// BalanceRow is how evenly one kind of work is spread over the ranks of a domain, by its device time in steps of one
// kind. It covers the places, each between two collectives of all these ranks, that hold such work: usually one per
// layer.
type BalanceRow struct {
	Work   string  `json:"work"`           // Attention over DP ranks, or Experts (matrix products) over EP ranks
	Kind   string  `json:"kind"`           // of the steps
	Steps  int     `json:"steps"`          // steps compared
	Ratio  float64 `json:"balance"`        // mean over maximum, per place; 1: even
	Lost   int64   `json:"lost_ns"`        // per step: slowest rank minus mean, summed over places
	Waited int64   `json:"waited_ns"`      // part of Lost: mean wait of the ranks where the slowest came last
	Halves bool    `json:"halves"`         // Same is known: there were enough steps
	Same   float64 `json:"same_share"`     // share of Lost that always falls on the same ranks: due to placement
	Period int64   `json:"step_period_ns"` // median of the steps

	Parts  []BalancePart  `json:"parts"`
	Layers []BalanceLayer `json:"layers"` // empty where places cannot be identified
	Of     []int          `json:"-"`      // the steps
}

// BalancePart is the ranks with one coordinate.
type BalancePart struct {
	Coordinate int     `json:"coordinate"` // DP or EP
	Ranks      []int   `json:"ranks"`
	Time       int64   `json:"time_ns"` // per step, mean over its ranks
	Share      float64 `json:"share"`   // of the loss: where this one is the slowest
}

// BalanceLayer is the balance in one place.
type BalanceLayer struct {
	Stack   string  `json:"stack"` // "": layers are not marked, and Layer counts the places
	Layer   int     `json:"layer"`
	Ratio   float64 `json:"balance"`
	Lost    int64   `json:"lost_ns"`
	Slowest int     `json:"slowest"` // the coordinate that takes longest, over all of these steps
	Same    float64 `json:"same_share"`
}
