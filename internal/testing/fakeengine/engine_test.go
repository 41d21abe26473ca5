package fakeengine_test

import (
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/testing/enginetest"
	"github.com/stepscope/stepscope/internal/testing/fakeengine"
)

func TestConformance(t *testing.T) {
	for name, o := range map[string]fakeengine.Options{"at once": {}, "paced": {Pace: 100 * time.Microsecond, MaxRunning: 2}} {
		t.Run(name, func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T) server.Engine {
				e := fakeengine.New(o)
				t.Cleanup(e.Close)
				return e
			})
		})
	}
}
