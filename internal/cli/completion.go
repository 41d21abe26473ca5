package cli

import (
	"embed"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/stepscope/stepscope/internal/explain/export"
	"github.com/stepscope/stepscope/internal/measure/load"
	"github.com/stepscope/stepscope/internal/measure/workload"
)

//go:embed completion
var completionScripts embed.FS

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help returns the end of the verb's help text.
func (c *completionCmd) Help() string {
	return `The shell reads the script when it starts. Verbs, flags, values of flags and
files are completed.

Examples:
  stepscope completion bash >~/.local/share/bash-completion/completions/stepscope
  stepscope completion fish >~/.config/fish/completions/stepscope.fish
  echo 'source <(stepscope completion zsh)' >>~/.zshrc`
}

// Run prints the script, which calls completeCmd.
func (c *completionCmd) Run(e *env) error {
	script, err := completionScripts.ReadFile("completion/stepscope." + c.Shell)
	if err == nil {
		_, err = e.stdout.Write(script)
	}
	return err
}

// completeCmd lists the possible completions of a command line.
type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

// files is the completion that makes the shell complete file names.
const files = ":files"

// oneOf lists the valid values of flags for which kong has no enumeration, because another package checks the values.
var oneOf = map[string][]string{
	"bench serving --backend":      slices.Sorted(maps.Keys(load.Backends)),
	"bench serving --dataset-name": workload.Datasets,
	"bench offline --dataset-name": workload.Datasets,
	"config set --name":            settingNames(),
	"config unset --name":          settingNames(),
	"trace merge --format":         {"chrome", "pftrace"},
	"trace export --format":        {string(export.Parquet), string(export.CSV), string(export.SQLite)},
}

// Run prints each word that can replace the last word of the command line. A tab and the help of the word follow.
func (c *completeCmd) Run(e *env, k *kong.Context) error {
	words := slices.Clone(c.Words)
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, line := range next(k.Model.Node, words) {
		if _, err := fmt.Fprintln(e.stdout, line); err != nil {
			return err
		}
	}
	return nil
}

// next parses the words as expand does, and lists the completions of the last word. bash passes "=" as a separate word.
func next(node *kong.Node, words []string) (lines []string) {
	var flag *kong.Flag // flag whose value is the next word
	arguments := 0
	word := ""
	for i, w := range words {
		if i == len(words)-1 {
			word = strings.TrimPrefix(w, "=")
			break
		}
		was := flag
		flag = nil
		switch {
		case w == "--":
			return []string{files}
		case w == "=":
			flag = was
		case strings.HasPrefix(w, "-"):
			flag = flagWithValue(node, w)
		case was != nil:
			if was.IsSlice() && len(node.Positional) == 0 {
				flag = was
			}
		case !node.Leaf():
			child := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Name == w || slices.Contains(c.Aliases, w) })
			if child < 0 {
				return nil
			}
			node = node.Children[child]
		case len(node.Positional) > 0:
			arguments++
		}
	}
	add := func(text, help string) {
		if strings.HasPrefix(text, word) {
			lines = append(lines, strings.TrimSpace(text+"\t"+strings.ReplaceAll(help, "\n", " ")))
		}
	}
	values := func(v *kong.Value, before string) {
		of := v.Target.Type()
		if v.IsSlice() {
			of = of.Elem()
		}
		known := oneOf[verbOf(node)+" --"+v.Name]
		if v.Enum != "" {
			known = v.EnumSlice()
		}
		for _, value := range known {
			if value != "" {
				add(before+value, "")
			}
		}
		if known == nil && of.Kind() == reflect.String {
			lines = []string{files}
		}
	}
	name, _, hasValue := strings.Cut(word, "=")
	switch {
	case strings.HasPrefix(word, "-") && hasValue:
		if flag := flagWithValue(node, name); flag != nil {
			values(flag.Value, name+"=")
		}
	case strings.HasPrefix(word, "-"):
		for _, f := range flagsOf(node) {
			if !f.Hidden {
				add("--"+f.Name, f.Help)
			}
		}
	case flag != nil:
		values(flag.Value, "")
	case !node.Leaf():
		for _, c := range node.Children {
			if !c.Hidden {
				add(c.Name, c.Help)
			}
		}
	case len(node.Positional) > 0:
		values(node.Positional[min(arguments, len(node.Positional)-1)], "")
	}
	return lines
}

// flagWithValue returns the flag that a word names if the next word is the value of that flag. Otherwise it returns
// nil.
func flagWithValue(node *kong.Node, word string) *kong.Flag {
	var flag *kong.Flag
	var err error
	if name, long := strings.CutPrefix(word, "--"); long {
		flag, err = findFlag(node, name)
	} else if len(word) == 2 {
		flag, err = findShort(node, word)
	}
	if err != nil || flag == nil || flag.IsBool() || strings.Contains(word, "=") {
		return nil
	}
	return flag
}
