package window

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/trace"
)

// TestServerBeside checks that the model's configuration and the server's arguments are read from a window's directory.
// A configuration that cannot be used is no warning, because most analyses do not need it.
func TestServerBeside(t *testing.T) {
	const llama = `{"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":2,"vocab_size":64,"intermediate_size":64,"torch_dtype":"bfloat16"}`
	for name, c := range map[string]struct {
		model, args string // "": no file
		family, why string
		flag, warns bool
	}{
		"nothing":        {},
		"both":           {model: llama, args: `{"enable_metrics":true}`, family: "llama", flag: true},
		"another model":  {model: `{"model_type":"mamba"}`, why: `the work of model_type "mamba" is not known`},
		"broken":         {model: `[`, why: "not a config.json"},
		"broken options": {args: `[`, warns: true},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{trace.ModelFile: c.model, trace.ServerArgsFile: c.args} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var warned strings.Builder
		o := serverBeside(&progress.Console{W: io.MultiWriter(&warned, io.Discard)}, dir)
		family := ""
		if o.Model != nil {
			family = o.Model.Family
		}
		if family != c.family || (o.Flags["enable_metrics"] == true) != c.flag || !strings.Contains(o.Why, c.why) || (o.Why == "") != (c.why == "") || (warned.Len() > 0) != c.warns {
			t.Errorf("%s: model %q, options %v, why %q, warning %q", name, family, o.Flags, o.Why, warned.String())
		}
	}
}
