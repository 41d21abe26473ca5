package cli

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func TestExpand(t *testing.T) {
	var tree root
	parser, err := kong.New(&tree, kong.Name("stepscope"), kong.Vars{"version": ""})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, args, want, verb, err string }{
		{"nothing shows help", "", "--help", "", ""},
		{"exact flag", "analyze d --json", "analyze d --json", "analyze", ""},
		{"prefix", "analyze d --prof x", "analyze d --profile-id x", "analyze", ""},
		{"prefix with value", "compare a b --fail=5%", "compare a b --fail-on=5%", "compare", ""},
		{"underscore", "trace merge d --profile_id=x", "trace merge d --profile-id=x", "trace merge", ""},
		{"underscore prefix", "trace merge d --no_py", "trace merge d --no-python", "trace merge", ""},
		{"a flag in the place of a value", "analyze --html --js d", "", "analyze", "--html wants a value: --html FILE"},
		{"short flag wants a value", "trace merge -o --js d", "", "trace merge", "-o wants a value: -o OUT"},
		{"short flag with its value", "trace merge -o--js d", "trace merge -o--js d", "trace merge", ""},
		{"dash is an argument", "trace merge d -o - --js", "trace merge d -o - --json", "trace merge", ""},
		{"after -- nothing changes", "analyze -- --js", "analyze -- --js", "analyze", ""},
		{"a path named as a verb", "analyze merge trace", "analyze merge trace", "analyze", ""},
		{"flag of another verb", "trace cut d --fail 5%", "", "trace cut", "no flag --fail, there are: --help, --help-all, --config, --version, --profile-id, --steps"},
		{"flag of a verb with too many to list", "serve --slow-rank 1", "", "serve", "no flag --slow-rank"},
		{"ambiguous", "analyze d --h", "", "analyze", "--h could be --help or --html"},
		{"exact is not ambiguous", "trace cut d --to 5", "trace cut d --to 5", "trace cut", ""},
		{"unknown short flag", "analyze d -o x", "", "analyze", "no flag -o here"},
		{"negative number", "serve --chunked -1 --port 0", "serve --chunked-prefill-size=-1 --port 0", "serve", ""},
		{"several values", "serve --cuda-graph-bs 1 2 --port 0", "serve --cuda-graph-bs 1 --cuda-graph-bs 2 --port 0", "serve", ""},
		{"what a child process gets", "bench mock serve -period 20ms --x", "bench mock serve -period 20ms --x", "bench mock", ""},
		{"SGLang's program", "bench_serving --num-prompt 5", "bench serving --num-prompts 5", "bench serving", ""},
		{"vLLM's default that is ours", "bench serving --ignore-eos --num-prompts 5", "bench serving --num-prompts 5", "bench serving", ""},
		{"vLLM's flag with our name", "bench serving --num_warmups=3", "bench serving --warmup-requests 3", "bench serving", ""},
		{"vLLM's value with our name", "bench serving --ramp-up-strategy exponential --ramp-up-strategy linear", "bench serving --ramp-exponential", "bench serving", ""},
		{"vLLM's value that is unknown", "bench serving --endpoint-type audio", "", "bench serving", "--endpoint-type is a flag of vllm bench serve, of which these values are known here: chat, completions, openai, openai-chat, vllm"},
		{"vLLM's flag without the same here", "bench serving --save-result", "", "bench serving", "--save-result is a flag of vllm bench serve that is missing here: each result is kept in its run"},
		{"aiperf's flag that stands for several", "bench serving --isl 550", "bench serving --dataset-name random --random-range-ratio 1 --random-input-len 550", "bench serving", ""},
		{"aiperf's seconds", "bench serving --benchmark-duration 60 --concurrency 8", "bench serving --duration 60s --max-concurrency 8", "bench serving", ""},
		{"flag of another client without its value", "bench serving --num-warmups", "", "bench serving", "--num-warmups wants a value"},
		{"flag of another client for a verb that has none", "bench offline --ignore-eos", "", "bench offline", "no flag --ignore-eos"},
		{"help verb", "help trace merge", "trace merge --help", "trace merge", ""},
		{"group without verb", "trace", "", "trace", "which verb? trace merge, trace check, trace cut"},
		{"group with help", "trace --he", "trace --help", "trace", ""},
		{"verb written wrong", "anlyze d", "", "", `no verb "anlyze", did you mean: stepscope analyze`},
		{"flag written wrong", "analyze d --htlm x", "", "analyze", "no flag --htlm, did you mean --html?"},
		{"unknown verb", "xyz d", "", "", `no verb "xyz"; stepscope lists them`},
		{"verb without its group", "merge d", "", "", `no verb "merge", did you mean: stepscope trace merge`},
		{"verb in a group it is not of", "trace analyze d", "", "trace", `no verb "analyze", did you mean: stepscope analyze`},
		{"path without verb", "../cli", "", "", "to explain a trace: stepscope analyze ../cli"},
		{"flag without verb", "--version", "--version", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, verb, err := expand(parser.Model.Node, strings.Fields(c.args))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
			} else if err != nil {
				t.Error(err)
			}
			if s := strings.Join(got, " "); s != c.want || verb != c.verb {
				t.Errorf("%q of verb %q, want %q of %q", s, verb, c.want, c.verb)
			}
		})
	}
}

// TestHabits checks that the flags of other clients are none of the verb's own, and that they stand for flags that it
// has.
func TestHabits(t *testing.T) {
	var tree root
	parser, err := kong.New(&tree, kong.Name("stepscope"), kong.Vars{"version": ""})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range parser.Model.Leaves(false) {
		flags := map[string]bool{}
		for _, f := range flagsOf(n) {
			flags[f.Name] = true
			for _, alias := range f.Aliases {
				flags[alias] = true
			}
		}
		for tool, all := range habits[verbOf(n)] {
			for name, h := range all {
				if flags[name] {
					t.Errorf("%s --%s: the verb has this flag itself", verbOf(n), name)
				}
				if h.why != "" && (h.as != "" || h.value) {
					t.Errorf("%s --%s of %s: either something means the same or not", verbOf(n), name, tool)
				}
				texts := strings.Fields(h.as)
				for _, v := range h.values {
					texts = append(texts, strings.Fields(v)...)
				}
				for _, a := range texts {
					if name, ok := strings.CutPrefix(a, "--"); ok && !flags[name] {
						t.Errorf("%s: there is no flag %s", verbOf(n), a)
					}
				}
			}
		}
	}
}
