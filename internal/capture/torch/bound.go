package torch

import (
	"fmt"
	"slices"
	"time"
)

// What is left when stepscope is killed (kill -9, no memory) ends by itself where a server takes a number of steps: one
// that is told it closes its window after so many, whether anybody asks or not. A window of a time is told so many steps
// as the server cannot make in it.

// The shortest steps of a server of which nothing is known. A GPU takes more than a millisecond for a model worth serving.
const (
	shortStep     = time.Millisecond
	shortStepHere = 100 * time.Microsecond // stepscope serve has models of a few thousand weights
)

// spareSteps are room for short windows, and for steps that get shorter.
const spareSteps, spareFactor = 100, 4

// bound is the number of steps that the server is told; 0: none, the window ends when somebody stops it.
func (m *member) bound() int {
	if n, _ := m.told(); n > 0 || m.w.For <= 0 {
		return n
	}
	step := int64(shortStep)
	if m.kind == Stepscope {
		step = int64(shortStepHere)
	}
	if len(m.stretches) > 0 {
		step = max(slices.MinFunc(m.stretches, func(a, b stretch) int { return int(a.took - b.took) }).took/spareFactor, 1)
	}
	return int(int64(m.w.For)/step) + spareSteps
}

// sayUnbounded says beforehand that nobody but stepscope ends the window, where that is so.
func (m *member) sayUnbounded() {
	why := "a window without a number of steps has no end of its own"
	switch {
	case m.kind == VLLM:
		why = "vLLM ends no window by itself"
	case m.bound() > 0:
		return
	}
	m.o.Log(fmt.Sprintf("%s: %s: should stepscope be killed before it closes this one, end it with: stepscope profile stop --url %s", m.URL, why, m.URL))
}
