package trace

import (
	"regexp"
	"strconv"
	"strings"
)

// Step is what an annotation's name says of one forward pass.
type Step struct {
	Kind   StepKind
	Mode   string // as the server names it: EXTEND, DECODE, TARGET_VERIFY, …
	Batch  int    // requests; -1: not said
	Tokens int    // new tokens; -1: not said
}

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

// The names that servers give their forward passes.
var (
	sglangStep   = regexp.MustCompile(`^(?:draft )?step\[([A-Z_]+)((?: [a-z_]+=\d+)*)\]$`)
	vllmStep     = regexp.MustCompile(`^execute_(?:\d+_)?context_(\d+)\((?:sq)?(\d+)[^)]*\)_generation_(\d+)\((?:sq)?(\d+)[^)]*\)$`)
	vllmOldStep  = regexp.MustCompile(`^execute_new_(\d+)_cached_(\d+)$`)
	atomStep     = regexp.MustCompile(`^(prefill|decode)\[bs=(\d+)(?:/\d+)? tok=(\d+)\b.*\]$`)
	profilerStep = regexp.MustCompile(`^ProfilerStep#?\s*\d+$`)
	denoiseStep  = regexp.MustCompile(`^denoising_step_\d+_t[\d.e+-]+$`)
	nvtxStep     = regexp.MustCompile(`^([A-Z_]+) step (\d+)$`)
)

// ParseStep recognises the name of a forward pass: SGLang's
// "step[DECODE bs=16]", vLLM's "execute_context_2(6144)_generation_3(3)",
// ATOM's "decode[bs=4 tok=4 …]", "DECODE step 3", SGLang Diffusion's
// "denoising_step_0_t1000" and "ProfilerStep#3".
// Warm-up runs and graph captures are no steps.
func ParseStep(name string) (Step, bool) {
	// Every form but these begins with one of few letters; most annotations
	// of a trace end here.
	if name == "" || !strings.ContainsAny(name[:1], "sdepPABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		return Step{}, false
	}
	if m := sglangStep.FindStringSubmatch(name); m != nil {
		s := Step{Kind: modeKind(m[1]), Mode: m[1], Batch: -1, Tokens: -1}
		for kv := range strings.FieldsSeq(m[2]) {
			switch key, val, _ := strings.Cut(kv, "="); key {
			case "bs":
				s.Batch = atoi(val)
			case "toks":
				s.Tokens = atoi(val)
			}
		}
		if s.Tokens < 0 && s.Kind == Decode {
			s.Tokens = s.Batch
		}
		return s, true
	}
	if m := vllmStep.FindStringSubmatch(name); m != nil {
		ctx, gen := atoi(m[1]), atoi(m[3])
		s := Step{Mode: "context+generation", Batch: ctx + gen, Tokens: atoi(m[2]) + atoi(m[4])}
		switch {
		case ctx > 0 && gen > 0:
			s.Kind = Mixed
		case ctx > 0:
			s.Kind, s.Mode = Prefill, "context"
		case gen > 0:
			s.Kind, s.Mode = Decode, "generation"
		default:
			s.Kind, s.Mode = IdleStep, "idle"
		}
		return s, true
	}
	if m := vllmOldStep.FindStringSubmatch(name); m != nil {
		fresh, cached := atoi(m[1]), atoi(m[2])
		s := Step{Mode: "new+cached", Batch: fresh + cached, Tokens: -1}
		switch {
		case fresh > 0 && cached > 0:
			s.Kind = Mixed
		case fresh > 0:
			s.Kind = Prefill
		case cached > 0:
			s.Kind = Decode
		default:
			s.Kind = IdleStep
		}
		return s, true
	}
	if m := atomStep.FindStringSubmatch(name); m != nil {
		s := Step{Kind: Prefill, Mode: m[1], Batch: atoi(m[2]), Tokens: atoi(m[3])}
		if m[1] == "decode" {
			s.Kind = Decode
		}
		return s, true
	}
	if m := nvtxStep.FindStringSubmatch(name); m != nil && modeKind(m[1]) != OtherStep {
		return Step{Kind: modeKind(m[1]), Mode: m[1], Batch: -1, Tokens: -1}, true
	}
	if denoiseStep.MatchString(name) {
		return Step{Kind: Denoising, Mode: "denoising_step", Batch: -1, Tokens: -1}, true
	}
	if profilerStep.MatchString(name) {
		return Step{Kind: OtherStep, Mode: "ProfilerStep", Batch: -1, Tokens: -1}, true
	}
	return Step{}, false
}

func modeKind(mode string) StepKind {
	switch mode {
	case "EXTEND", "PREFILL", "SPLIT_PREFILL", "DLLM_EXTEND":
		return Prefill
	case "DECODE", "TARGET_VERIFY", "DRAFT_EXTEND", "DRAFT_EXTEND_V2":
		return Decode
	case "MIXED":
		return Mixed
	case "IDLE":
		return IdleStep
	}
	return OtherStep
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
