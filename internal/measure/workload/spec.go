package workload

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Spec selects a data set and its parameters. The fields are flags of SGLang's bench_serving. [Default] returns their
// default values.
type Spec struct {
	Dataset string // --dataset-name, one of Datasets
	Path    string // --dataset-path
	Offset  int    // --dataset-offset: conversations to skip at the start; agentic-trace
	N       int    // --num-prompts; 0: all rows of the file
	Seed    int64  // --seed
	Backend string // --backend; images and conversations need a backend that accepts them; "": not checked

	TokenIDs     bool   // --tokenize-prompt: send ids, not text
	ChatTemplate bool   // --apply-chat-template
	Suffix       string // --prompt-suffix

	FixedOutputLen int // --sharegpt-output-len; 0: not set
	ContextLen     int // --sharegpt-context-len; 0: not set

	InputLen   int     // --random-input-len
	OutputLen  int     // --random-output-len
	RangeRatio float64 // --random-range-ratio

	Image  ImageSpec
	Prefix PrefixSpec

	AgenticMaxTurns int // --agentic-max-turns; 0: not set

	SpeedBenchCategory  string // --speed-bench-category; "": all
	SpeedBenchOutputLen int    // --speed-bench-output-len

	MooncakeWorkload string // --mooncake-workload: name of the file
	MooncakeRounds   int    // --mooncake-num-rounds

	TraceColumns string // --trace-columns: names of the columns of a timed trace

	LoRANames        []string // --lora-name
	LoRADistribution string   // --lora-request-distribution: uniform, distinct, skewed
	LoRAAlpha        float64  // --lora-zipf-alpha

	// Start is the time that is written into routing keys; zero: the current time.
	Start time.Time
	// Note receives one-line remarks about the result for the user, such as skipped rows or deviating lengths. nil:
	// ignored.
	Note func(string)
}

// ImageSpec holds the flags of the image data set.
type ImageSpec struct {
	Count       int    // --image-count
	RandomCount bool   // --random-image-count: 1 to Count per request
	Resolution  string // --image-resolution: 4k, 1080p, 720p, 360p, HxW or random:HxW-HxW
	Format      string // --image-format: jpeg or png
	Content     string // --image-content: random or blank
}

// PrefixSpec holds the flags of the generated-shared-prefix data set.
type PrefixSpec struct {
	Groups         int     // --gsp-num-groups
	PerGroup       int     // --gsp-prompts-per-group
	SystemLen      int     // --gsp-system-prompt-len
	QuestionLen    int     // --gsp-question-len
	OutputLen      int     // --gsp-output-len
	RangeRatio     float64 // --gsp-range-ratio
	Fast           bool    // --gsp-fast-prepare: lengths are not measured; they are reported as 1
	SendRoutingKey bool    // --gsp-send-routing-key
	Turns          int     // --gsp-num-turns
	Ordered        bool    // --gsp-ordered
	Distribution   string  // --gsp-group-distribution: uniform or zipf
	ZipfAlpha      float64 // --gsp-zipf-alpha; 0: not set
}

// Default returns the defaults of bench_serving's flags.
func Default() Spec {
	return Spec{
		Dataset: "sharegpt", N: 1000, Seed: 42,
		InputLen: 1024, OutputLen: 1024,
		Image: ImageSpec{Count: 1, Resolution: "1080p", Format: "jpeg", Content: "random"},
		Prefix: PrefixSpec{
			Groups: 64, PerGroup: 16, SystemLen: 2048, QuestionLen: 128, OutputLen: 256,
			RangeRatio: 1, Turns: 1, Distribution: "uniform",
		},
		SpeedBenchOutputLen: 512,
		MooncakeWorkload:    "conversation", MooncakeRounds: 1,
		LoRADistribution: "uniform", LoRAAlpha: 1.5,
	}
}

// Datasets are the names that Build accepts.
var Datasets = []string{
	"sharegpt", "custom", "openai", "random", "random-ids", "generated-shared-prefix", "image",
	"mooncake", TimedTrace, "agentic-trace", "longbench_v2", "speed-bench", "mmmu", "plan",
}

// check validates the settings that are common to all data sets. Each data set checks its specific settings itself.
func (s *Spec) check() error {
	if !slices.Contains(Datasets, s.Dataset) {
		return fmt.Errorf("unknown --dataset-name %q: give one of %s", s.Dataset, strings.Join(Datasets, ", "))
	}
	if s.TraceColumns != "" && s.Dataset != TimedTrace {
		return fmt.Errorf("--trace-columns names the columns of --dataset-name %s, not of %s", TimedTrace, s.Dataset)
	}
	for _, f := range []struct {
		flag  string
		value int
	}{
		{"--num-prompts", s.N}, {"--dataset-offset", s.Offset}, {"--sharegpt-context-len", s.ContextLen},
		{"--agentic-max-turns", s.AgenticMaxTurns}, {"--random-output-len", s.OutputLen}, {"--gsp-output-len", s.Prefix.OutputLen},
	} {
		if f.value < 0 || f.value > most {
			return fmt.Errorf("%s %d must be from 0 to %d", f.flag, f.value, most)
		}
	}
	if s.FixedOutputLen != 0 && s.FixedOutputLen < 4 {
		return fmt.Errorf("--sharegpt-output-len %d is too small: give at least 4", s.FixedOutputLen)
	}
	if s.TokenIDs && !slices.Contains([]string{"random", "random-ids", "generated-shared-prefix", "plan"}, s.Dataset) {
		return fmt.Errorf("--tokenize-prompt does not work with data set %s: only random, random-ids and generated-shared-prefix produce token ids", s.Dataset)
	}
	if s.Seed < 0 || s.Seed > math.MaxUint32 {
		return fmt.Errorf("--seed %d must be from 0 to %d, as numpy takes them", s.Seed, uint32(math.MaxUint32))
	}
	return s.checkLoRA()
}

func (s *Spec) checkLoRA() error {
	switch s.LoRADistribution {
	case "", "uniform":
	case "distinct", "skewed":
		if len(s.LoRANames) < 2 {
			return fmt.Errorf("--lora-request-distribution %s needs two or more adapters in --lora-name", s.LoRADistribution)
		}
	default:
		return fmt.Errorf("unknown --lora-request-distribution %q: give uniform, distinct or skewed", s.LoRADistribution)
	}
	if len(s.LoRANames) > 0 && !(s.LoRAAlpha > 1) {
		return fmt.Errorf("--lora-zipf-alpha %g must be greater than 1", s.LoRAAlpha)
	}
	return nil
}

func checkRatio(flag string, ratio float64) error {
	if math.IsNaN(ratio) || ratio < 0 || ratio > 1 {
		return fmt.Errorf("%s %g must be from 0 to 1", flag, ratio)
	}
	return nil
}

// most is the maximum number of tokens per text and the maximum number of requests. The limit prevents a typing error
// from exhausting memory.
const most = 1 << 24

// count returns an error naming the flag unless value is from 1 to most.
func count(flag string, value int) error {
	if value < 1 || value > most {
		return fmt.Errorf("%s %d must be from 1 to %d", flag, value, most)
	}
	return nil
}

// first returns the first non-nil error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Spec) note(format string, args ...any) {
	if s.Note != nil {
		s.Note(fmt.Sprintf(format, args...))
	}
}

// chatBackend reports whether the backend accepts messages.
func (s *Spec) chatBackend() bool { return s.Backend == "" || strings.HasSuffix(s.Backend, "-chat") }
