package sched

import (
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
)

// TestLoop checks that the stages of the loop add up to the time since the scheduler started, also while it is idle,
// and that the first token reports how long its request waited.
func TestLoop(t *testing.T) {
	before := time.Now()
	s := start(t, newFake(t, 64), Options{})
	after := time.Now()
	var logs []*log
	for i := range 4 {
		l, _ := submit(t, s, ask(prompt(i, 20), 8))
		logs = append(logs, l)
	}
	for _, l := range logs {
		l.wait()
	}
	if err := s.Idle(t.Context()); err != nil {
		t.Fatal(err)
	}
	least := time.Since(after)
	st := s.Stats()
	most := time.Since(before)
	var sum time.Duration
	for _, took := range st.Loop {
		sum += took
	}
	if sum < least || sum > most {
		t.Errorf("the stages add up to %v, want %v to %v: %v", sum, least, most, st.Loop)
	}
	for _, stage := range []api.LoopStage{api.ProcessInputRequests, api.GetNextBatch, api.RunBatch, api.ProcessBatchResult, api.Idle} {
		if st.Loop[stage] <= 0 {
			t.Errorf("%v took no time", stage)
		}
	}
	if st.PrefillSteps < 1 || st.DecodeSteps < 7 || st.PrefillSteps+st.DecodeSteps != st.ForwardCt {
		t.Errorf("%d and %d steps of %d", st.PrefillSteps, st.DecodeSteps, st.ForwardCt)
	}
	for _, l := range logs {
		for i, e := range l.events {
			if (e.Prefilled > 0) != (i == 0) || e.Waited < 0 {
				t.Errorf("event %d: waited %v, prefilled %v", i, e.Waited, e.Prefilled)
			}
		}
	}
}

// TestDetailedNames checks the sums of SGLang's detailed annotations (model_executor/step_span_utils.py).
func TestDetailedNames(t *testing.T) {
	seqs := []model.Seq{{Start: 8, Tokens: make([]int32, 2)}, {Start: 0, Tokens: make([]int32, 10)}}
	ones := []model.Seq{{Start: 2, Tokens: make([]int32, 1)}, {Start: 6, Tokens: make([]int32, 1)}}
	for want, st := range map[string]Step{
		"step[EXTEND bs=2 toks=12]": {Batch: &model.Batch{Mode: model.Extend, Seqs: seqs}},
		"step[EXTEND bs=2 toks=12 c_sq=12 c_sqsq=104 c_sqsk=120 c_sk=20 forward_id=7]": {Count: 7, Detailed: true, Batch: &model.Batch{Mode: model.Extend, Seqs: seqs}},
		"step[DECODE bs=2 g_sq=2 g_sqsq=2 g_sqsk=10 g_sk=10 forward_id=8]":             {Count: 8, Detailed: true, Batch: &model.Batch{Mode: model.Decode, Seqs: ones}},
	} {
		if got := st.Name(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
