package bench

// Speculative summarises speculative decoding by the counters of a server during a load.
type Speculative struct {
	Drafts   int64 `json:"drafts"` // verified drafts, that is, forward steps
	Drafted  int64 `json:"draft_tokens"`
	Accepted int64 `json:"accepted_tokens"`
	// Length is the mean number of tokens per draft: the accepted ones and the one that each step adds.
	Length float64 `json:"acceptance_length"`
	Rate   float64 `json:"acceptance_rate"` // accepted tokens among the draft tokens
	// Positions holds, for each position in a draft, the share of the drafts whose token there was accepted.
	Positions []float64 `json:"acceptance_by_position"`
}
