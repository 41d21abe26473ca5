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

// target returns the path of the output file. given is the value of -o. If given is a directory, the file has the usual
// name in that directory. Without -o, the file has the usual name in dir, the directory of the inputs. target checks
// for errors that would otherwise be detected only after all the work.
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

// throughFile calls write with the path of a temporary file, and copies that file to stdout. It is for formats that can
// only be written to files.
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
	// Remove the file before copying: if the reader of stdout stops early, this program may end.
	remove()
	_, err = io.Copy(e.data(), f)
	return err
}

// data returns stdout for machine-readable output. Control characters are filtered only if stdout is a terminal.
func (e *env) data() io.Writer {
	if e.terminal() == nil {
		return outlet{e.out, e}
	}
	return e.stdout
}

// terminal returns stdout if it is a terminal, else nil.
func (e *env) terminal() *os.File {
	if f, ok := e.out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// printJSON writes v as JSON.
func (e *env) printJSON(v any) error { return report.Indented(e.data(), v) }

// tables returns the options for tables on stdout: the width, and whether stdout supports colours.
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

// quietFlag suppresses all messages except the result and the problems.
type quietFlag struct {
	Quiet bool `name:"quiet" short:"q" help:"Print only the result and problems."`
}

func (f *quietFlag) apply(e *env) { e.Quiet = f.Quiet }
