package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSGLangKeys: SGLang's bench_serving and ours, sent to one server, print a
// table with the same rows and write a line with the same keys, in the same order,
// so that what reads SGLang's reads ours. What ours says beyond that stands below
// the table, goodput too.
func TestSGLangKeys(t *testing.T) {
	wantSGLang(t)
	t.Parallel()
	s := startServe(t, "--model-path", "builtin:llama-tiny")
	for _, c := range []struct {
		name string
		args []string
		ours []string // more for ours
	}{
		{"plain", []string{"--backend", "sglang"}, nil},
		{"all there is", []string{"--backend", "sglang-oai-chat", "--cache-report", "--output-details", "--max-concurrency", "4", "--request-rate", "50", "--tag", "a",
			"--goodput", "ttft:60000", "e2el:60000"}, []string{"--python-json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			load := slices.Concat([]string{"--base-url", s.url, "--dataset-name", "random-ids", "--num-prompts", "8", "--random-input-len", "32", "--random-output-len", "16", "--disable-tqdm"}, c.args)

			theirLine := filepath.Join(dir, "theirs.jsonl")
			theirs := s.client(t, "", slices.Concat([]string{"sglang.bench_serving", "--output-file", theirLine}, load)...)
			ourLine := filepath.Join(dir, "ours.jsonl")
			ours, err := exec.Command("stepscope", slices.Concat([]string{"bench", "serving", "--no-store", "--output-file", ourLine}, load, c.ours)...).Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, ours)
			}

			want := tableLabels(theirs)
			if got := tableLabels(string(ours)); len(want) < 30 || !slices.Equal(got, want) {
				t.Errorf("rows of the table\n%q, theirs are\n%q", got, want)
			}
			if a, b := lineKeys(t, theirLine), lineKeys(t, ourLine); len(a) < 40 || !slices.Equal(a, b) {
				t.Errorf("keys of the line\n%q, theirs are\n%q", b, a)
			}
		})
	}
}

// tableLabels are the labels and titles of the table that bench_serving prints.
func tableLabels(out string) (labels []string) {
	_, table, _ := strings.Cut(out, " Serving Benchmark Result ")
	for i, line := range strings.Split(table, "\n") {
		switch {
		case i == 0: // rest of the title
		case strings.HasPrefix(line, strings.Repeat("=", 50)):
			return labels
		case strings.HasPrefix(line, "-"):
			labels = append(labels, strings.Trim(line, "-"))
		default:
			if label, _, ok := strings.Cut(line, ":"); ok {
				labels = append(labels, label+":")
			}
		}
	}
	return nil // no end
}

// lineKeys are the keys of the only line of a file, with those of the cache
// report, in their order.
func lineKeys(t *testing.T, file string) (keys []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("Infinity"), []byte("null")) // as Python writes it
	dec := json.NewDecoder(bytes.NewReader(text))
	var object func(prefix string)
	object = func(prefix string) {
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			name := prefix + key.(string)
			keys = append(keys, name)
			if name == "cache_report" || name == "slo_attainment_by_metric" || name == "goodput_slos_ms" {
				dec.Token() // {
				object(name + ".")
				continue
			}
			var skip json.RawMessage
			if err := dec.Decode(&skip); err != nil {
				t.Fatalf("%v in %s", err, text)
			}
		}
		dec.Token() // }
	}
	dec.Token() // {
	object("")
	return keys
}
