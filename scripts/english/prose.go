package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// paragraph is a piece of consecutive prose; line is the number of its first line.
type paragraph struct {
	line int
	text []string
}

var (
	code  = regexp.MustCompile("`[^`]*`")
	link  = regexp.MustCompile(`\]\([^)]*\)`)
	ends  = regexp.MustCompile(`[.!?]["')*]*(\s|$)`)
	word  = regexp.MustCompile(`[A-Za-z][A-Za-z'’-]*`)
	item  = regexp.MustCompile(`^\s*([-*•]|\d+\.)\s+`)
	build = regexp.MustCompile(`^//(go:|line |export |nolint)`)
)

// comments returns the paragraphs of a Go file's // comments, without code, lists of values or directives.
func comments(content string) (out []paragraph) {
	if strings.HasPrefix(content, "// Code generated") {
		return nil
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	for _, group := range file.Comments {
		out = append(out, lines(files, group)...)
	}
	return out
}

func lines(files *token.FileSet, group *ast.CommentGroup) (out []paragraph) {
	fresh := true
	for _, c := range group.List {
		body, ok := strings.CutPrefix(c.Text, "//")
		if !ok || build.MatchString(c.Text) {
			continue
		}
		if strings.TrimSpace(body) == "" || strings.HasPrefix(body, "\t") || strings.HasPrefix(body, "   ") {
			fresh = true
			continue
		}
		if item.MatchString(body) {
			fresh, body = true, item.ReplaceAllString(body, "")
		}
		if fresh {
			out = append(out, paragraph{line: files.Position(c.Pos()).Line})
		}
		p := &out[len(out)-1]
		p.text, fresh = append(p.text, strings.TrimPrefix(strings.TrimSpace(body), "# ")), false
	}
	return out
}

// markdown returns the paragraphs of a document, without code. Each cell of a table is a paragraph.
func markdown(content string) (out []paragraph) {
	fenced, fresh := false, true
	for i, l := range strings.Split(content, "\n") {
		trimmed := strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			fenced, fresh = !fenced, true
			continue
		case fenced, strings.HasPrefix(l, "    ") && fresh && !item.MatchString(l), trimmed == "", strings.HasPrefix(trimmed, "<"):
			fresh = true
			continue
		case strings.HasPrefix(trimmed, "|"):
			for cell := range strings.SplitSeq(strings.Trim(trimmed, "|"), "|") {
				out = append(out, paragraph{line: i + 1, text: []string{cell}})
			}
			fresh = true
			continue
		case strings.HasPrefix(trimmed, "#"):
			out, fresh = append(out, paragraph{line: i + 1, text: []string{strings.TrimLeft(trimmed, "# ")}}), true
			continue
		}
		if fresh || item.MatchString(l) {
			out, fresh = append(out, paragraph{line: i + 1}), false
		}
		p := &out[len(out)-1]
		p.text = append(p.text, item.ReplaceAllString(trimmed, ""))
	}
	return out
}

// sentences splits a paragraph at stops. Each piece of code and each address counts as one word.
func (p paragraph) sentences(file string) (out []sentence) {
	text := link.ReplaceAllString(code.ReplaceAllString(strings.Join(p.text, " "), "code"), "]")
	for text = strings.TrimSpace(text); text != ""; {
		end := len(text)
		if at := ends.FindStringIndex(text); at != nil {
			end = at[1]
		}
		if n := len(word.FindAllString(text[:end], -1)); n > 0 {
			out = append(out, sentence{file: file, line: p.line, words: n, text: strings.TrimSpace(text[:end])})
		}
		text = text[end:]
	}
	return out
}
