package nsys

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Record holds the data of a session that other processes need in order to open windows on the session. Processes that
// use a different TMPDIR or nsys do not find the session.
type Record struct {
	Format  int       `json:"format"` // 1
	Nsys    string    `json:"nsys"`
	Version string    `json:"version"`
	TmpDir  string    `json:"tmpdir"`
	Host    string    `json:"host"`
	Session string    `json:"session"` // name
	ID      string    `json:"session_id"`
	PID     int       `json:"nsys_pid"`
	Target  int       `json:"pid"` // process id of the program; 0: not found
	Mode    Mode      `json:"mode"`
	Range   string    `json:"capture_range,omitempty"` // cudaProfilerApi or nvtx
	Output  string    `json:"output"`                  // absolute, without suffix; reports are OUTPUT-window-N
	Options []string  `json:"start_options,omitempty"` // options for each start of a window
	Started time.Time `json:"started"`
}

// Mode determines how the windows of a session are opened.
type Mode string

// Modes.
const (
	Whole Mode = "whole" // one window, from the start to the end of the program
	Later Mode = "later" // windows are opened by Start and closed by Stop, or a single window opens after a delay
	Range Mode = "range" // the program begins and ends ranges; Run makes each range a window
	Own   Mode = "own"   // nsys opens windows by itself: the user gave --capture-range-end
)

// Window is a window of a session.
type Window struct {
	N      int       `json:"n"`
	Output string    `json:"output"`          // destination of the report
	Opened time.Time `json:"opened,omitzero"` // zero: the window still waits for its range
	Closed time.Time `json:"closed,omitzero"` // zero: the window is open, or its report is being generated
	Report string    `json:"report,omitempty"`
	Size   int64     `json:"size,omitempty"`
	Error  string    `json:"error,omitempty"`
}

const recordFile = "session.json"

// Save writes the record to dir.
func (r *Record) Save(dir string) error {
	r.Format = 1
	return atomicfile.JSON(filepath.Join(dir, recordFile), r)
}

// ReadRecord reads the record in dir.
func ReadRecord(dir string) (*Record, error) {
	r := new(Record)
	if err := readJSON(filepath.Join(dir, recordFile), r); err != nil {
		return nil, err
	}
	if r.Format != 1 || !filepath.IsAbs(r.Nsys) || r.ID == "" {
		return nil, fmt.Errorf("%s is not a session record of this version", filepath.Join(dir, recordFile))
	}
	return r, nil
}

// Tool returns the nsys of the session.
func (r *Record) Tool() *Tool {
	t := At(r.Nsys, r.TmpDir)
	t.Version, _ = ParseVersion("version " + r.Version)
	return t
}

// NewWindow creates the window with the next free number. The report will be written to output. If output is "", it
// will be written to the record's destination. Several processes may call NewWindow concurrently.
func (r *Record) NewWindow(dir, output string) (*Window, error) {
	n := 1
	if list := Windows(dir); len(list) > 0 {
		n = list[len(list)-1].N + 1
	}
	for ; ; n++ {
		w := &Window{N: n, Output: output}
		if output == "" {
			w.Output = fmt.Sprintf("%s-window-%d%s", r.Output, n, Suffix)
		}
		if r.Mode == Whole && n == 1 && output == "" {
			w.Output = r.Output + Suffix
		}
		// Skip a number for which a report from an earlier session exists.
		if _, err := os.Lstat(w.Output); err == nil && output == "" && !(r.Mode == Whole && n == 1) {
			continue
		}
		f, err := os.OpenFile(windowFile(dir, n), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		return w, w.Save(dir)
	}
}

func windowFile(dir string, n int) string {
	return filepath.Join(dir, fmt.Sprintf("window-%d.json", n))
}

// Save writes the window's state.
func (w *Window) Save(dir string) error { return atomicfile.JSON(windowFile(dir, w.N), w) }

// Drop discards a window that was never opened.
func (w *Window) Drop(dir string) { os.Remove(windowFile(dir, w.N)) }

// Close marks the window as closed, and stores the path of the report or the error.
func (w *Window) Close(dir, report string, size int64, problem error) error {
	w.Closed, w.Report, w.Size = time.Now().UTC(), report, size
	if problem != nil {
		w.Error = problem.Error()
	}
	return w.Save(dir)
}

// Windows returns the windows of a session, in order.
func Windows(dir string) (list []*Window) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !windowName.MatchString(e.Name()) {
			continue
		}
		w := new(Window)
		if readJSON(filepath.Join(dir, e.Name()), w) == nil { // on an error, skip the file: it is just being created
			list = append(list, w)
		}
	}
	sorts.By(list, func(a, b *Window) int { return a.N - b.N })
	return list
}

var windowName = regexp.MustCompile(`^window-[0-9]+\.json$`)

// Open returns the window that is not closed yet, or nil if there is none.
func Open(dir string) *Window {
	list := Windows(dir)
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Closed.IsZero() {
			return list[i]
		}
	}
	return nil
}

// Last returns the newest window that has been opened, or nil if there is none.
func Last(dir string) *Window {
	list := slices.DeleteFunc(Windows(dir), func(w *Window) bool { return w.Opened.IsZero() })
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

func readJSON(path string, v any) error {
	text, err := atomicfile.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Expand replaces nsys's patterns in a report name: %h by the host, %p by the process id, %q{NAME} by a variable, %% by
// %. If nsys replaced the patterns, the final names would be unknown.
func Expand(name string, getenv func(string) (string, bool)) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(name, "%")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		switch {
		case strings.HasPrefix(rest, "%"):
			out.WriteString("%")
			name = rest[1:]
		case strings.HasPrefix(rest, "h"):
			host, err := os.Hostname()
			if err != nil {
				return "", err
			}
			out.WriteString(host)
			name = rest[1:]
		case strings.HasPrefix(rest, "p"):
			fmt.Fprint(&out, os.Getpid())
			name = rest[1:]
		case strings.HasPrefix(rest, "q{"):
			variable, after, closed := strings.Cut(rest[2:], "}")
			value, set := getenv(variable)
			if !closed || !set {
				return "", fmt.Errorf("%%%s: the environment has no variable %q", rest, variable)
			}
			out.WriteString(value)
			name = after
		default:
			return "", fmt.Errorf("%%%s: give %%h, %%p, %%q{VARIABLE} or %%%%", rest)
		}
	}
}
