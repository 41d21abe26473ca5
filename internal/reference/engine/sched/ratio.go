package sched

// newTokenRatio is the fraction of future tokens for which admission reserves blocks. The ratio starts high and falls
// with each decode step. After a retraction, the ratio is set to the value that would have prevented the retraction
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

// decay updates the ratio after a decode step.
func (r *newTokenRatio) decay() { r.now = max(r.now-r.fall, r.least) }

// reset restores the initial ratio after an idle time.
func (r *newTokenRatio) reset() { r.now = r.first }

// retracted sets the ratio according to the sequences that remain after a retraction.
func (r *newTokenRatio) retracted(running []*seq) {
	have, most := 0, 0
	for _, q := range running {
		have += q.generated() + retractSteps
		most += q.Params.MaxNewTokens
	}
	r.now = min(float64(have)/float64(most+1), 1)
}
