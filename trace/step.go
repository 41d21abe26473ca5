package trace

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Step is what an annotation's name says of one forward pass.
type Step struct {
	Kind   StepKind
	Mode   string // as the server names it: EXTEND, DECODE, TARGET_VERIFY, …
	Batch  int    // requests; -1: not said
	Tokens int    // new tokens; -1: not said
	Index  int    // of a denoising step, from 0

	Context, Generation Lengths
}

// Lengths are sums over the requests of one phase in a step: of the new tokens
// (Q, attention's queries), of all tokens that these attend to (K, its keys),
// and of squares and products of both, with which attention's work grows. 0: not
// said.
type Lengths struct{ Requests, Q, K, QQ, QK int }

// StepKind is the phase a step belongs to.
type StepKind uint8

// Prefill has new context, decode one token a request, mixed both. Training
// style steps (ProfilerStep) are OtherStep.
const (
	OtherStep StepKind = iota
	Prefill
	Decode
	Mixed
	IdleStep
	Denoising // of a diffusion model
)

func (k StepKind) String() string {
	return [...]string{"other", "prefill", "decode", "mixed", "idle", "denoising"}[min(k, Denoising)]
}

// ParseStep recognises the names that cut a trace into steps, such as SGLang's
// "step[DECODE bs=16]", vLLM's "execute_context_2(6144)_generation_3(3)" and
// "ProfilerStep#3", and calls of modules that may be one. Warm-up runs and graph
// captures are no steps.
func ParseStep(name string) (Step, bool) {
	s, role := stepNamed(name)
	return s, role >= calls
}

func stepNamed(name string) (Step, role) {
	n, groups := find(name, ends)
	if n == nil {
		return Step{}, noStep
	}
	mode, said := "", unsaid
	for i, group := range n.re.SubexpNames() {
		switch {
		case group == "mode":
			mode = groups[i]
		case group == "fields":
			said.setAll("", groups[i])
		case strings.HasSuffix(group, "_sums"):
			said.setAll(group[:2], groups[i])
		default:
			said.set(group, groups[i])
		}
	}
	return n.step(mode, said), n.role
}

// said are the numbers of a name, in the order of numbers; -1: not said.
type said [len(numbers)]int

var unsaid = func() (s said) {
	for i := range s {
		s[i] = -1
	}
	return s
}()

// setAll takes in a list of names with their numbers: "bs=2 toks=7", "sq7sk9".
// A number alone is of new tokens, and one behind it after _ of their squares.
func (s *said) setAll(phase, list string) {
	digit := func(r rune) bool { return r >= '0' && r <= '9' }
	for list != "" {
		name := list[:max(strings.IndexFunc(list, digit), 0)]
		value := list[len(name):]
		list = strings.TrimLeftFunc(value, digit)
		name = strings.TrimSuffix(strings.TrimPrefix(name, " "), "=")
		if name == "_" {
			name = "sqsq"
		}
		s.set(phase+cmp.Or(name, "sq"), value[:len(value)-len(list)])
	}
}

func (s *said) set(number, value string) {
	if i := slices.Index(numbers[:], number); i >= 0 {
		if n, err := strconv.Atoi(value); err == nil {
			s[i] = n
		}
	}
}

// step works out what follows from the mode and the numbers of a name.
func (n *stepName) step(mode string, said said) Step {
	lengths := func(s []int) Lengths {
		return Lengths{max(s[0], 0), max(s[1], 0), max(s[2], 0), max(s[3], 0), max(s[4], 0)}
	}
	c, g := said[3:8], said[8:13]
	s := Step{
		Kind: n.kind, Mode: cmp.Or(n.mode, mode), Batch: said[0], Tokens: said[1], Index: max(said[2], 0),
		Context: lengths(c), Generation: lengths(g),
	}
	both := c[0] >= 0 && g[0] >= 0
	switch {
	case mode != "":
		s.Kind = modes[mode]
	case both && c[0] > 0 && g[0] > 0:
		s.Kind, mode = Mixed, "context+generation"
	case both && c[0] > 0:
		s.Kind, mode = Prefill, "context"
	case both && g[0] > 0:
		s.Kind, mode = Decode, "generation"
	case both:
		s.Kind, mode = IdleStep, "idle"
	}
	s.Mode = cmp.Or(s.Mode, mode)
	switch {
	case s.Tokens >= 0:
	case g[1] >= 0:
		s.Tokens = s.Context.Q + g[1]
	case c[1] >= 0: // and a token for each request that generates
		s.Tokens = c[1] + s.Generation.Requests
	case s.Kind == Decode:
		s.Tokens = s.Batch
	}
	if both && s.Batch < 0 {
		s.Batch = c[0] + g[0]
	}
	return s
}
