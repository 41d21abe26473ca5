package check

import (
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// Steps finds the forward passes of one file from its events, by the rules of
// the analysis, so that a step has one number everywhere. Their times are as in
// the file: its base is not added. The zero value is ready.
type Steps struct{ trace.Cutter }

// Event looks at one event; only annotations matter.
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
