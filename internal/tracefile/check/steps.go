package check

import (
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// Steps finds the forward passes of one file from its events. It uses the same rules as the analysis, so that a step
// has the same number in the check and in the analysis. Times are those in the file, without the file's base added. The
// zero value is ready to use.
type Steps struct{ trace.Cutter }

// Event adds one event. It ignores all events except annotations.
func (s *Steps) Event(e *chromejson.Event) {
	if e.Ph != 'X' || e.Cat.Hi-e.Cat.Lo != uint32(len(`"user_annotation"`)) || string(e.Text(e.Cat)) != "user_annotation" {
		return
	}
	start, ok := chromejson.ParseMicros(e.Text(e.TS))
	dur, ok2 := chromejson.ParseMicros(e.Text(e.Dur))
	if ok && ok2 && dur >= 0 {
		s.Add(string(chromejson.Unescape(e.Text(e.Name))), trace.Pass{Start: start, End: start + dur})
	}
}
