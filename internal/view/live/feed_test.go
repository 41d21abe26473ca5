package live

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
)

// TestFeed: what somebody else tells of servers and of what was found there reaches pages, also those that come later,
// and is bounded.
func TestFeed(t *testing.T) {
	l := New(Options{Watched: 2 * time.Second})
	page, first := l.enter()
	if !first.Watched || first.Records || first.Every != 2000 || len(first.Servers) != 0 || first.Marks == nil {
		t.Errorf("%+v", first)
	}
	flow := signals.Flow{DP: 1, Running: 3, Queued: 1, Tokens: 50, Prefill: signals.Unknown, Usage: 0.5}
	now := &signals.Live{Ranks: []signals.Flow{flow}, Tokens: 50}
	l.Sees("a\x1b[31m", time.UnixMilli(1000), now, nil)
	if e := <-page; e.name != "hello" || len(e.data.(*hello).Servers) != 1 || strings.Contains(e.data.(*hello).Servers[0].Name, "\x1b") {
		t.Errorf("%+v", e)
	}
	if got, want := shown(t, <-page), `{"server":0,"at_ms":0,"error":"","restarted":false,"ranks":[{"dp":1,"running":3,"queued":1,"tokens":50,"prefill":null,"usage":0.5}],"tokens":50,"ttft":null,"itl":null}`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	l.Sees("a\x1b[31m", time.UnixMilli(2000), nil, errors.New("no answer"))
	if got := shown(t, <-page); !strings.Contains(got, `"error":"no answer","restarted":false,"ranks":[]`) {
		t.Errorf("%s", got)
	}
	for i := range mostMarks + 5 {
		l.Marks(&Mark{Server: "a", Kind: "alarm", Text: fmt.Sprint(i)})
		if e := <-page; e.name != "mark" || e.data.(*Mark).Text != fmt.Sprint(i) {
			t.Fatalf("%+v", e)
		}
	}
	_, later := l.enter()
	if len(later.Samples) != 2 || len(later.Marks) != mostMarks || later.Marks[0].Text != "5" {
		t.Errorf("%d samples, %d marks", len(later.Samples), len(later.Marks))
	}
}
