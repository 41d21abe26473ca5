// Package brief answers in a limited number of bytes, for coding agents: the analysis of a capture, one finding of it, a
// comparison, a list of runs. An answer is Markdown text or compact JSON with the same content. Parts that do
// not fit are left out, counted, and named with the command that prints them.
package brief

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
)

// Limits of an answer, in bytes.
const (
	Least   = 2_000 // smallest limit that each answer can keep
	Default = 8_000
	Most    = 40_000
)

const (
	nameBytes = 200 // most bytes of a name from a file
	argBytes  = 200 // most bytes of the arguments that commands repeat
)

// Answer is a bounded answer.
type Answer struct {
	limit   int
	amounts []amount // in decreasing order
	build   func(amount) content
}

func newAnswer(limit int, build func(amount) content) *Answer {
	return &Answer{limit, amounts(limit), build}
}

// content is an answer with a certain amount of detail. Its JSON form has the same content as its text.
type content interface{ text() string }

// Text returns the answer as Markdown, within the limit.
func (a *Answer) Text() string { return a.fit(func(c content) int { return len(c.text()) }).text() }

// JSON returns the answer as one line of JSON, within the limit.
func (a *Answer) JSON() []byte { return encode(a.fit(func(c content) int { return len(encode(c)) })) }

// Both returns the answer as text and as one line of JSON, which are within the limit together.
func (a *Answer) Both() (text string, compact []byte) {
	c := a.fit(func(c content) int { return len(c.text()) + len(encode(c)) })
	return c.text(), encode(c)
}

// fit returns the content with the largest amount of detail whose size is within the limit.
func (a *Answer) fit(size func(content) int) content {
	var c content
	for _, m := range a.amounts {
		if c = a.build(m); size(c) <= a.limit {
			break
		}
	}
	return c
}

// encode returns a value as one line of JSON.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // answers consist of texts and finite numbers
	}
	return columns.JSON(b.Bytes())
}

// amount is how much detail an answer has.
type amount struct {
	findings int // number of findings, causes or runs
	facts    int // of each
	rows     int // of each table
	notes    int // of each list of sentences
	sentence int // bytes of a sentence
}

// amounts returns amounts of decreasing detail. Limits above the default allow more of everything.
func amounts(limit int) (all []amount) {
	k := max(limit/Default, 1)
	m := amount{findings: 5 * k, facts: 3 * k * k, rows: 8 * k, notes: 4 * k, sentence: 600}
	all = append(all, m)
	for _, to := range []amount{
		{sentence: 300, rows: 4, facts: 3, notes: 4, findings: 5}, {facts: 1, rows: 4, notes: 2, findings: 5, sentence: 300},
		{facts: 1, rows: 2, notes: 1, findings: 5, sentence: 300}, {rows: 1, findings: 5, sentence: 300}, {findings: 5, sentence: nameBytes}, {findings: 3, sentence: nameBytes},
		{findings: 1, sentence: nameBytes}, {sentence: nameBytes / 2},
	} {
		for m.towards(to) {
			all = append(all, m)
		}
	}
	return all
}

// towards reduces the first part of m that exceeds that of to by a quarter. It returns false if there is none.
func (m *amount) towards(to amount) bool {
	for _, p := range []struct {
		of    *int
		least int
	}{{&m.sentence, to.sentence}, {&m.rows, to.rows}, {&m.facts, to.facts}, {&m.notes, to.notes}, {&m.findings, to.findings}} {
		if *p.of > p.least {
			*p.of = max(*p.of-(*p.of+3)/4, p.least)
			return true
		}
	}
	return false
}

// Omitted counts parts that an answer leaves out.
type Omitted struct {
	N    int    `json:"n"`
	What string `json:"what"`
	Get  string `json:"get"` // command that prints it
}

// omit appends n parts that are left out, if n > 0.
func omit(list []Omitted, n int, what, get string) []Omitted {
	if n <= 0 {
		return list
	}
	return append(list, Omitted{n, what, get})
}

func omittedText(b *strings.Builder, list []Omitted) {
	for i, o := range list {
		if i == 0 {
			b.WriteString("\n## Left out\n")
		}
		b.WriteString("- omitted: " + metric.Count(o.N) + " (" + o.What + "): `" + o.Get + "`\n")
	}
}

// few returns at most n elements, and the number of the others.
func few[T any](list []T, n int) ([]T, int) {
	n = min(n, len(list))
	return append([]T{}, list[:n]...), len(list) - n
}

// sentences returns at most n sentences of at most m.sentence bytes, and the number of the others.
func (m amount) sentences(list []string, n int) (out []string, more int) {
	out, more = few(list, n)
	for i := range out {
		out[i] = Cut(out[i], m.sentence)
	}
	return out, more
}

// name makes a name from a file safe to show: one line of valid UTF-8, at most nameBytes long. Long names of kernels
// lose their template arguments first.
func name(s string) string {
	const most = 20 * nameBytes // longer names are no names of kernels
	if len(s) > nameBytes && len(s) < most {
		s = kernel.Short(s)
	}
	return Cut(s, nameBytes)
}

// Cut makes a text one line of valid UTF-8, and shortens it in the middle to at most n bytes, and each word to at most
// nameBytes.
func Cut(s string, n int) string {
	s = columns.Clean(strings.ToValidUTF8(s, "?"))
	if len(s) > nameBytes {
		words := strings.Split(s, " ")
		for i := range words {
			words[i] = middle(words[i], nameBytes)
		}
		s = strings.Join(words, " ")
	}
	return middle(s, n)
}

// middle removes the middle of a text of more than n bytes.
func middle(s string, n int) string {
	const mark = "…"
	if len(s) <= n {
		return s
	}
	tail := (n - len(mark)) / 3
	head := n - len(mark) - tail
	for !utf8.RuneStart(s[head]) {
		head--
	}
	for !utf8.RuneStart(s[len(s)-tail]) {
		tail--
	}
	return s[:head] + mark + s[len(s)-tail:]
}

// Args are the arguments that select a capture, as a command line repeats them.
type Args struct {
	Input string // arguments of analyze, quoted for a shell
	Flags string // flags that change the findings, quoted; "": none
}

// command returns a command line on the same input. rest follows the input.
func (a Args) command(verb string, rest ...string) string {
	input := columns.Clean(a.Input)
	if len(input) > argBytes || input == "" {
		input = "RUN"
	}
	flags := columns.Clean(a.Flags)
	if len(flags) > argBytes {
		flags = "…"
	}
	words := append([]string{"stepscope", verb, input}, rest...)
	return strings.Join(slices.DeleteFunc(append(words, flags), func(s string) bool { return s == "" }), " ")
}

// table writes rows with a header as aligned columns.
func table(b *strings.Builder, head []string, rows [][]string) {
	columns.Left(b, append([][]string{head}, rows...))
}
