package sched

import (
	"slices"

	"github.com/stepscope/stepscope/internal/reference/engine/kvcache"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
)

// This declaration fails to compile unless blocks of the cache and blocks of the model have the same size.
var _ [0]struct{} = [kvcache.BlockSize - model.BlockLen]struct{}{}

// part is one sequence's part of the current step.
type part struct {
	seq *seq
	hit int // positions found in the cache when the sequence is admitted; 0 in later steps
	// upto is the number of leading blocks that may be sent to another server after the step; 0: no transfer.
	upto int
}

const (
	// maxReserve is the maximum number of future tokens for which one request reserves blocks. The limit is needed
	// because most requests end long before they reach their maximum length (SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION).
	maxReserve = 4096
	// maxLogits is the maximum number of logits of a prefill batch that has scored prompts. As float32 they occupy 128
	// MiB.
	maxLogits = 32 << 20
)

// admission is the remaining capacity of a prefill batch while the batch is assembled.
type admission struct {
	tokens  int // tokens that the batch can still take
	rows    int // rows of logits that the batch can still take
	reserve int // expected future tokens of admitted sequences
}

// planPrefill fills the batch with prompts. It first adds the chunked prompt and then adds waiting prompts in order
// until one does not fit.
func (s *Scheduler) planPrefill() {
	a := admission{tokens: s.opt.MaxPrefill, rows: max(1, maxLogits/max(s.opt.Vocab, 1))}
	if s.opt.ChunkedPrefill > 0 {
		a.tokens = min(a.tokens, s.opt.ChunkedPrefill)
	}
	for _, q := range s.running {
		a.reserve += s.counted(q)
	}
	if q := s.chunked; q != nil {
		s.chunked = nil
		a.reserve += q.reserve()
		s.addPart(q, &a, part{seq: q})
	}
	var preempted []*seq
	for len(s.waiting) > 0 && s.chunked == nil {
		q := s.waiting[0]
		if got, crowded := s.admit(q, &a); !got && !(crowded && s.preempt(q, &a, &preempted)) {
			break
		}
		s.waiting = slices.Delete(s.waiting, 0, 1)
	}
	if len(preempted) > 0 {
		s.waiting = append(s.waiting, preempted...)
		slices.SortFunc(s.waiting, byRank)
	}
}

// counted returns the number of future tokens that a running sequence is expected to generate.
func (s *Scheduler) counted(q *seq) int {
	return int(float64(min(q.left(), maxReserve)) * s.ratio.now)
}

// admit adds a waiting sequence to the batch if it fits. It allocates all blocks of the prompt at once, so that a
// chunked prompt can always continue. crowded reports whether the sequence would fit if fewer sequences were running.
func (s *Scheduler) admit(q *seq, a *admission) (admitted, crowded bool) {
	if a.tokens <= 0 || a.rows <= 0 {
		return false, false
	}
	if len(s.running)+len(s.acts) >= s.opt.MaxRunning {
		return false, true
	}
	alone := len(s.acts) == 0 && len(s.running) == 0
	hit := s.cache.Acquire(&q.table, q.tokens, q.lookup())
	fresh := len(q.tokens) - hit
	// A prompt that must not be chunked waits for a batch with enough space for the entire prompt.
	if s.opt.ChunkedPrefill <= 0 && q.scored && fresh > a.tokens && len(s.acts) > 0 {
		s.cache.Release(&q.table)
		return false, false
	}
	come := q.reserve()
	need := kvcache.Blocks(len(q.tokens)) - hit/kvcache.BlockSize
	// If no other sequence is running, all other blocks can be evicted. The sequence's length was checked at
	// submission, so the sequence can finish without a reserve.
	if !alone && !s.cache.Fits(need+kvcache.Blocks(a.reserve+come)) || !s.cache.Grow(&q.table, len(q.tokens)) {
		s.cache.Release(&q.table)
		return false, true
	}
	q.computed = hit
	if q.cached < 0 {
		q.cached = hit
	}
	a.reserve += come
	s.addPart(q, a, part{seq: q, hit: hit})
	return true, false
}

// reserve returns the number of future tokens that q is expected to generate; on a prefill server it is 0.
func (q *seq) reserve() int {
	if q.Send != nil {
		return 0
	}
	return min(q.left(), maxReserve)
}

// addPart adds as much of a sequence's prompt to the batch as fits.
func (s *Scheduler) addPart(q *seq, a *admission, p part) {
	n := len(q.tokens) - q.computed
	if s.opt.ChunkedPrefill > 0 {
		n = min(n, a.tokens)
	}
	// Rows of logits are needed beginning at the position before the first scored token.
	ahead := q.LogprobStart - 1 - q.computed
	score := !q.scored && n > ahead
	if score && ahead > a.rows {
		n, score = ahead, false
	}
	if score {
		n = min(n, a.rows)
		a.rows -= n
	}
	end := q.computed + n
	s.seqs = append(s.seqs, model.Seq{
		Tokens: q.tokens[q.computed:end], Start: q.computed, Blocks: q.table.Blocks[:kvcache.Blocks(end)],
		WantAll: score, NoLogits: !score && end < len(q.tokens),
	})
	p.upto = q.upto(end)
	s.acts = append(s.acts, p)
	a.tokens -= n
	if end < len(q.tokens) {
		s.chunked = q
	}
}
