package trace

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Step is the information that the name of a forward pass's annotation contains.
type Step struct {
	Kind   StepKind
	Mode   string // the server's own name of the kind: EXTEND, DECODE, TARGET_VERIFY, …
	Batch  int    // number of requests; -1: unknown
	Tokens int    // number of new tokens; -1: unknown
	Index  int    // index of a denoising step, from 0

	Context, Generation Lengths
}

// Lengths are sums over the requests of one phase in a step. For each request, q is its number of new tokens (attention
// queries), and k is the number of all tokens to which the new tokens attend (attention keys). Q, K, QQ and QK are the
// sums of q, k, q² and q·k; the work of attention is proportional to QQ and QK. A field is 0 if unknown.
type Lengths struct{ Requests, Q, K, QQ, QK int }

// StepKind is the phase to which a step belongs.
type StepKind uint8

// Prefill steps process new context, decode steps process one token per request, and mixed steps do both. Steps named
// ProfilerStep, as in training, are OtherStep.
const (
	OtherStep StepKind = iota
	Prefill
	Decode
	Mixed
	IdleStep
	Denoising // a step of a diffusion model
)

func (k StepKind) String() string {
	return [...]string{"other", "prefill", "decode", "mixed", "idle", "denoising"}[min(k, Denoising)]
}

// ParseStep recognises names that mark steps, such as SGLang's "step[DECODE bs=16]", vLLM's
// "execute_context_2(6144)_generation_3(3)" and "ProfilerStep#3", and module calls that may be steps. Warm-up runs and
// graph captures are not steps.
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

// said holds the values found in a name, indexed as numbers; -1: absent.
type said [len(numbers)]int

var unsaid = func() (s said) {
	for i := range s {
		s[i] = -1
	}
	return s
}()

// setAll parses a list of names with their numbers: "bs=2 toks=7", "sq7sk9". A number without a name is the number of
// new tokens, and a number after "_" is the sum of the squares of the requests' new tokens.
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

// step derives a Step from the mode and the numbers found in a name.
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
	case c[1] >= 0: // add one token for each request in decode
		s.Tokens = c[1] + s.Generation.Requests
	case s.Kind == Decode:
		s.Tokens = s.Batch
	}
	if both && s.Batch < 0 {
		s.Batch = c[0] + g[0]
	}
	return s
}
