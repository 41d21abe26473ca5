package nsys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/runs"
)

// Store runs the program as a run below root. The run's directory holds the record and all reports for which no other
// destination is given. Other processes use the record to open windows. Signals to this process are passed to the
// program. Store returns the program's exit status. l.Session and l.Output may be empty.
func (l *Launch) Store(ctx context.Context, say *progress.Console, root string, about runs.About) (status int, err error) {
	about.Kind, about.Versions["nsys"] = runs.Nsys, l.Tool.Version.String()
	run, err := runs.Create(root, about, 256<<20)
	if err != nil {
		return 0, err
	}
	l.Dir = run.Path(runs.Nsys)
	short := run.ID()[strings.LastIndex(run.ID(), "-")+1:]
	if l.Session == "" {
		l.Session = plainName(l.Command[0]) + "-" + short
	}
	if l.Output == "" {
		l.Output = filepath.Join(l.Dir, plainName(l.Command[0]))
	}
	if err = os.MkdirAll(l.Dir, 0o777); err == nil {
		say.Warn("run %s: %s", run.ID(), run.Dir())
		switch { // print the user's next steps
		case l.Mode == Later && l.Delay == 0:
			say.Warn("nothing is collected until: stepscope nsys start %s --duration 5s", short)
		case l.Mode == Range:
			say.Warn("each range is a window; open one with, for example: stepscope profile --activities CUDA_PROFILER --url URL")
		}
		began := time.Now()
		status, err = l.supervised(ctx)
		if err == nil && time.Since(began) < l.Delay {
			say.Lack("there is no report: the program ended before the --delay of %v had passed", l.Delay)
		}
	}
	return status, errors.Join(err, keep(say, run, status, err))
}

// supervised runs the program and passes on the signals of this process.
func (l *Launch) supervised(ctx context.Context) (int, error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) { // SIGHUP is ignored under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	// If the reader of our output exits, the program must continue.
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	defer signal.Stop(gone)
	l.Signals = signals
	return l.Run(ctx)
}

// SessionName matches valid session names.
var SessionName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,99}$`)

var notName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// plainName returns the program's name in a form valid for sessions and files.
func plainName(program string) string {
	name := strings.Trim(notName.ReplaceAllString(filepath.Base(program), "-"), "-")
	if !SessionName.MatchString(name) {
		return "program"
	}
	return name
}

// keep adds the results of the session to the run's manifest.
func keep(say *progress.Console, run *runs.Run, ended int, cause error) error {
	dir := run.Path(runs.Nsys)
	var notes, files, reports []string
	for _, w := range Windows(dir) {
		files = append(files, fmt.Sprintf("%s/window-%d.json", runs.Nsys, w.N))
		inside, err := filepath.Rel(run.Dir(), w.Report)
		switch {
		case w.Error != "":
			say.Incomplete()
			notes = append(notes, fmt.Sprintf("window %d: %s", w.N, w.Error))
		case err == nil && filepath.IsLocal(inside):
			files, reports = append(files, filepath.ToSlash(inside)), append(reports, w.Report)
		default:
			notes, reports = append(notes, fmt.Sprintf("window %d: %s", w.N, w.Report)), append(reports, w.Report)
		}
	}
	switch {
	case len(reports) == 1:
		say.Warn("explain it with: stepscope analyze %s", runs.CommandLine(reports))
	case len(reports) > 1:
		say.Warn("explain any of the %d reports with: stepscope analyze REPORT", len(reports))
	}
	if _, err := os.Stat(filepath.Join(dir, "session.json")); err == nil {
		files = append(files, runs.Nsys+"/session.json")
	}
	var errs []error
	for _, f := range files {
		errs = append(errs, run.AddFile(runs.File{Path: f, Kind: runs.Nsys, Format: strings.TrimPrefix(filepath.Ext(f), ".")}, ""))
	}
	errs = append(errs, run.Update(func(m *runs.Manifest) {
		m.Notes = notes
		if ended != 0 {
			m.Notes = append(m.Notes, fmt.Sprintf("the program exited with %d", ended))
		}
	}))
	status := runs.Complete
	if cause != nil {
		status = runs.Failed
	}
	return errors.Join(append(errs, run.Finish(status, cause))...)
}
