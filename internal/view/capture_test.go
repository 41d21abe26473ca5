package view

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/base/browsertest"
	"github.com/stepscope/stepscope/internal/view/live"
)

// held notes that a hand-over was closed.
type held func()

func (held) Handler(context.Context) (http.Handler, error) { return http.NotFoundHandler(), nil }
func (h held) Close()                                      { h() }

// TestCaptures: what was given stays; of what was opened the oldest is let go, with what it holds, and all at the end.
func TestCaptures(t *testing.T) {
	var closed []string
	capture := func(id string) *Capture {
		return &Capture{ID: id, Perfetto: held(func() { closed = append(closed, id) })}
	}
	s := newCaptures([]*Capture{capture("given"), {ID: "against"}}, func(_ context.Context, id string) (*Capture, error) { return capture(id), nil })
	get := func(id string) *Capture {
		c, err := s.get(t.Context(), id)
		if err != nil || c.ID != id {
			t.Fatal(c, err)
		}
		return c
	}
	first := get("0")
	for i := 1; i < mostOpened; i++ {
		get(strconv.Itoa(i))
	}
	if get("0") != first || closed != nil {
		t.Errorf("closed are %q, before there are too many", closed)
	}
	get("more") // "1" is the one that was used the longest ago
	if get("given"); !slices.Equal(closed, []string{"1"}) {
		t.Errorf("closed are %q", closed)
	}
	s.close()
	if slices.Sort(closed); !slices.Equal(closed, []string{"0", "1", "2", "given", "more"}) {
		t.Errorf("at the end closed are %q", closed)
	}
}

// TestOvertaken: what is wanted no more when it comes, an answer or a failure, changes nothing of what is shown.
func TestOvertaken(t *testing.T) {
	asked, goOn := make(chan struct{}, 8), make(chan struct{})
	url := serve(t, Options{Given: []*Capture{captureOf(t, "compute_skew", "0")}, Open: func(_ context.Context, id string) (*Capture, error) {
		asked <- struct{}{}
		<-goOn
		return nil, bad("%s cannot be read", id)
	}})
	tab := browsertest.Open(t, url+"#tab=summary&c=slow")
	<-asked
	tab.Wait(`document.querySelector("main .wait")?.textContent.includes("slow") === true`)
	tab.Eval(`location.hash = "#tab=summary"`, false)
	tab.Wait(`document.querySelector(".summary .facts") !== null`)
	close(goOn)
	tab.Wait(`performance.getEntriesByType("resource").some((e) => e.name.includes("open=slow") && e.responseEnd > 0)`)
	tab.Wait(`document.documentElement.dataset.ready === "1"`)
	if got := tab.Eval(`String(document.querySelector(".summary .facts") !== null && document.documentElement.dataset.error === undefined)`, false); got != "true" {
		t.Error("a failure has taken the view away that it was not of")
	}
}

// TestMarks: of what a watch finds the newest stands above, and what stood there before stays as it is, so that it is not
// read out again.
func TestMarks(t *testing.T) {
	l := live.New(live.Options{Watched: time.Second})
	url := serve(t, Options{Live: l})
	tab := browsertest.Open(t, url+"#tab=live")
	tab.Wait(`document.querySelector(".marks")?.textContent === "Nothing yet."`)
	mark := func(i int) {
		l.Marks(&live.Mark{Server: "a", Kind: "note", At: int64(i), Text: fmt.Sprint("text ", i)})
	}
	above := func(text string) {
		tab.Wait(fmt.Sprintf(`document.querySelector(".marks li .text")?.textContent === %q`, text))
	}
	mark(1)
	above("text 1")
	tab.Eval(`window.__first = document.querySelector(".marks li")`, false)
	mark(2)
	above("text 2")
	if got := tab.Eval(`String(document.querySelector(".marks").lastElementChild === window.__first)`, false); got != "true" {
		t.Error("the list was written anew")
	}
	for i := 3; i <= 70; i++ {
		if mark(i); i%20 == 0 || i == 70 { // a page that lags by too many begins anew
			above(fmt.Sprint("text ", i))
		}
	}
	if got := tab.Eval(`[document.querySelectorAll(".marks li").length, document.querySelector(".marks li:last-child .text").textContent].join()`, false); got != "60,text 11" {
		t.Errorf("listed are %s", got)
	}
}
