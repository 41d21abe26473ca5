package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/tracefile/merge"
	"github.com/stepscope/stepscope/internal/tracefile/open"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// openCmd is "trace open".
type openCmd struct {
	inputFlags
	Browser bool   `help:"Open the address in the default browser."`
	UI      string `name:"ui" default:"https://ui.perfetto.dev" placeholder:"URL" help:"The Perfetto to open it in (default: ${default})."`

	browse func(url string) error // opens an address; nil: browse
}

// Help returns the end of the verb's help text, which explains how to use the verb without a browser.
func (c *openCmd) Help() string {
	return `Prints an address on this machine. The page there opens Perfetto in a tab and gives it the trace; nothing is uploaded.
The busiest stream of each rank is pinned, and findings are flagged on the ruler. Ends when Perfetto has the trace.

A merged file, one rank's file or .pftrace is handed over as it is; a directory or several files are merged first.
On a server without a browser, forward the port that it prints: ssh -L PORT:127.0.0.1:PORT server

Examples:
  stepscope trace open /tmp/profile --browser
  stepscope trace open merged-run.trace.json.gz`
}

// pinLimit is the maximum size, in bytes on disk, of a file that is read to find the rows to pin. Reading such a file
// delays the hand-over to Perfetto by a few seconds.
const pinLimit = 64 << 20

// maxFlags is the maximum number of findings that are flagged on the ruler. More flags would overlap.
const maxFlags = 8

// Run opens a trace in Perfetto.
func (c *openCmd) Run(ctx context.Context, e *env) error {
	if err := perfettoAt(c.UI); err != nil {
		return err
	}
	_, text, err := e.text(ctx, c.inputFlags, false)
	if err != nil {
		return err
	}
	defer text.Close()
	path := text.Set.Files[0].Path
	if err := looksLikeTrace(path); err != nil {
		return err
	}
	var traces []*trace.Trace
	whole := true
	if len(text.Set.Files) == 1 {
		traces, whole = e.pinnable(ctx, text.Set.Files[0])
	}
	if needsMerge(text.Set) || !whole {
		dir, remove, err := atomicfile.TempDir("stepscope-open-")
		if err != nil {
			return err
		}
		defer remove()
		if path, err = e.mergeInto(ctx, text.Set, dir); err != nil {
			return err
		}
		if traces == nil {
			traces, _ = e.pinnable(ctx, fileAt(path))
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return open.Serve(ctx, open.Options{
		File: path, UI: c.UI, Log: log, Commands: open.PinRows(mainRows(traces), found(traces)),
	}, func(address string) { c.announce(e, log, address) })
}

// perfettoAt returns an error if the address of Perfetto is invalid.
func perfettoAt(ui string) error {
	if u, err := url.Parse(ui); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return usagef("--ui %q: give an address such as %s", ui, open.DefaultUI)
	}
	return nil
}

// needsMerge reports whether the window must be merged or rewritten before Perfetto can read it.
func needsMerge(window set.Set) bool { return len(window.Files) > 1 || packed(window.Files[0].Path) }

// announce prints the address, and opens it in a browser if --browser is given.
func (c *openCmd) announce(e *env, log *slog.Logger, address string) {
	fmt.Fprintln(e.stdout, address)
	if !c.Browser {
		e.Warn("open this address in a browser; stepscope ends when Perfetto has the trace")
		return
	}
	start := c.browse
	if start == nil {
		start = browse
	}
	if err := start(address); err != nil {
		log.Warn("no browser could be started, open the address yourself", "error", err)
	}
}

// mergeInto writes a set as one file. If the set consists of one file, that file is only rewritten, so that Perfetto's
// stricter reader can read it.
func (e *env) mergeInto(ctx context.Context, window set.Set, dir string) (string, error) {
	out := filepath.Join(dir, set.OutputName(window.ID, ".trace.json.gz"))
	meter := e.Meter("merge", window.Bytes())
	res, err := merge.File(ctx, window, out, merge.Options{ProfileID: window.ID, AsIs: len(window.Files) == 1, Meter: meter})
	meter.Close()
	if res != nil && ctx.Err() == nil {
		window.SayProblems(e.Console, res.Files)
	}
	if err != nil {
		return "", err
	}
	set.SayMissing(e.Console, res.Missing)
	return out, nil
}

// looksLikeTrace returns an error for files that are no traces. By the first bytes, it recognises gzip, zstd, JSON, and
// a protobuf whose first field is a packet.
func looksLikeTrace(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var head [1]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return nil // an empty file is reported later
	}
	switch head[0] {
	case 0x1f, 0x28, '{', '[', 0x0a, ' ', '\t', '\r', 0xef:
		return nil
	}
	return fmt.Errorf("%s: not a trace: it begins with %q, neither JSON nor gzip nor zstd nor Perfetto's protobuf", path, head[:])
}

// packed reports whether a file is compressed with zstd, which Perfetto cannot read. It checks the magic number (RFC
// 8878, section 3.1.1).
func packed(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false // Serve reports the error
	}
	defer f.Close()
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && magic == [4]byte{0x28, 0xb5, 0x2f, 0xfd}
}

func fileAt(path string) set.File {
	name, ok := trace.ParseFileName(filepath.Base(path))
	f := set.File{Path: path, Name: name, Named: ok}
	if st, err := os.Stat(path); err == nil {
		f.Size = st.Size()
	}
	return f
}

// pinnable reads a file if its size is moderate. whole is false if part of the file is lost. For formats other than
// Chrome JSON (.pftrace), pinnable returns no traces.
func (e *env) pinnable(ctx context.Context, f set.File) (traces []*trace.Trace, whole bool) {
	limit := int64(pinLimit)
	if strings.HasSuffix(f.Path, ".json") {
		limit *= 16 // the file is not compressed
	}
	if f.Size > limit || strings.HasSuffix(f.Path, "trace") {
		return nil, true
	}
	traces, err := read.ReadFile(ctx, f, read.Options{})
	if err != nil {
		return nil, true
	}
	lost := func(n trace.Note) bool { return n.Severity() == trace.Loss }
	return traces, !slices.ContainsFunc(traces, func(t *trace.Trace) bool { return slices.ContainsFunc(t.Notes, lost) })
}

// mainRows returns the rows to pin. In a merged file, a process is identified by the rank label at the beginning of the
// pid. In any other file, it is identified by the pid.
func mainRows(traces []*trace.Trace) []open.Row {
	var rows []open.Row
	for _, t := range traces {
		if tr := mainTrack(t); tr != nil {
			rank, _, _ := strings.Cut(strings.TrimPrefix(tr.PID, "["), "]")
			rows = append(rows, open.Row{Rank: rank, Thread: tr.Name})
		}
	}
	return rows
}

// mainTrack returns the busiest stream of a trace, or nil if the trace has no stream. The returned track has the name
// of the stream's row in Perfetto.
func mainTrack(t *trace.Trace) *trace.Track {
	busy := make([]int64, len(t.Tracks))
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat.OnGPU() {
			busy[s.Track] += s.Dur
		}
	}
	if len(busy) == 0 || slices.Max(busy) == 0 {
		return nil
	}
	tr := t.Tracks[slices.Index(busy, slices.Max(busy))]
	tr.Name = cmp.Or(tr.Name, fmt.Sprintf("stream %d", tr.Stream))
	return &tr
}

// found returns the findings of the traces of one file.
func found(traces []*trace.Trace) []open.Note {
	if len(traces) == 0 {
		return nil
	}
	r, err := explain.Analyze(traces, explain.Options{})
	if err != nil {
		return nil // the trace opens without flags
	}
	return flags(r, traces[0].Source.BaseNS) // the times of all ranks in one file count from the same base
}

// flags returns the findings that have a time, the most important first. The times of the file count from base.
func flags(r *result.Report, base int64) []open.Note {
	zero := r.Source.StartNS - base
	var notes []open.Note
	for _, f := range r.Findings {
		if f.At.Known() && len(f.Ranks) > 0 && len(notes) < maxFlags {
			notes = append(notes, open.Note{TS: zero + f.At.Start, Text: report.Words(f.Title)})
		}
	}
	return notes
}

// browse opens an address in the user's browser: $BROWSER, or the system's default.
func browse(address string) error {
	var tries [][]string
	if own := os.Getenv("BROWSER"); own != "" {
		tries = append(tries, []string{own})
	}
	switch runtime.GOOS {
	case "darwin":
		tries = append(tries, []string{"open"})
	case "windows":
		tries = append(tries, []string{"rundll32", "url.dll,FileProtocolHandler"})
	default:
		tries = append(tries, []string{"xdg-open"})
	}
	var errs []error
	for _, args := range tries {
		// The command is not bound to ctx, because the browser must keep running after the hand-over.
		cmd := exec.Command(args[0], append(args[1:], address)...)
		err := cmd.Start()
		if err == nil {
			return cmd.Process.Release()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
