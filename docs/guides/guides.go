// Package guides embeds the task guides, so that the program can print them without a network.
package guides

import (
	"embed"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// index is the page that maps symptoms to guides.
const index = "README.md"

//go:embed *.md
var files embed.FS

// Guide is one guide.
type Guide struct {
	Name  string // file name without .md
	Title string
	Text  string // Markdown
}

// All returns all guides, by name.
func All() (all []Guide) {
	names, _ := fs.Glob(files, "*.md")
	slices.Sort(names)
	for _, name := range names {
		if name == index {
			continue
		}
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err) // the binary was built without its embedded files
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		all = append(all, Guide{Name: strings.TrimSuffix(name, ".md"), Title: title, Text: string(text)})
	}
	return all
}

// Symptom is a symptom or a goal, and the guide for it.
type Symptom struct{ What, Guide string }

// row matches a row of the index's table.
var row = regexp.MustCompile(`(?m)^\| ([^|]+) \| \[([a-z-]+)\]\(`)

// Symptoms returns the rows of the index.
func Symptoms() (all []Symptom) {
	text, err := files.ReadFile(index)
	if err != nil {
		panic(err) // the binary was built without its embedded files
	}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		all = append(all, Symptom{What: m[1], Guide: m[2]})
	}
	return all
}
