package view

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/browsertest"
)

// held records that a hand-over was closed.
type held func()

func (held) Handler(context.Context) (http.Handler, error) { return http.NotFoundHandler(), nil }
func (h held) Close()                                      { h() }

// TestCaptures: given captures stay; the oldest opened one is released with its resources, and all of them at the end.
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
		t.Errorf("closed %q, before there are too many", closed)
	}
	get("more") // "1" is the one that was used the longest ago
	if get("given"); !slices.Equal(closed, []string{"1"}) {
		t.Errorf("closed are %q", closed)
	}
	s.close()
	if slices.Sort(closed); !slices.Equal(closed, []string{"0", "1", "2", "given", "more"}) {
		t.Errorf("closed at the end: %q", closed)
	}
}

// TestOvertaken: an outdated answer or failure does not change the view.
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
		t.Error("a failure replaced a view that it did not belong to")
	}
}
