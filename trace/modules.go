package trace

import (
	"cmp"
	"slices"
	"strings"
)

// modulePasses builds forward passes from module calls. A pass begins with an outermost call and ends with the end of
// the logits processor that follows. A call that no logits processor follows was cut off by the end of the window, or
// belongs to another module, such as the image encoder. On a pipeline stage that computes no logits, each outermost
// call is a pass.
func modulePasses(calls, ends []Pass) []Pass {
	calls, ends = outermostCalls(calls), outermost(ends)
	if len(ends) == 0 {
		return longestModule(calls)
	}
	var passes []Pass
	for i, next := 0, 0; i < len(ends); i++ {
		for next < len(calls) && calls[next].Start < ends[i].Start {
			next++
		}
		if next > 0 {
			p := calls[next-1]
			p.End = max(p.End, ends[i].End)
			passes = append(passes, p)
		}
		calls, next = calls[next:], 0
	}
	passes = longestModule(passes)
	if n := len(passes); n > 0 {
		cut := slices.IndexFunc(calls, func(p Pass) bool { return p.Step.Mode == passes[n-1].Step.Mode })
		if cut >= 0 {
			passes[n-1].Next = calls[cut].Start
		}
	}
	return passes
}

// outermostCalls is like outermost, but gives a call without a token count the count of the first call nested in it.
// vLLM calls its model with keyword arguments, which the markers do not show.
func outermostCalls(calls []Pass) []Pass {
	all := slices.Clone(calls)
	kept := outermost(calls)
	for _, in := range all {
		i := PassAt(kept, in.Start)
		if i >= 0 && kept[i].Step.Tokens < 0 {
			kept[i].Step.Tokens = in.Step.Tokens
		}
	}
	return kept
}

// longestModule keeps only the calls of the module whose calls take the most time in total. If the window begins inside
// a call, the calls nested in it appear to be outermost; longestModule removes them.
func longestModule(calls []Pass) []Pass {
	took, longest := map[string]int64{}, ""
	for i := range calls {
		c := &calls[i]
		took[c.Step.Mode] += c.End - c.Start
		if t := took[c.Step.Mode] - took[longest]; t > 0 || t == 0 && c.Step.Mode < longest {
			longest = c.Step.Mode
		}
	}
	return slices.DeleteFunc(calls, func(p Pass) bool { return p.Step.Mode != longest })
}

// readRequests derives the number of requests in each pass from the size of the sampled token ids. The sampled token
// ids are the first data copied to the host after the pass. A pass with one input token per request is a decode pass; a
// pass with more is a prefill.
func readRequests(t *Trace, passes []Pass) {
	bytes := make([]int64, len(passes))
	copied := map[int64]int64{} // bytes copied to the host, by correlation id
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat == Memcpy && strings.HasPrefix(t.Strings.Get(s.Name), "Memcpy DtoH") {
			copied[s.Corr] = t.Ops[s.Detail].Bytes
		}
	}
	for i := range t.Spans { // ordered by track, then time
		s := &t.Spans[i]
		n, ok := copied[s.Corr]
		if !ok || s.Corr == 0 || !s.Cat.Launch() {
			continue
		}
		at, _ := slices.BinarySearchFunc(passes, s.Start, func(p Pass, start int64) int { return cmp.Compare(p.End, start) })
		// A copy that starts during the next pass does not belong to this pass.
		if at--; at >= 0 && bytes[at] == 0 && passes[at].Track == s.Track && (at+1 == len(passes) || s.Start < passes[at+1].Start) {
			bytes[at] = n
		}
	}
	// Token ids are int64 with PyTorch's samplers, int32 with FlashInfer's.
	size, fits := int64(8), map[int64]int{}
	for i, n := range bytes {
		for _, s := range []int64{4, 8} {
			if rows := passes[i].Step.Tokens; rows > 0 && n == s*int64(rows) {
				fits[s]++
			}
		}
	}
	if fits[4] > fits[8] {
		size = 4
	}
	for i, n := range bytes {
		s := &passes[i].Step
		switch rows := int64(s.Tokens) * size; {
		case n == 0 || n%size != 0 || n > rows:
			continue
		case n == rows:
			s.Kind = Decode
		default:
			s.Kind = Prefill
		}
		s.Batch = int(n / size)
	}
}
