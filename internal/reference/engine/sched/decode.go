package sched

import (
	"slices"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/kvcache"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/sample"
)

// retractSteps is the number of decode steps for which the remaining sequences must have enough blocks after a
// retraction (SGLANG_RETRACT_DECODE_STEPS), so that the next step need not retract again.
const retractSteps = 20

// planDecode fills the batch with one token of each running sequence.
func (s *Scheduler) planDecode() {
	s.makeRoom()
	for _, q := range s.running {
		if !s.cache.Grow(&q.table, len(q.tokens)) {
			panic("sched: no block for a sequence that was counted")
		}
		s.seqs = append(s.seqs, model.Seq{
			Tokens: q.tokens[q.computed:], Start: q.computed, Blocks: q.table.Blocks,
		})
		s.acts = append(s.acts, part{seq: q})
	}
}

// growth returns the number of additional blocks that the running sequences need so that each can generate n more
// tokens.
func (s *Scheduler) growth(n int) int {
	need := 0
	for _, q := range s.running {
		// Never count more tokens than the sequence may still generate.
		need += max(0, kvcache.Blocks(len(q.tokens)+min(n, q.left())-1)-len(q.table.Blocks))
	}
	return need
}

// makeRoom retracts sequences until the remaining sequences can continue. A single remaining sequence can always
// continue, because its length was checked at submission and the blocks of finished sequences can be evicted. If
// transfers hold blocks, makeRoom waits for these transfers.
func (s *Scheduler) makeRoom() {
	s.meter.lastRetracted = 0
	if s.cache.Fits(s.growth(1)) {
		return
	}
	back := 0
	least := 1
	if s.away.holding() {
		least = 0
	}
	for len(s.running) > least && !(back > 0 && s.cache.Fits(s.growth(retractSteps))) {
		// Retract the sequence with the fewest generated tokens. Among equals, retract the one with the longest prompt.
		worst := slices.MinFunc(s.running, func(a, b *seq) int {
			if a.generated() != b.generated() {
				return a.generated() - b.generated()
			}
			return len(b.Input) - len(a.Input)
		})
		if s.retract(worst) {
			s.away.retracted = append(s.away.retracted, worst)
		} else {
			s.waiting = append(s.waiting, worst)
		}
		back++
	}
	slices.SortFunc(s.waiting, byRank)
	slices.SortFunc(s.away.retracted, byRank)
	s.ratio.retracted(s.running)
}

// retract removes a running sequence's blocks from the sequence. It reports whether the contents of the blocks were
// copied to be restored later.
func (s *Scheduler) retract(q *seq) (kept bool) {
	remove(&s.running, q)
	kept = s.keep(q)
	s.letGo(q)
	q.retractions++
	s.meter.retract(q)
	return kept
}

// absorb processes the results of a step: it samples tokens, sends events to the requests and releases finished
// requests.
func (s *Scheduler) absorb(mode model.Mode, rows [][]float32) {
	if mode == model.Decode {
		s.running = s.running[:0] // sequences that continue are added again
	}
	for i := range s.acts {
		q, b := s.acts[i].seq, &s.seqs[i]
		n := wanted(s.seqs[i : i+1])
		mine := rows[:n]
		rows = rows[n:]
		q.computed += len(b.Tokens)
		q.sent = max(q.sent, s.acts[i].upto)
		if mode == model.Extend {
			s.cache.Publish(&q.table, q.tokens[:q.computed])
			s.meter.prompt += int64(len(b.Tokens))
			if b.WantAll {
				q.score(&s.sampler, b.Start, mine)
			}
			if q.computed < len(q.tokens) {
				continue // the prompt is not complete; its next chunk follows through s.chunked
			}
			s.meter.admitted(q)
		}
		if q.Send != nil {
			s.handOver(q, mine[len(mine)-1])
			continue
		}
		if s.next(q, mine[len(mine)-1]) {
			s.letGo(q)
		} else {
			s.running = append(s.running, q)
		}
	}
}

// next generates one token of a sequence and reports whether this token was the sequence's last.
func (s *Scheduler) next(q *seq, logits []float32) bool {
	if q.left() <= 0 {
		q.finish(api.Finish{Type: api.FinishLength})
		s.meter.finished++
		return true
	}
	e, err := s.choose(q, logits)
	if err != nil {
		q.finish(api.Finish{Type: api.FinishAbort, Message: err.Error(), Status: 500})
		s.meter.aborted++
		return true
	}
	e.Finish = q.accept(e.Token)
	q.emit(e)
	if e.Finish != nil {
		s.meter.finished++
	}
	return e.Finish != nil
}

// choose draws one token of a sequence.
func (s *Scheduler) choose(q *seq, logits []float32) (api.Event, error) {
	c, err := s.sampler.Choose(q.state, logits, sample.Want{Logprob: q.ReturnLogprob, Top: q.TopLogprobs})
	if err != nil {
		return api.Event{}, err
	}
	s.meter.generated++
	s.meter.sinceLine++
	return api.Event{Token: c.ID, Logprob: c.Logprob.Logprob, Top: c.Top}, nil
}
