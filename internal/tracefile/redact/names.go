package redact

import (
	"regexp"
	"strings"

	"github.com/stepscope/stepscope/trace"
)

// A form is a pattern of names that programs generate, so that matching names contain no user text.

// modulePath matches the path of a layer in a model: model.layers.0.self_attn. The first part of the path must be one
// of a few names, so that a host name does not match.
const modulePath = `(?:model|language_model|visual|vision_tower|vision_model|lm_head|logits_processor|sampler|transformer(?:_\d)?|text_encoder(?:_\d)?|image_encoder|` +
	`image_text_encoder|vae|vae_encoder|image_vae_encoder|module|draft_model)(?:\.[A-Za-z_]\w*|\.\d+)*`

// forms is a list of forms, and the kind of replacement for names that match none of them.
type forms struct {
	re    *regexp.Regexp
	other kind
	// keep is set if Options.KeepNames also keeps names that match no form.
	keep bool
}

func formsOf(k kind, keep bool, list ...string) *forms {
	return &forms{regexp.MustCompile(`^(?:` + strings.Join(list, "|") + `)$`), k, keep}
}

func (f *forms) rule(r *Redactor, s string) string {
	switch {
	case f == notes && trace.StepNameStays(s), f.re.MatchString(s), f.keep && r.opt.KeepNames:
		return r.clean(s)
	}
	return r.instead(f.other, s)
}

// notes are the forms of annotations by servers, libraries and layers. Step names are recognised separately
// (trace.StepNameStays).
var notes = formsOf(annotation, true,
	`(?:nccl|gloo|c10d|mpi|ucc|xccl):[a-z_0-9]+`,                                          // PyTorch's collectives
	`(?:NCCL|CCCL|cuBLAS|cuDNN|cuFFT|cuSPARSE|TensorRT|NVSHMEM|UCX):[A-Za-z_][\w:]{0,60}`, // NVTX ranges of NVIDIA's libraries
	modulePath+`(?: in=\[[\d, \[\]]*\])?`,                                                 // SGLang's NVTX hooks
	`\{'Module': '`+modulePath+`'(?:, '(?:TrainableParams|Inputs|StaticParams)': [\[\]{}()\w', :.]*)*\}`,
	`denoising_loop|predict_noise|scheduler_step`, // SGLang's diffusion
	// vLLM: only a single word of program code may follow the colon, because user text can also follow "core: ".
	`(?:gpu_model_runner|cpu_model_runner|gpu_worker|scheduler?|core|worker|sampler|eagle|draft|engine|llm_engine step): [a-z]+(?:_[a-z]+)*`,
	`(?:tp_worker|model_runner|engine|tokenizer_manager)\.[a-z_]{1,40}`,
	`run_batch|forward|forward_extend|forward_decode|sample|schedule|recv_requests|process_input_requests|process_batch_result|get_next_batch_to_run|execute_model|prefill|decode`,
	`Optimizer\.(?:step|zero_grad)#\w+\.\w+|enumerate\(DataLoader\)#\w+\.\w+|(?:DistributedDataParallel|FullyShardedDataParallel)\.[a-z_]+`,
	`## Call CompiledFxGraph \w+ ##|Torch-Compiled Region: [\d/]+|TorchDynamo Cache Lookup|Pregraph bytecode|PyTorch Profiler \(\d+\)`,
)

// ops are the forms of operator names: names from libraries, almost all without spaces.
var ops = formsOf(operator, false,
	`[A-Za-z_][\w.:<>\[\](),*&~#-]{0,199}`,
	`autograd::engine::evaluate_function: [\w.:<>]+`,
	`## Call CompiledFxGraph \w+ ##|Torch-Compiled Region: [\d/]+|TorchDynamo Cache Lookup|Pregraph bytecode|AOTDispatcher Runtime Wrapper Prologue|Runtime Triggered Module Loading`,
	`Optimizer\.(?:step|zero_grad)#\w+\.\w+|enumerate\(DataLoader\)#\w+\.\w+`,
)

// marks are the forms of the names of the profiler's own events, flows and rows.
var marks = formsOf(annotation, true,
	`ac2g|fwdbwd|async_cpu_to_gpu|fwd_bwd|\[memory\]|process_(?:name|labels|sort_index)|thread_(?:name|sort_index)|Iteration Start: PyTorch Profiler|Record Window End`,
	`PyTorch Profiler \(\d+\)|(?:Stream|Event|Context|Device)(?: Wait)?(?: Event)?(?: Sync(?:hronize)?)?|Activity Buffer Request|Lazy Function Loading|Instrumentation|`+
		`Buffer Flush|Driver Compiler|Resource|Runtime Triggered Module Loading|Unknown|Command Buffer Full|CUPTI [A-Z ]{1,20}|`+regexp.QuoteMeta(trace.NoCoreName),
)
