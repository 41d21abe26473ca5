package trace

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// This table holds all knowledge of step names. Parsing names, cutting traces into steps, redacting traces and pinning
// rows in Perfetto are all based on it. docs/formats/steps.md has examples for each row of the table, and the test
// reads these examples.

// stepName is one form of the names with which servers mark forward passes and the work around them.
type stepName struct {
	// glob matches every name of the form, and few other names. SQLite and Perfetto evaluate glob. A name is first
	// tested against the literal prefix of glob.
	glob string
	// pattern matches the whole name. Its groups are named after their content: one of numbers, the mode, fields (a
	// list of NAME=VALUE, where NAME is one of numbers), or the sums of a phase.
	pattern string
	role    role
	kind    StepKind // used unless the mode, or the numbers of requests in both phases, determine the kind
	mode    string   // used unless a group of pattern holds the mode
	stays   string   // pattern of the names that a redacted trace may keep

	re, plain *regexp.Regexp // pattern and stays, compiled
	prefix    string         // literal prefix of glob
}

// role is how annotations with a name are used in cutting a trace into steps.
type role uint8

const (
	noStep    role = iota
	around         // spans around forward passes, or between them
	ends           // the last module called by a forward pass
	calls          // calls of modules; in a trace without steps, an outermost call is a forward pass
	cutsAlone      // steps, but only in a trace without other steps
	cuts
)

const (
	every  = `.*`
	fields = `(?P<fields>(?: [a-z_]+=\d+)*)`
	sums   = `\d+(?:_\d+)?|(?:[a-z]+\d+)+`
	// inNoList matches a component of a module's path that is not an index in a list.
	inNoList = `[^.']*[^.'\d][^.']*`
	atom     = `\[bs=(?P<bs>\d+)(?:/\d+)? tok=(?P<toks>\d+)\b.*\]`
	// atomPlain matches the names of ATOM that a redacted trace may keep: all their values are numbers, or lists of
	// numbers, which may be truncated.
	atomPlain = `[a-z]+\[bs=[\d/]+ tok=\d+(?: [a-z_]+=(?:[\d./]+|\[[\d, ]*\](?:\.\.\.\+\d+)?))*\]`
)

// stepNames are tried in this order.
var stepNames = []stepName{
	// Names of SGLang's model runner. In a draft loop, bs is the padded batch size of the graph.
	{glob: "step[[]DRAFT_LOOP raw*", pattern: `step\[(?P<mode>DRAFT_LOOP) raw_bs=(?P<bs>\d+)(?: [a-z_]+=\d+)*\]`, role: cuts, stays: every},
	{glob: "step[[]*", pattern: `step\[(?P<mode>[A-Z_][A-Z_0-9]*)` + fields + `\]`, role: cuts, stays: every},
	{glob: "draft step[[]*", pattern: `draft step\[(?P<mode>[A-Z_][A-Z_0-9]*)` + fields + `\]`, role: cuts, stays: every},
	// Names of SGLang's scheduler, and the stages and steps of SGLang diffusion.
	{glob: "scheduler.*", pattern: `scheduler\.[a-z_]{1,40}`, role: around, stays: every},
	{glob: "STAGE *", pattern: `STAGE (?P<stage>\w*[Ss]tage\w*)`, role: around, stays: every},
	{glob: "stage_*", pattern: `stage_(?P<stage>\w*[Ss]tage\w*)`, role: around, stays: every},
	{glob: "denoising_step_[0-9]*", pattern: `denoising_step_(?P<index>\d+)_t[\d.e+-]+`, role: cuts, kind: Denoising, mode: "denoising_step", stays: every},
	// Names of vLLM: with all sums if details are enabled, and the form used in August 2025.
	{glob: "execute_[0-9c]*", pattern: `execute_(?:\d+_)?context_(?P<c>\d+)\((?P<c_sums>` + sums + `)\)_generation_(?P<g>\d+)\((?P<g_sums>` + sums + `)\)`, role: cuts, stays: every},
	{glob: "execute_new_[0-9]*", pattern: `execute_new_(?P<c>\d+)_cached_(?P<g>\d+)`, role: cuts, mode: "new+cached", stays: every},
	// Names of TensorRT-LLM's PyTorch backend.
	{glob: "[[]Executor] _forward_step*", pattern: `\[Executor\] _forward_step(?: \d+)?: (?P<c>\d+) ctx reqs, (?:(?P<c_sq>\d+) ctx tokens, )?(?P<g>\d+) gen reqs`, role: cuts, stays: every},
	// Names of ATOM.
	{glob: "prefill[[]*", pattern: `prefill` + atom, role: cuts, kind: Prefill, mode: "prefill", stays: atomPlain},
	{glob: "decode[[]*", pattern: `decode` + atom, role: cuts, kind: Decode, mode: "decode", stays: atomPlain},
	// NVTX ranges that contain only a mode.
	{glob: "[A-Z][A-Z]* step [0-9]*", pattern: `(?P<mode>` + strings.Join(slices.Sorted(maps.Keys(modes)), "|") + `) step \d+`, role: cuts, stays: every},
	// Layer-wise NVTX markers of SGLang and vLLM, for modules that are outside lists of layers and have no parameters
	// of their own, such as the model without its head. The logits processor runs after the model. Module paths reveal
	// the model, so redaction has a separate rule for these markers.
	{glob: "{'Module': '*logits_processor'*", pattern: `\{'Module': '[^']*\blogits_processor'.*`, role: ends},
	{glob: "{'Module': '*", pattern: `\{'Module': '(?P<mode>` + inNoList + `(?:\.` + inNoList + `)*)'(?:, 'Inputs': \[\[(?P<toks>\d+).*)?\}`, role: calls},
	// Names of PyTorch's profiler with a schedule.
	{glob: "ProfilerStep*", pattern: `ProfilerStep#?\s*(?P<index>\d+)`, role: cutsAlone, mode: "ProfilerStep", stays: every},
}

// modes maps the modes of SGLang to kinds. A pass of a draft model and a pass that verifies draft tokens are parts of
// decoding.
var modes = map[string]StepKind{
	"EXTEND": Prefill, "PREFILL": Prefill, "SPLIT_PREFILL": Prefill, "DLLM_EXTEND": Prefill,
	"DECODE": Decode, "TARGET_VERIFY": Decode, "VERIFY": Decode,
	"DRAFT": Decode, "DRAFT_LOOP": Decode, "DRAFT_EXTEND": Decode, "DRAFT_EXTEND_V2": Decode,
	"MIXED": Mixed,
	"IDLE":  IdleStep,
}

// numbers lists the names of groups and fields that hold numbers: requests, new tokens, and the index of a denoising
// step, followed by the requests and the sums of Lengths for context (c) and for generation (g).
var numbers = [...]string{"bs", "toks", "index", "c", "c_sq", "c_sk", "c_sqsq", "c_sqsk", "g", "g_sq", "g_sk", "g_sqsq", "g_sqsk"}

// gate lists, for each first byte of a name, the forms that the name may have. It rejects most names cheaply: a trace
// has millions of names, but few of them mark steps.
var gate = func() (gate [256][]*stepName) {
	literal, first := regexp.MustCompile(`^(?:\[\[\]|[^*[])*`), regexp.MustCompile(`^(?:\[.[^\]]*\]|.)`)
	for i := range stepNames {
		n := &stepNames[i]
		n.re, n.plain = regexp.MustCompile(`^(?:`+n.pattern+`)$`), regexp.MustCompile(`^(?:`+n.stays+`)$`)
		n.prefix = strings.ReplaceAll(literal.FindString(n.glob), "[[]", "[")
		for c := range 128 {
			if ok, _ := path.Match(first.FindString(n.glob), string(rune(c))); ok {
				gate[c] = append(gate[c], n)
			}
		}
	}
	return gate
}()

// find returns the form of a name and the contents of its groups, or nil if no form matches.
func find(name string, least role) (*stepName, []string) {
	if name == "" {
		return nil, nil
	}
	for _, n := range gate[name[0]] {
		if n.role >= least && strings.HasPrefix(name, n.prefix) {
			if m := n.re.FindStringSubmatch(name); m != nil {
				return n, m
			}
		}
	}
	return nil, nil
}

// StepNameStays reports whether a name marks a step or the work around a step, and reveals nothing about the server's
// users.
func StepNameStays(name string) bool {
	n, _ := find(name, around)
	return n != nil && n.plain.MatchString(name)
}

// StageOf returns the registered name of the diffusion pipeline stage that a span encloses, or "".
func StageOf(name string) string {
	n, groups := find(name, around)
	if n == nil {
		return ""
	}
	if i := n.re.SubexpIndex("stage"); i >= 0 {
		return groups[i]
	}
	return ""
}

// StepGlobs returns patterns for SQLite's GLOB that match the names in the table. It omits the names of modules,
// because each step calls hundreds of modules.
func StepGlobs() (globs []string) {
	for i := range stepNames {
		if n := &stepNames[i]; n.role != calls && n.role != ends {
			globs = append(globs, n.glob)
		}
	}
	return slices.Compact(globs)
}
