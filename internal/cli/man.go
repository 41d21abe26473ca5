package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

type manCmd struct{}

// Run prints the manual page in the format of man. The page contains the help of all verbs.
func (c *manCmd) Run(e *env, k *kong.Context) error {
	var page strings.Builder
	// .nh disables hyphenation, because users copy values such as total_tokens from the page.
	day, _, _ := strings.Cut(readBuild().Time, "T")
	fmt.Fprintf(&page, ".TH STEPSCOPE 1 \"%s\" \"%s\"\n.nh\n.SH NAME\nstepscope \\- benchmarks, profiles and explains LLM serving\n", day, roff("stepscope "+release()))
	page.WriteString(".SH SYNOPSIS\n.B stepscope\n.I VERB\n[\\fIflags\\fR]\n.SH DESCRIPTION\n")
	manText(&page, description)
	page.WriteString(".SH VERBS\n")
	for _, verb := range k.Model.Leaves(true) {
		fmt.Fprintf(&page, ".SS %s\n", roff(strings.TrimSpace(verb.Summary())))
		manText(&page, verb.Help+"\n\n"+verb.Detail)
		for _, p := range verb.Positional {
			fmt.Fprintf(&page, ".TP\n.B %s\n%s\n", roff(p.Summary()), roff(p.Help))
		}
		for _, f := range verb.Flags {
			if !f.Hidden {
				fmt.Fprintf(&page, ".TP\n.B %s\n%s\n", roff(flagText(f, true)), roff(flagHelp(verb, f)))
			}
		}
	}
	_, err := fmt.Fprint(e.stdout, page.String())
	return err
}

// manText writes paragraphs. Indented lines are not reformatted.
func manText(page *strings.Builder, text string) {
	asIs := false
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimRight(line, "\n")
		indented := strings.HasPrefix(line, "  ")
		switch {
		case line == "":
			if !asIs {
				page.WriteString(".PP\n")
			}
			continue
		case indented && !asIs:
			page.WriteString(".RS 4\n.nf\n")
		case !indented && asIs:
			page.WriteString(".fi\n.RE\n.PP\n")
		}
		asIs = indented
		page.WriteString(roff(strings.TrimPrefix(strings.TrimPrefix(line, "  "), "  ")) + "\n")
	}
	if asIs {
		page.WriteString(".fi\n.RE\n")
	}
}

// roff escapes text for groff, so that no line is interpreted as a request and dashes can be copied.
func roff(text string) string {
	text = strings.NewReplacer("\\", "\\e", "-", "\\-", "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = "\\&" + text
	}
	return text
}
