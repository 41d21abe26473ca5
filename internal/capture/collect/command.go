package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// Template is a command line that reads files on another host, as given by --fetch:
//
//	ssh {host} cat {path}
//	kubectl exec {name} -n serving -- cat {path}
//
// The command line is split into words like a shell command, with quotes and backslashes, and is run without a shell.
// {path} is the path of the file, and {dir} is the directory of the file. {host} and {port} are taken from the server's
// URL, and {name} is the server's name. To list the directory, the words "cat {path}" at the end are replaced by "ls
// -ln {dir}". A template without these words needs a separate list template.
type Template struct {
	read, list []string
	inside     Inside
}

// Inside runs a command on a server's host and copies its output. all is set for a command that lists: if the server's
// files are in several places, it runs in each of them. Otherwise it runs where it succeeds.
type Inside func(ctx context.Context, host string, all bool, words []string, out, errs io.Writer) error

// In returns a Template whose commands, cat and ls, run with run instead of as processes of this host.
func In(run Inside) *Template {
	return &Template{read: []string{"cat", "{path}"}, list: []string{"ls", "-ln", "{dir}"}, inside: run}
}

// Inside reports whether the commands run on the servers' hosts.
func (t *Template) Inside() bool { return t != nil && t.inside != nil }

// ParseTemplate parses the two templates; list may be empty.
func ParseTemplate(read, list string) (*Template, error) {
	words, err := Split(read)
	if err != nil {
		return nil, err
	}
	t := &Template{read: words}
	if err := known(words, "path"); err != nil {
		return nil, err
	}
	if list != "" {
		if t.list, err = Split(list); err != nil {
			return nil, err
		}
		return t, known(t.list, "dir")
	}
	n := len(words)
	if n < 2 || words[n-2] != "cat" || words[n-1] != "{path}" {
		return nil, fmt.Errorf("%q does not end in cat {path}, so also give the command that lists a directory, such as ls -ln {dir}", read)
	}
	t.list = append(slices.Clone(words[:n-2]), "ls", "-ln", "{dir}")
	return t, nil
}

var placeholder = regexp.MustCompile(`\{[^{}\s]*\}`)

// known returns an error if the words lack the placeholder given by needs, or if they contain an unknown placeholder.
func known(words []string, needs string) error {
	has := false
	for _, w := range words {
		for _, p := range placeholder.FindAllString(w, -1) {
			switch p = strings.Trim(p, "{}"); p {
			case "path", "dir", "host", "port", "name":
				has = has || p == needs
			default:
				return fmt.Errorf("unknown placeholder {%s}: use {path}, {dir}, {host}, {port} or {name}", p)
			}
		}
	}
	if !has {
		return fmt.Errorf("%q has no {%s}", strings.Join(words, " "), needs)
	}
	return nil
}

// Split splits a command line into words like a POSIX shell, but interprets only quotes and backslashes. All other
// special characters stay unchanged, because no shell interprets the line.
func Split(line string) (words []string, err error) {
	var word strings.Builder
	in, quote := false, rune(0)
	escaped := false
	for _, c := range line {
		switch {
		case escaped:
			if quote == '"' && c != '"' && c != '\\' {
				word.WriteByte('\\')
			}
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			in, escaped = true, true
		case quote != 0:
			if c == quote {
				quote = 0
			} else {
				word.WriteRune(c)
			}
		case c == '\'' || c == '"':
			in, quote = true, c
		case c == ' ' || c == '\t' || c == '\n':
			if in {
				words = append(words, word.String())
			}
			word.Reset()
			in = false
		default:
			in = true
			word.WriteRune(c)
		}
	}
	if quote != 0 || escaped {
		return nil, fmt.Errorf("%q: a quote is not closed", line)
	}
	if in {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("the command is empty")
	}
	return words, nil
}

// Command is a directory on another host that is read through a command.
type Command struct {
	Template         *Template
	Host, Port, Name string
	Dir              string // absolute, with forward slashes

	sizes map[string]int64 // in the last list, without those that are unknown
}

// plainPath and plainHost match the strings that are allowed in a command line. They are restricted because ssh passes
// its arguments to a remote shell.
var (
	plainPath = regexp.MustCompile(`^/[A-Za-z0-9._+=@,:/-]*$`)
	plainHost = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._:%-]*$`)
)

// Check rejects values that a remote shell could interpret.
func (c *Command) Check() error {
	if !plainPath.MatchString(c.Dir) {
		return fmt.Errorf("%q cannot be fetched: give an absolute path of letters, digits and ._+=@,:/-", c.Dir)
	}
	for _, word := range []string{c.Host, c.Name} {
		if word != "" && !plainHost.MatchString(word) {
			return fmt.Errorf("%q cannot be part of a command: use letters, digits and ._-", word)
		}
	}
	return nil
}

func (c *Command) String() string { return strings.Join(c.words(c.Template.list, c.Dir), " ") }

// Here returns "": the file must be downloaded.
func (c *Command) Here(string) string { return "" }

func (c *Command) words(template []string, file string) []string {
	r := strings.NewReplacer("{path}", file, "{dir}", c.Dir, "{host}", c.Host, "{port}", c.Port, "{name}", c.Name)
	out := make([]string, len(template))
	for i, w := range template {
		out[i] = r.Replace(w)
	}
	return out
}

// List runs the list command. In the output of "ls -ln", the fifth field of a line is the size and the last field is
// the name. A line that consists of one word is a name.
func (c *Command) List(ctx context.Context) ([]File, error) {
	var text bytes.Buffer
	err := c.run(ctx, true, c.words(c.Template.list, ""), &text)
	if err != nil {
		var failed *commandError
		if errors.As(err, &failed) && strings.Contains(failed.stderr, "No such file") {
			return nil, nil
		}
		return nil, err
	}
	var out []File
	c.sizes = map[string]int64{}
	for line := range strings.Lines(text.String()) {
		fields := strings.Fields(line)
		f := File{Size: -1}
		switch {
		case len(fields) == 1:
			f.Name = path.Base(fields[0])
		case len(fields) >= 9 && fields[0][0] == '-':
			f.Name = path.Base(fields[len(fields)-1])
			if n, err := strconv.ParseInt(fields[4], 10, 64); err == nil {
				f.Size, c.sizes[f.Name] = n, n
			}
		}
		if plainName.MatchString(f.Name) {
			out = append(out, f)
		}
	}
	return out, nil
}

// Bring writes the output of the read command to a file. It returns an error if that is less than the last List listed.
func (c *Command) Bring(ctx context.Context, name, to string, within *Budget) error {
	if !plainName.MatchString(name) {
		return fmt.Errorf("%q cannot be fetched", name)
	}
	words := c.words(c.Template.read, path.Join(c.Dir, name))
	return within.Write(to, func(w io.Writer) error {
		got := &atomicfile.Counter{W: w}
		err := c.run(ctx, false, words, got)
		if err == nil && got.N < c.sizes[name] {
			err = &commandError{strings.Join(words, " "), "", fmt.Errorf("received %d of %d bytes", got.N, c.sizes[name])}
		}
		return err
	})
}

// Read returns the content of a file of at most most bytes.
func (c *Command) Read(ctx context.Context, name string, most int64) ([]byte, error) {
	var text bytes.Buffer
	err := c.Check()
	if err == nil {
		err = c.run(ctx, false, c.words(c.Template.read, path.Join(c.Dir, name)), &atomicfile.Counter{W: &text, Most: most})
	}
	return text.Bytes(), err
}

// commandError is the error of a failed command.
type commandError struct {
	line, stderr string
	err          error
}

func (e *commandError) Error() string {
	if e.stderr != "" {
		return fmt.Sprintf("%s: %v: %s", e.line, e.err, e.stderr)
	}
	return fmt.Sprintf("%s: %v", e.line, e.err)
}

func (e *commandError) Unwrap() error { return e.err }

func (c *Command) run(ctx context.Context, all bool, words []string, out io.Writer) error {
	var stderr lastBytes
	if c.Template.inside != nil {
		err := c.Template.inside(ctx, c.Host, all, words, out, &stderr)
		if err != nil && ctx.Err() == nil {
			err = &commandError{strings.Join(words, " "), stderr.line(), err}
		}
		return err
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Stdout, cmd.Stderr = out, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &commandError{strings.Join(words, " "), stderr.line(), err}
	}
	return nil
}

// lastBytes is a writer that keeps only the end of the data.
type lastBytes struct{ b []byte }

func (l *lastBytes) Write(p []byte) (int, error) {
	l.b = append(l.b, p...)
	l.b = l.b[max(0, len(l.b)-2048):]
	return len(p), nil
}

// line returns the last non-empty line.
func (l *lastBytes) line() string {
	lines := strings.Split(strings.TrimSpace(string(l.b)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
