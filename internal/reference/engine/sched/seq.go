package sched

import (
	"math"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/kvcache"
	"github.com/stepscope/stepscope/internal/reference/engine/sample"
)

// Request is one sequence to generate, with the receiver of its events. The scheduler does not check a Request, so the
// caller must check lengths; see Scheduler.Capacity. Params.StopTokens contains all tokens that end the sequence,
// including the model's end tokens.
type Request struct {
	api.Request
	Emit func(api.Event) // called by the scheduler's loop; must not block
	Send Sender          // if set, only the prompt is computed on this server
	Recv Receiver        // if set, the prompt is computed on another server
}

// seq is a request in progress.
type seq struct {
	*Request
	arrival     uint64
	rank        int // order by Priority; equal ranks are ordered by arrival
	state       *sample.State
	tokens      []int32 // the input, then the generated tokens
	table       kvcache.Table
	computed    int // number of positions whose keys and values are in table
	cached      int // number of cached tokens reported in events; -1: never admitted
	retractions int
	done        bool
	came, began time.Time // submission, and start of its first forward pass
	sent        int       // blocks passed to the Sender
	moving      bool      // the transfer of the Sender or Receiver has not ended
	first       api.Event // first token, as passed to the Sender
	kept        int       // number of positions that restore restores; meaningful only if restore is not nil
	restore     func(blocks []int32)

	scores    []api.Logprob
	scoresTop [][]api.Logprob
	scored    bool // whether the scores are complete and have been reported
}

func newSeq(r *Request) *seq {
	return &seq{
		Request: r,
		state:   sample.NewState(r.Params),
		tokens:  slices.Clone(r.Input),
		cached:  -1,
		came:    time.Now(),
		scored:  r.LogprobStart < 0 || r.LogprobStart >= len(r.Input),
	}
}

func (q *seq) generated() int { return len(q.tokens) - len(q.Input) }
func (q *seq) left() int      { return q.Params.MaxNewTokens - q.generated() }

// lookup returns the number of positions that may be taken from the cache. The last token must be computed, because its
// logits are needed. For the same reason, the token before each scored token must be computed.
func (q *seq) lookup() int {
	n := len(q.tokens) - 1
	if !q.scored {
		n = min(n, max(q.LogprobStart-1, 0))
	}
	return n
}

// emit completes and sends an event.
func (q *seq) emit(e api.Event) {
	q.complete(&e)
	q.tell(e)
}

// complete sets the fields that all events have. In one event it also sets the scores of the prompt.
func (q *seq) complete(e *api.Event) {
	e.Cached, e.Retractions = max(q.cached, 0), q.retractions
	if e.Token != api.NoToken && q.generated() <= 1 && !q.began.IsZero() {
		e.Waited, e.Prefilled = q.began.Sub(q.came), time.Since(q.began)
	}
	if !q.scored && len(q.scores) == len(q.Input)-q.LogprobStart {
		e.Prompt, e.PromptTop, q.scored = q.scores, q.scoresTop, true
		q.scores, q.scoresTop = nil, nil
	}
}

// tell sends an event without calling complete.
func (q *seq) tell(e api.Event) {
	if e.Finish != nil {
		q.done = true
	}
	q.Emit(e)
}

// finish ends the request with an event that has no token.
func (q *seq) finish(f api.Finish) { q.emit(api.Event{Token: api.NoToken, Finish: &f}) }

// accept adds a generated token and returns a Finish if the request ends with this token. As in SGLang, the length is
// checked before the other conditions.
func (q *seq) accept(token int32) *api.Finish {
	q.tokens = append(q.tokens, token)
	q.state.Accept(token)
	switch {
	case q.left() <= 0:
		return &api.Finish{Type: api.FinishLength}
	case !q.Params.IgnoreEOS && q.generated() >= q.Params.MinNewTokens && slices.Contains(q.Params.StopTokens, token):
		return &api.Finish{Type: api.FinishStop, Matched: token}
	}
	return nil
}

// score adds the log probabilities of prompt tokens. rows contains the logits after each prompt position, beginning at
// start.
func (q *seq) score(s *sample.Sampler, start int, rows [][]float32) {
	if q.scores == nil {
		q.scores = make([]api.Logprob, 0, len(q.Input)-q.LogprobStart)
		if q.TopLogprobs > 0 {
			q.scoresTop = make([][]api.Logprob, 0, len(q.Input)-q.LogprobStart)
		}
		if q.LogprobStart == 0 {
			q.addScore(q.Input[0], math.NaN(), nil)
		}
	}
	for i, row := range rows {
		next := start + i + 1
		if next < max(q.LogprobStart, 1) || next >= len(q.Input) {
			continue
		}
		logprob, top := s.Score(row, q.Input[next], q.TopLogprobs)
		q.addScore(q.Input[next], logprob, top)
	}
}

func (q *seq) addScore(token int32, logprob float64, top []api.Logprob) {
	q.scores = append(q.scores, api.Logprob{ID: token, Logprob: logprob})
	if q.TopLogprobs > 0 {
		q.scoresTop = append(q.scoresTop, top)
	}
}
