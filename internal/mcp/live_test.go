package mcp

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestLive: the tools act on the given servers alone, one at a time, within limits and with a cooldown.
func TestLive(t *testing.T) {
	var asked Load
	steps := 0
	hold, held := make(chan struct{}), make(chan struct{})
	c := session(t, Options{Roots: []string{testdata}, Live: &Live{
		URLs:  []string{"http://a", "http://b"},
		State: func(context.Context, string) (string, error) { return "running 3\x1b[2J\n", nil },
		Capture: func(_ context.Context, url string, n int) (string, error) {
			if url == "http://b" {
				return "", errors.New("no profile route")
			}
			steps = n
			return "compute_skew", nil
		},
		Bench: func(_ context.Context, _ string, l Load) (string, error) {
			asked = l
			close(held)
			<-hold
			return "", errors.New("the load ended with status 1")
		},
	}})
	expect := func(tool string, args map[string]any, has string) {
		t.Helper()
		text, _, err := call(t, c, tool, args)
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, has) || strings.Contains(text, "\x1b") {
			t.Errorf("%s %v: %s", tool, args, text)
		}
	}
	expect("server_state", map[string]any{"url": "http://a"}, "running 3")
	expect("server_state", map[string]any{}, "give one of http://a, http://b")
	expect("capture", map[string]any{"url": "http://evil"}, "give one of http://a, http://b")
	expect("capture", map[string]any{"url": "http://b"}, "no profile route")
	expect("capture", map[string]any{"url": "http://a", "steps": 5000}, "TP02")
	if steps != mostSteps {
		t.Errorf("%d steps", steps)
	}
	expect("capture", map[string]any{"url": "http://a"}, "less than a minute ago")
	done := make(chan struct{})
	go func() {
		defer close(done)
		expect("bench", map[string]any{"url": "http://a", "prompts": 100_000, "output": 1_000_000}, "status 1")
	}()
	<-held
	expect("bench", map[string]any{"url": "http://a"}, "another capture or load is running")
	close(hold)
	<-done
	if asked != (Load{Prompts: mostPrompts, Concurrency: 8, Input: 256, Output: mostTokens}) {
		t.Errorf("%+v", asked)
	}
}
