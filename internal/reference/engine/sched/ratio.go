package sched

// newTokenRatio is the part of the tokens still to come that admission reserves
// blocks for. It starts high, falls while decoding goes well, and is set to what
// would have been right when sequences had to be retracted
// (python/sglang/srt/managers/scheduler.py, new_token_ratio).
type newTokenRatio struct {
	now, first, least, fall float64
}

func newRatio(conservativeness float64) newTokenRatio {
	const (
		init     = 0.7  // SGLANG_INIT_NEW_TOKEN_RATIO
		minimum  = 0.14 // SGLANG_MIN_NEW_TOKEN_RATIO_FACTOR
		inSteps  = 600  // SGLANG_NEW_TOKEN_RATIO_DECAY_STEPS
		mostEver = 1.0
	)
	r := newTokenRatio{first: min(init*conservativeness, mostEver)}
	r.now, r.least = r.first, r.first*minimum
	r.fall = (r.first - r.least) / inSteps
	return r
}

// decay follows a decode step.
func (r *newTokenRatio) decay() { r.now = max(r.now-r.fall, r.least) }

// reset follows idleness.
func (r *newTokenRatio) reset() { r.now = r.first }

// retracted sets the ratio by the sequences that stay.
func (r *newTokenRatio) retracted(running []*seq) {
	have, most := 0, 0
	for _, q := range running {
		have += q.generated() + retractSteps
		most += q.Params.MaxNewTokens
	}
	r.now = min(float64(have)/float64(most+1), 1)
}
