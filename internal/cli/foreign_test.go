package cli

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/stepscope/stepscope/internal/reference/launch"
)

// TestForeign runs the command lines of SGLang's server: flags that change nothing here are taken with their values and
// said in one line, those that would lie are refused, whatever verb it is that starts an engine.
func TestForeign(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"serve --base-gpu-id 2 --quantization fp8 --enable-torch-compile --model-path none", "--base-gpu-id, --quantization, --enable-torch-compile: ignored (flags of SGLang's server without effect here)"},
		{"serve --kv_cache_dtype=fp8_e4m3 --cuda-graph-bs-prefill 1 2 3 --model-path none", "--kv-cache-dtype, --cuda-graph-bs-prefill: ignored (flags of SGLang's server"},
		{"serve --trust-remote-code --attention-backend fa3 --device cuda --disable-overlap-schedule --skip-server-warmup --model-path none", "--trust-remote-code, --attention-backend, --device, --disable-overlap-schedule, --skip-server-warmup: ignored (flags of SGLang's server"},
		{"bench one-batch --trust-remote-code --port 30000 --enable-metrics --model-path none", "--trust-remote-code, --port, --enable-metrics: ignored (flags of SGLang's server"},
		{"bench offline --page-size 64 --model-path none --dataset-name random", "--page-size: ignored (flags of SGLang's server"},
		{"bench one-batch --schedule-policy fcfs --model-path none", "--schedule-policy: ignored (flags of SGLang's server"},
		{"bench one-batch --schedule-policy lpm --model-path none", "--schedule-policy lpm is a flag of SGLang's server that cannot be ignored: "},
		{"serve --enable-lora --model-path none", "--enable-lora is a flag of SGLang's server that cannot be ignored: LoRA adapters"},
		{"serve --ssl-keyfile k --model-path none", "--ssl-keyfile k is a flag of SGLang's server that cannot be ignored: TLS"},
		{"serve --enable-torch-compile=1 --model-path none", "--enable-torch-compile takes no value"},
		{"serve --model-path none --quantization", "--quantization wants a value"},
		{"analyze none --quantization fp8", "no flag --quantization"},
	} {
		var out, errs strings.Builder
		if status := Main(strings.Fields(c.args), nil, &out, &errs); status == exitOK || strings.Count(errs.String(), c.want) != 1 {
			t.Errorf("%s: status %d\n%s%s", c.args, status, &out, &errs)
		}
	}
}

// TestForeignAreForeign holds that no verb takes a flag of the table for its own.
func TestForeignAreForeign(t *testing.T) {
	var tree root
	parser, err := kong.New(&tree, kong.Name("stepscope"), kong.Vars{"version": ""})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range parser.Model.Children {
		if n.Name != "serve" {
			continue
		}
		for _, f := range n.Flags { // --config of all verbs is none of serve's, which takes it for SGLang's
			for _, name := range append(f.Aliases, f.Name) {
				if f, ok := launch.ForeignFlag(name); ok && !f.Server {
					t.Errorf("serve has --%s, and its table of foreign flags too", name)
				}
			}
		}
	}
	var out, errs strings.Builder
	if status := Main([]string{"serve", "--model-path", "builtin:llama-tiny", "--config", "x.yaml"}, nil, &out, &errs); status != exitUsage ||
		!strings.HasPrefix(errs.String(), "stepscope: --config x.yaml is a flag of SGLang's server that cannot be ignored: ") {
		t.Errorf("status %d: %s", status, &errs)
	}
}
