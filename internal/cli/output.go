package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/explain/report"
)

// target is the file to write: what -o says (given), the usual name in a
// directory if it says one, or the usual name in dir, beside the inputs. It
// checks what would else fail only after all the work.
func target(given, dir, usual string) (string, error) {
	out := given
	if out == "-" {
		return out, nil
	}
	if out == "" {
		out = filepath.Join(dir, usual)
	} else if st, err := os.Stat(out); err == nil && st.IsDir() || strings.HasSuffix(out, string(filepath.Separator)) {
		out = filepath.Join(out, usual)
	}
	st, err := os.Stat(filepath.Dir(out))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("write %s: there is no directory %s; make it first", out, filepath.Dir(out))
	}
	if err == nil && !st.IsDir() {
		return "", fmt.Errorf("write %s: %s is a file, not a directory", out, filepath.Dir(out))
	}
	return out, nil
}

// oneStdout refuses two results on stdout.
func oneStdout(out string, asJSON bool) error {
	if out == "-" && asJSON {
		return usagef("both -o - and --json write to stdout: leave one out")
	}
	return nil
}

// throughFile lets write fill a file and copies it to stdout, for what can be
// written to files alone.
func (e *env) throughFile(name string, write func(path string) error) error {
	dir, remove, err := atomicfile.TempDir("stepscope-")
	if err != nil {
		return err
	}
	defer remove()
	path := filepath.Join(dir, name)
	if err := write(path); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	// Gone from here on: a reader that stops early may end this program.
	remove()
	_, err = io.Copy(e.data(), f)
	return err
}

// data is stdout for what programs read: as it is, but for a terminal.
func (e *env) data() io.Writer {
	if e.terminal() == nil {
		return outlet{e.out, e}
	}
	return e.stdout
}

// terminal is the terminal that stdout is, or nil.
func (e *env) terminal() *os.File {
	if f, ok := e.out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// printJSON writes v for machines.
func (e *env) printJSON(v any) error { return report.Indented(e.data(), v) }

// tables are the options of tables on stdout: how wide it is, and whether it takes
// colours.
func (e *env) tables() (o report.Options) {
	f := e.terminal()
	if f == nil {
		return o
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		o.Width = width
	}
	if o.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"; o.Color {
		e.stdout.Colours()
	}
	return o
}

// quietFlag leaves out all that is said beside the result.
type quietFlag struct {
	Quiet bool `name:"quiet" short:"q" help:"Print the result and what is wrong, no more."`
}

func (f *quietFlag) apply(e *env) { e.Quiet = f.Quiet }
