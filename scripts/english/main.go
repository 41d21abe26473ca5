// Command english counts words and sentences in stepscope's prose. The prose consists of the // comments of non-test Go
// files, grouped by package, and the documents. It fails if a count exceeds one of the limits below. scripts/lint runs
// this command.
//
//	go run ./scripts/english                     check; print packages and documents above a limit
//	go run ./scripts/english -list PATH...       print each counted word and long sentence under PATH
//	go run ./scripts/english -table              print the counts of each package and document
//	go run ./scripts/english -draw 50 -seed 1    print random sentences for a reader to judge
package main

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Limits per 1,000 words, and as a share of sentences. A short text, in which a single match would exceed a limit, may
// still have one match per limit.
const (
	mostClauses = 3    // matches of clauses: subordinate clauses in place of nouns
	mostIdioms  = 1    // matches of idioms
	mostLong    = 0.05 // sentences of more than longest words
	longest     = 35
)

var (
	clauses = regexp.MustCompile(`(?i)\b(what|who|that which)\b`)
	idioms  = regexp.MustCompile(`(?i)\b(tells|is told|are told|stands|of which)\b`)
)

// text is the prose of a package or a document.
type text struct {
	name      string
	sentences []sentence
}

type sentence struct {
	file  string
	line  int
	words int
	text  string
}

// counts are the counts of a text.
type counts struct{ words, clauses, idioms, sentences, long int }

func main() {
	list := flag.Bool("list", false, "print each counted word and long sentence")
	table := flag.Bool("table", false, "print all counts")
	draw := flag.Int("draw", 0, "print so many sentences drawn at random")
	seed := flag.Uint64("seed", 1, "seed of -draw")
	flag.Parse()
	texts, err := read(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "english:", err)
		os.Exit(2)
	}
	switch {
	case *draw > 0:
		sample(texts, *draw, *seed)
	case *list:
		for _, t := range texts {
			show(t)
		}
	default:
		if !check(texts, *table) {
			os.Exit(1)
		}
	}
}

// read collects the texts of the tracked files under paths, or of all tracked files.
func read(paths []string) ([]text, error) {
	out, err := exec.Command("git", append([]string{"ls-files", "--"}, paths...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	of := map[string]*text{}
	for _, file := range strings.Fields(string(out)) {
		var name string
		var prose func(string) []paragraph
		switch {
		case strings.Contains(file, "testdata/"):
			continue
		case strings.HasSuffix(file, ".md"):
			name, prose = file, markdown
		case strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go"):
			name, prose = filepath.Dir(file), comments
		default:
			continue
		}
		content, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue // deleted, not yet committed
		}
		if err != nil {
			return nil, err
		}
		if of[name] == nil {
			of[name] = &text{name: name}
		}
		for _, p := range prose(string(content)) {
			of[name].sentences = append(of[name].sentences, p.sentences(file)...)
		}
	}
	var texts []text
	for _, t := range of {
		texts = append(texts, *t)
	}
	slices.SortFunc(texts, func(a, b text) int { return cmp.Compare(a.name, b.name) })
	return texts, nil
}

// count counts the words and sentences of a text.
func (t *text) count() (c counts) {
	for _, s := range t.sentences {
		c.sentences++
		c.words += s.words
		c.clauses += len(clauses.FindAllString(s.text, -1))
		c.idioms += len(idioms.FindAllString(s.text, -1))
		if s.words > longest {
			c.long++
		}
	}
	return c
}

// within reports whether n is at most 1 or at most the fraction rate of total.
func within(n, total int, rate float64) bool { return n <= 1 || float64(n) <= rate*float64(total) }

func (c counts) ok() bool {
	return within(c.clauses, c.words, mostClauses/1000.) && within(c.idioms, c.words, mostIdioms/1000.) &&
		within(c.long, c.sentences, mostLong)
}

func check(texts []text, all bool) bool {
	failed := 0
	var sum counts
	for _, t := range texts {
		c := t.count()
		sum = counts{sum.words + c.words, sum.clauses + c.clauses, sum.idioms + c.idioms, sum.sentences + c.sentences, sum.long + c.long}
		if !c.ok() {
			failed++
		}
		if all || !c.ok() {
			fmt.Println(c.line(t.name))
		}
	}
	if all {
		fmt.Println(sum.line("total"))
	}
	if failed > 0 {
		fmt.Printf("%d texts are above a limit (per 1,000 words: %d \"what\" and \"who\", %d \"tells\", \"is told\", \"stands\", \"of which\"; "+
			"%g %% of sentences over %d words): go run ./scripts/english -list PATH shows where\n", failed, mostClauses, mostIdioms, mostLong*100, longest)
	}
	return failed == 0
}

func (c counts) line(name string) string {
	per := func(n int) float64 { return 1000 * float64(n) / float64(max(c.words, 1)) }
	return fmt.Sprintf("%-40s %6d words  %5.1f what/who  %4.1f idioms  %5.1f %% long sentences", name, c.words, per(c.clauses), per(c.idioms),
		100*float64(c.long)/float64(max(c.sentences, 1)))
}

func show(t text) {
	for _, s := range t.sentences {
		found := append(clauses.FindAllString(s.text, -1), idioms.FindAllString(s.text, -1)...)
		if s.words > longest {
			found = append(found, fmt.Sprintf("%d words", s.words))
		}
		if len(found) > 0 {
			fmt.Printf("%s:%d: [%s] %s\n", s.file, s.line, strings.Join(found, ", "), s.text)
		}
	}
}

func sample(texts []text, n int, seed uint64) {
	var all []sentence
	for _, t := range texts {
		for _, s := range t.sentences {
			if s.words >= 6 {
				all = append(all, s)
			}
		}
	}
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i, s := range all[:min(n, len(all))] {
		fmt.Printf("%2d  %s  (%s:%d)\n", i+1, s.text, s.file, s.line)
	}
}
