package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/stepscope/stepscope/internal/base/columns"
)

// Widths of the help in columns: the width when stdout is not a terminal, and the maximum width, since long lines are
// hard to read.
const (
	helpWidth  = 80
	widestHelp = 100
	widestFlag = 26 // width of the left column, which has the flags and their values
)

// helpAllFlag is --help-all.
type helpAllFlag bool

// BeforeReset prints the help before the command line is validated, as --help does.
func (helpAllFlag) BeforeReset(k *kong.Context, e *env) error {
	err := e.help(k, true)
	k.Exit(exitOK)
	return err
}

// page is a help text.
type page struct {
	strings.Builder
	width int
}

// help prints the list of verbs, or the help of one verb. The help of a verb contains the common flags, or all flags if
// all is set.
func (e *env) help(k *kong.Context, all bool) error {
	p := &page{width: helpWidth}
	if w := e.tables().Width; w > 0 {
		p.width = min(w, widestHelp)
	}
	if verb := k.Selected(); verb == nil {
		what, exits, _ := strings.Cut(description, "\n\n")
		p.text(what + "\n\n")
		p.verbs(k.Model.Node)
		fmt.Fprintf(p, "\n")
		p.text(exits)
	} else if !verb.Leaf() {
		p.text(verb.Help)
		fmt.Fprintf(p, "\n")
		p.verbs(verb)
	} else {
		p.verb(verb, all)
	}
	_, err := e.stdout.Write([]byte(p.String()))
	return err
}

// verbs lists verbs by task.
func (p *page) verbs(at *kong.Node) {
	fmt.Fprintf(p, "Usage: stepscope VERB [flags]; stepscope VERB --help has flags and examples.\n")
	var wide int
	leaves := at.Leaves(true)
	for _, v := range leaves {
		wide = max(wide, len(verbOf(v)))
	}
	for i, v := range leaves {
		if task := groupOf(v); at.Parent == nil && (i == 0 || task != groupOf(leaves[i-1])) {
			fmt.Fprintf(p, "\n%s: %s\n", task, tasks[task])
		} else if i == 0 {
			fmt.Fprintf(p, "\n")
		}
		p.row(verbOf(v), v.Help, wide)
	}
}

// groupOf returns the heading of a verb in the list of verbs: the group of the verb, or the group of the verb's parent.
func groupOf(n *kong.Node) string {
	for ; n.Parent != nil; n = n.Parent {
		if n.Group != nil {
			return n.Group.Title
		}
	}
	return ""
}

// verb writes the help of one verb.
func (p *page) verb(n *kong.Node, all bool) {
	usage := "Usage: stepscope " + verbOf(n)
	if len(n.Aliases) > 0 {
		usage += " (also " + strings.Join(n.Aliases, ", ") + ")"
	}
	for _, f := range flagsOf(n) {
		if f.Required {
			usage += " " + flagText(f, false)
		}
	}
	for _, arg := range n.Positional {
		usage += " " + arg.Summary()
	}
	p.text(usage + " [flags]")
	fmt.Fprintf(p, "\n")
	p.text(n.Help)
	if n.Detail != "" {
		fmt.Fprintf(p, "\n")
		p.text(n.Detail)
	}
	if len(n.Positional) > 0 {
		fmt.Fprintf(p, "\nArguments\n")
		for _, arg := range n.Positional {
			p.row(arg.Summary(), arg.Help, widestFlag)
		}
	}
	more := 0
	for i, s := range sectionsOf(n) {
		if rest := len(common[verbOf(n)]); rest > 0 && i >= rest && !all {
			more += len(s.flags)
			continue
		}
		fmt.Fprintf(p, "\n%s\n", s.title)
		for _, f := range s.flags {
			p.row(flagText(f, all), flagHelp(n, f), widestFlag)
		}
	}
	fmt.Fprintf(p, "\n")
	if more > 0 {
		p.text(fmt.Sprintf("%d more flags: stepscope %s --help-all", more, verbOf(n)))
	}
	p.text("Everywhere: --help, --help-all, --version, --config FILE.")
}

// flagSection is a section of a verb's flags.
type flagSection struct {
	title string
	flags []*kong.Flag
}

// sectionsOf returns the flags of a verb in sections. The common flags come first, in the sections of the table common.
// The other flags follow, in the groups that their structs define.
func sectionsOf(n *kong.Node) (out []flagSection) {
	rest := slices.DeleteFunc(slices.Clone(n.Flags), func(f *kong.Flag) bool { return f.Hidden })
	for _, s := range common[verbOf(n)] {
		section := flagSection{title: s.title}
		for name := range strings.FieldsSeq(s.flags) {
			i := slices.IndexFunc(rest, func(f *kong.Flag) bool { return f.Name == name })
			section.flags = append(section.flags, rest[i]) // TestHelpOfFlags checks that the table names existing flags
			rest = slices.Delete(rest, i, i+1)
		}
		out = append(out, section)
	}
	title := func(f *kong.Flag) string {
		if f.Group == nil || n.Group != nil && f.Group.Key == n.Group.Key {
			return ""
		}
		return f.Group.Title
	}
	first := len(out)
	for _, f := range rest {
		i := slices.IndexFunc(out[first:], func(s flagSection) bool { return s.title == title(f) })
		if i < 0 {
			i = len(out) - first
			out = append(out, flagSection{title: title(f)})
		}
		out[first+i].flags = append(out[first+i].flags, f)
	}
	for i := range out[first:] {
		if s := &out[first+i]; s.title == "" {
			if s.title = "Flags"; first > 0 {
				s.title = "More"
			}
		}
	}
	return out
}

// flagText returns a flag as the user types it. If names is set, the text includes the flag's other names.
func flagText(f *kong.Flag, names bool) string {
	text := "--" + f.Name
	if f.Short != 0 {
		text = "-" + string(f.Short) + ", " + text
	}
	if names {
		for _, alias := range f.Aliases {
			text += ", --" + alias
		}
	}
	return strings.TrimSpace(text + " " + valueText(f))
}

// valueText returns the placeholder of a flag's value.
func valueText(f *kong.Flag) string {
	of := f.Target.Type()
	several := f.IsSlice()
	if several || of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	text := f.PlaceHolder
	switch {
	case f.IsBool():
		return ""
	case text != "":
	case f.Enum != "":
		words := slices.DeleteFunc(f.EnumSlice(), func(w string) bool { return w == "" })
		if text = strings.Join(words, "|"); len(text) > widestFlag/2 {
			text = "NAME"
		}
	case of == reflect.TypeFor[time.Duration]() || of == reflect.TypeFor[seconds]():
		text = "TIME"
	case of.Kind() == reflect.Float64:
		text = "X"
	case of.Kind() == reflect.String:
		text = "TEXT"
	default:
		text = "N"
	}
	if several {
		text += " …"
	}
	return text
}

// flagHelp returns the help of a flag, including the default value and the environment variables.
func flagHelp(verb *kong.Node, f *kong.Flag) string {
	text := f.Help
	if !strings.Contains(text, "efault") && f.Default != "" && !f.IsBool() {
		said := strings.ReplaceAll(f.Default, "\n", `\n`)
		text += " Default: " + said + "."
	}
	names := f.Envs
	if s := settingOf(verb, f.Name); s != nil {
		names = append(names, s.env())
	}
	if len(names) > 0 {
		text += " [" + strings.Join(names, ", ") + "]"
	}
	return text
}

// row writes a name and its description in two columns.
func (p *page) row(name, help string, wide int) {
	at := 2 + wide + 2
	fmt.Fprintf(p, "  %s", name)
	lines := columns.Wrap(help, p.width-at)
	if columns.Width(name) > wide {
		fmt.Fprintf(p, "\n%*s", at, "")
	} else {
		fmt.Fprintf(p, "%*s", at-2-columns.Width(name), "")
	}
	for i, line := range lines {
		if i > 0 {
			fmt.Fprintf(p, "%*s", at, "")
		}
		fmt.Fprintf(p, "%s\n", line)
	}
	if len(lines) == 0 {
		fmt.Fprintf(p, "\n")
	}
}

// text writes wrapped paragraphs. Indented lines are examples to type, so they are not wrapped.
func (p *page) text(text string) {
	var paragraph []string
	flush := func() {
		for _, line := range columns.Wrap(strings.Join(paragraph, " "), p.width) {
			fmt.Fprintf(p, "%s\n", line)
		}
		paragraph = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "":
			flush()
			fmt.Fprintf(p, "\n")
		case strings.HasPrefix(line, " "):
			flush()
			fmt.Fprintf(p, "    %s\n", strings.TrimLeft(line, " "))
		default:
			paragraph = append(paragraph, line)
		}
	}
	flush()
}
