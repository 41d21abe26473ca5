package live

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
)

// TestFeed: external reports on servers and findings reach pages, also later ones, and are bounded.
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

// TestFeedOften: at any polling rate, a new page receives ten minutes of history and the current state, and an existing
// page everything.
func TestFeedOften(t *testing.T) {
	for _, every := range []time.Duration{50 * time.Millisecond, 400 * time.Millisecond, time.Second, 5 * time.Second} {
		l := New(Options{Watched: every})
		page, _ := l.enter()
		end := 20 * time.Minute
		for at := time.Duration(0); at <= end; at += every {
			l.Sees("a", time.UnixMilli(at.Milliseconds()), &signals.Live{}, nil)
			if at == 0 {
				<-page // a new server appears
			}
			if e := <-page; e.data.(*Sample).At != at.Milliseconds() {
				t.Fatalf("every %v: at %v the page is told of %+v", every, at, e)
			}
		}
		_, later := l.enter()
		all := later.Samples
		span := all[len(all)-1].At - all[0].At
		if last := all[len(all)-1].At; last != end.Milliseconds() || span < 598_000 || len(all) > kept {
			t.Errorf("every %v: %d samples over %d ms, the last at %d", every, len(all), span, last)
		}
	}
}
