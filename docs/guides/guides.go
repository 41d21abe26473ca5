// Package guides has the guides by task, so that the program can print them where there is no network.
package guides

import (
	"embed"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// index is the page that leads from what somebody sees to a guide.
const index = "README.md"

//go:embed *.md
var files embed.FS

// A Guide is one of them.
type Guide struct {
	Name  string // of its file, without .md
	Title string
	Text  string // Markdown
}

// All are all guides, by name.
func All() (all []Guide) {
	names, _ := fs.Glob(files, "*.md")
	slices.Sort(names)
	for _, name := range names {
		if name == index {
			continue
		}
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err) // the binary was built without its own files
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		all = append(all, Guide{Name: strings.TrimSuffix(name, ".md"), Title: title, Text: string(text)})
	}
	return all
}

// A Symptom is what somebody sees or wants, and the guide to it.
type Symptom struct{ What, Guide string }

// row is one of the table of the index.
var row = regexp.MustCompile(`(?m)^\| ([^|]+) \| \[([a-z-]+)\]\(`)

// Symptoms are the rows of the index.
func Symptoms() (all []Symptom) {
	text, err := files.ReadFile(index)
	if err != nil {
		panic(err) // the binary was built without its own files
	}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		all = append(all, Symptom{What: m[1], Guide: m[2]})
	}
	return all
}
