package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/view"
	"github.com/stepscope/stepscope/internal/watch"
)

// watched returns the verdicts that a watch gave when it captured the windows of a run. The verdicts also take into
// account the load, which no window shows.
func watched(run *runs.Run) (verdicts []watch.Event, err error) {
	f, err := atomicfile.Open(run.Path(watchEvents))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for d := json.NewDecoder(f); ; {
		var e watch.Event
		if err := d.Decode(&e); err != nil { // the end of the log, or a truncated event
			return verdicts, nil
		}
		if e.Kind == watch.KindVerdict && e.Verdict != nil {
			verdicts = append(verdicts, e)
		}
	}
}

// watchSays is the beginning of a verdict in words.
func watchSays(e *watch.Event) string {
	return fmt.Sprintf("watch on %s at %s: ", e.Capture, e.At.Local().Format("15:04:05"))
}

// sayWatched writes the verdicts of a watch to w.
func sayWatched(w io.Writer, run *runs.Run) error {
	verdicts, err := watched(run)
	for i := range verdicts {
		fmt.Fprintln(w, watchSays(&verdicts[i])+verdicts[i].Verdict.Says)
	}
	if len(verdicts) > 0 {
		fmt.Fprintln(w)
	}
	return err
}

// viewWatched returns the verdicts of a watch for the viewer: those on the named capture, or on all captures if it has
// none of that name.
func viewWatched(run *runs.Run, capture string) []view.Watched {
	verdicts, err := watched(run)
	if err != nil {
		return []view.Watched{{Says: fmt.Sprintf("The verdict of the watch cannot be read: %v", err)}}
	}
	var all, named []view.Watched
	for i := range verdicts {
		e := &verdicts[i]
		w := view.Watched{Says: columns.Clean(watchSays(e) + e.Verdict.Says)}
		for _, line := range e.Verdict.Lines()[1:] {
			w.More = append(w.More, columns.Clean(line))
		}
		if all = append(all, w); e.Capture == capture {
			named = append(named, w)
		}
	}
	if len(named) > 0 {
		return named
	}
	return all
}
