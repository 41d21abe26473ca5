package spec

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// mutated makes a mistake of a human editor: a line lost, doubled, indented or outdented, a character lost, doubled or
// replaced, two lines swapped, a value of another kind.
func mutated(r *rand.Rand, text string) string {
	lines := strings.Split(text, "\n")
	for range 1 + r.IntN(3) {
		i := r.IntN(len(lines))
		line := lines[i]
		at := r.IntN(len(line) + 1)
		switch r.IntN(9) {
		case 0:
			lines[i] = ""
		case 1:
			lines[i] = line + "\n" + line
		case 2:
			lines[i] = "  " + line
		case 3:
			lines[i] = strings.TrimPrefix(line, "  ")
		case 4:
			lines[i] = line[:at] + line[min(at+1, len(line)):]
		case 5:
			lines[i] = line[:at] + string("\x00\t\"'{}[]:-&*!|>%@`#~,é\xff"[r.IntN(23)]) + line[at:]
		case 6:
			k := r.IntN(len(lines))
			lines[i], lines[k] = lines[k], lines[i]
		case 7:
			key, _, _ := strings.Cut(line, ":")
			lines[i] = key + ": " + []string{"", "null", "-1", "1e999", ".nan", "[1, {a: b}]", "{a: [x]}", "true", "'", "0x", "&a *a", "!!str", "{p}", "\"{p}\"", "9999999999999999999", "yes"}[r.IntN(16)]
		case 8:
			lines[i] = line[:at]
		}
	}
	return strings.Join(lines, "\n")
}

// TestMutated checks many files with mistakes: each is either accepted or has a problem with a line of the file, and
// nothing panics.
func TestMutated(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	texts := append(right(t), file(t, "torch.yaml"), laid(t, "fragment-nsys.yaml"))
	refused := 0
	for i := range 1000 {
		text := mutated(r, texts[i%len(texts)])
		if check(t, text) {
			refused++
		}
	}
	if refused < 300 {
		t.Errorf("only %d of 1000 were rejected", refused)
	}
}

// check parses a text in all ways and reports whether it was rejected.
func check(t testing.TB, text string) bool {
	t.Helper()
	lines := strings.Count(text, "\n") + strings.Count(text, "\r") + 2 // \r also ends a line
	placed := func(notes []Note) {
		for _, n := range notes {
			if n.Line < 1 || n.Line > lines || n.Column < 1 || n.Text == "" || n.File != "j.yaml" {
				t.Errorf("%+v of %q", n, text)
			}
		}
	}
	j, notes, err := Parse("j.yaml", []byte(text))
	placed(notes)
	placed(problems(t, err))
	if (j == nil) != (err != nil) {
		t.Errorf("a job %v with %v of %q", j != nil, err, text)
	}
	variants, err := Expand("j.yaml", []byte(text))
	placed(problems(t, err))
	if err == nil {
		for _, v := range variants {
			if (*Cluster)(nil).Resolve(v.Job) == nil && v.Job.Shape() == "" {
				t.Errorf("%q has no shape", text)
			}
			for _, role := range v.Job.Roles() {
				for _, f := range v.Job.Backend.Config[role] {
					_ = fmt.Sprint(f.Args())
				}
				if v.Job.Workers(role) < 1 || v.Job.Nodes(role) < 1 || v.Job.Recorded() && v.Job.Workers(role) != 1 {
					t.Errorf("%d workers on %d nodes of %q", v.Job.Workers(role), v.Job.Nodes(role), text)
				}
				if p := v.Job.Phase(role); p != nil && (p.ISL < 1 || p.OSL < 1 || p.Concurrency < 1 || p.StopStep <= p.StartStep) {
					t.Errorf("%+v of %q", p, text)
				}
			}
		}
	}
	_, notes, err = ParseCluster("j.yaml", []byte(text))
	placed(notes)
	placed(problems(t, err))
	return j == nil
}

// FuzzParse checks that no input causes a panic, that an accepted job has everything that runs need, and that every
// problem has a position.
func FuzzParse(f *testing.F) {
	for _, text := range append(right(f), file(f, "torch.yaml"), file(f, "fragment-nsys.yaml"), clusterText) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { check(t, text) })
}
