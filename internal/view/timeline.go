package view

import (
	"errors"
	"net/http"

	"github.com/stepscope/stepscope/internal/view/timeline"
)

// timelines answers a request for data of a capture's timeline.
func timelines(c *Capture, r *http.Request) (any, error) {
	t, err := c.Timeline()
	if errors.Is(err, timeline.ErrNoTraces) {
		return nil, errStatus{http.StatusNotFound, err}
	}
	if err != nil {
		return nil, err
	}
	answer, err := t.Answer(r.PathValue("what"), r.URL.Query())
	if err != nil {
		return nil, errStatus{http.StatusBadRequest, err}
	}
	return answer, nil
}
