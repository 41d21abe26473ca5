// Package guides has the guides by task, so that the program can print them where there is no network.
package guides

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
)

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
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err) // the binary was built without its own files
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		all = append(all, Guide{Name: strings.TrimSuffix(name, ".md"), Title: title, Text: string(text)})
	}
	return all
}
