package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/docs"
	"github.com/stepscope/stepscope/docs/guides"
	"github.com/stepscope/stepscope/internal/base/yamltree"
)

// TestSkillFormat checks the rules of the Agent Skills format (agentskills.io/specification) and of its readers.
func TestSkillFormat(t *testing.T) {
	t.Parallel()
	text := skillText("v1.2.3-rc.1")
	front, body, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	if !ok || !strings.HasPrefix(text, "---\nname: ") {
		t.Fatalf("the frontmatter is not the first bytes:\n%.80s", text)
	}
	tree, problems := yamltree.Parse([]byte(front))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	fields := tree.Plain().(map[string]any)
	for name := range fields {
		if !slices.Contains([]string{"name", "description", "license", "compatibility", "metadata"}, name) {
			t.Errorf("the format has no field %q", name)
		}
	}
	about, _ := fields["description"].(string)
	first, _, _ := strings.Cut(about, ". ")
	if n := len(about); n > 1024 || len(first) > 250 {
		t.Errorf("the description has %d characters and its first sentence %d; at most 1024 and 250", n, len(first))
	}
	for _, word := range []string{"SGLang", "vLLM", "trace", "slow", "rank"} { // agents may see only this sentence
		if !strings.Contains(first, word) {
			t.Errorf("the first sentence of the description lacks %q", word)
		}
	}
	if n := len(fields["compatibility"].(string)); n > 500 {
		t.Errorf("compatibility has %d characters, at most 500", n)
	}
	meta := fields["metadata"].(map[string]any)
	if fields["name"] != "stepscope" || fields["license"] != "Apache-2.0" || meta["version"] != "v1.2.3-rc.1" {
		t.Errorf("%v", fields)
	}
	if n := strings.Count(body, "\n"); n > 250 {
		t.Errorf("the body has %d lines, at most 250", n)
	}
}

// TestSkillWritten: only a text that some version of stepscope wrote counts as its own.
func TestSkillWritten(t *testing.T) {
	t.Parallel()
	text := skillText("v1.2.3")
	older := strings.ReplaceAll(text, text[strings.Index(text, "# stepscope"):], "# another body\n")
	sum := skillSum.FindStringSubmatch(text)[1]
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"this version", text, true},
		{"another version", skillText("(devel) 0123456789ab"), true},
		{"an edited body", text + "\n", false},
		{"an edited version", strings.Replace(text, "v1.2.3", "v1.2.4", 1), false},
		{"another body with this checksum", older, false},
		{"another checksum", strings.Replace(text, sum, strings.Repeat("0", len(sum)), 1), false},
		{"no checksum", docs.Skill, false},
		{"other line ends", strings.ReplaceAll(text, "\n", "\r\n"), false},
		{"an empty file", "", false},
	} {
		if got := writtenSkill(c.text); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestSkillNames: the flags and guides that the skill names exist.
func TestSkillNames(t *testing.T) {
	t.Parallel()
	_, tree := parsed(t)
	known := []string{"help", "version"}
	for _, verb := range tree.Leaves(true) {
		for _, f := range verb.Flags {
			known = append(append(known, f.Name), f.Aliases...)
		}
	}
	for _, m := range regexp.MustCompile("--([a-z][a-z-]+)").FindAllStringSubmatch(docs.Skill, -1) {
		if !slices.Contains(known, m[1]) {
			t.Errorf("no verb has %s", m[0])
		}
	}
	_, more, _ := strings.Cut(docs.Skill, "## More")
	named := regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(more, -1)
	if len(named) < 5 {
		t.Errorf("%d guides", len(named))
	}
	for _, m := range named {
		if !slices.ContainsFunc(guides.All(), func(g guides.Guide) bool { return g.Name == m[1] }) {
			t.Errorf("there is no guide %s", m[1])
		}
	}
}

// TestSkillCommands runs each command line of the skill, in its order, on captures and a server under load.
func TestSkillCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a server is loaded and recorded")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell")
	}
	traces, err := filepath.Abs(captures)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("XDG_DATA_HOME", filepath.Join(dir, "data"))
	t.Setenv("SGLANG_TORCH_PROFILER_DIR", filepath.Join(dir, "windows"))
	config := `{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 6, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 64000, "torch_dtype": "bfloat16"}`
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	url := startServe(t, "--model-path", "builtin:llama-tiny", "--tp-size", "2", "--enable-metrics").url
	program(t, strings.Fields("bench serving --no-store --dataset-name random --num-prompts 100000 --random-input-len 16 --random-output-len 16 --max-concurrency 2 --url "+url)...)
	place := map[string]string{
		"DIR": filepath.Join(traces, "compute_skew"), "ID": "straggler-tp02-work-7", "MODEL_DIR": dir, "URL": url, "VERB": "analyze",
		"A": filepath.Join(traces, "balanced"), "B": filepath.Join(traces, "compute_skew"),
		"200": "40", "512": "32", "64": "8", "1h": "1s", // less work
		"5": "2", // the limit of --fail-on: B takes 2.03 to 8.04 % longer
	}
	words := regexp.MustCompile(`\w+`)
	lines := regexp.MustCompile("(?m)^ +(stepscope .*)$|`(stepscope [^`]+)`").FindAllStringSubmatch(docs.Skill, -1)
	if len(lines) < 25 {
		t.Fatalf("%d command lines", len(lines))
	}
	for _, m := range lines {
		line := words.ReplaceAllStringFunc(m[1]+m[2], func(w string) string {
			if with, ok := place[w]; ok {
				return with
			}
			return w
		})
		want := exitOK
		if strings.Contains(line, "--fail-on") {
			want = exitRegression
		}
		var stdout, stderr strings.Builder
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
		_ = cmd.Run() // its status says it
		if got := cmd.ProcessState.ExitCode(); got != want || stdout.Len() == 0 && !strings.Contains(line, " watch ") {
			t.Errorf("%s: status %d, want %d, stdout %q, stderr %q", line, got, want, &stdout, &stderr)
		}
		if n := stdout.Len(); n > 8000 && (strings.Contains(line, "--brief") || strings.Contains(line, " finding ")) {
			t.Errorf("%s: %d bytes", line, n)
		}
	}
}

// TestSkillValidates holds the installed skill against the format's own program.
func TestSkillValidates(t *testing.T) {
	python := os.Getenv("STEPSCOPE_SKILLS_PYTHON")
	if python == "" {
		t.Skip("set STEPSCOPE_SKILLS_PYTHON to a Python that has skills-ref")
	}
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	if status, _, errs := run(t, t.Context(), "skill", "install", "--user"); status != exitOK {
		t.Fatal(errs)
	}
	for _, place := range []string{".agents", ".claude"} {
		out, err := exec.Command(filepath.Join(filepath.Dir(python), "agentskills"), "validate", filepath.Join(dir, place, "skills", "stepscope")).CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}
