package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/watch"
)

// watched writes to w the verdicts that a watch gave when it captured the windows of a run. The verdicts also take into
// account the load, which no window shows.
func watched(w io.Writer, run *runs.Run) error {
	f, err := atomicfile.Open(run.Path(watchEvents))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	said := false
	for d := json.NewDecoder(f); ; {
		var e watch.Event
		if err := d.Decode(&e); err != nil { // the end of the log, or a truncated event
			break
		}
		if e.Kind == watch.KindVerdict && e.Verdict != nil {
			fmt.Fprintf(w, "watch on %s at %s: %s\n", e.Capture, e.At.Local().Format("15:04:05"), e.Verdict.Says)
			said = true
		}
	}
	if said {
		fmt.Fprintln(w)
	}
	return nil
}
