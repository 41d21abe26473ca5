package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// testdata are the captures that the tests read.
const testdata = "../../testdata/traces"

// session connects a client to a server with the given roots.
func session(t *testing.T, o Options) *mcp.ClientSession {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	near, far := mcp.NewInMemoryTransports()
	if _, err := s.sdk.Connect(t.Context(), near, nil); err != nil {
		t.Fatal(err)
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// call calls a tool and returns the text and the facts. An error of the tool is an error here.
func call(t *testing.T, c *mcp.ClientSession, name string, args map[string]any) (text, facts string, err error) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return "", "", err
	}
	for _, part := range r.Content {
		text += part.(*mcp.TextContent).Text
	}
	if r.StructuredContent != nil {
		b, _ := json.Marshal(r.StructuredContent)
		facts = string(b)
	}
	if r.IsError {
		return "", "", errors.New(text)
	}
	return text, facts, nil
}

// TestAnswers calls each tool on a capture with a late rank.
func TestAnswers(t *testing.T) {
	c := session(t, Options{Roots: []string{testdata}})
	for _, x := range []struct {
		tool string
		args map[string]any
		has  []string
	}{
		{"overview", map[string]any{"run": "compute_skew"}, []string{"TP02", "straggler-tp02", "extra"}},
		{"finding", map[string]any{"run": "compute_skew", "id": "straggler-tp02-work-7"}, []string{"TP02", "201"}},
		{"steps", map[string]any{"run": "compute_skew", "kind": "decode", "limit": 3}, []string{"step[DECODE bs=16]", "omitted: 9 rows"}},
		{"steps", map[string]any{"run": "compute_skew", "from": 7, "to": 7, "rank": "TP02"}, []string{"7 | decode"}},
		{"kernels", map[string]any{"run": "compute_skew", "name": "allreduce"}, []string{"AllReduce", "communication"}},
		{"timeline", map[string]any{"run": "compute_skew", "rank": "TP02", "step": 8}, []string{"stream 7", "nvjet"}},
		{"timeline", map[string]any{"run": "compute_skew", "rank": "TP02", "from_ms": 185, "to_ms": 186, "on": "host"}, []string{"aten::"}},
		{"collectives", map[string]any{"run": "compute_skew"}, []string{"TP02 | 14 | 123 | 168", "8 | decode | TP02"}},
		{"collectives", map[string]any{"run": "compute_skew", "step": 8}, []string{"201"}},
		{"whatif", map[string]any{"run": "compute_skew", "change": []string{"TP02.work=peers"}}, []string{"decode"}},
		{"check", map[string]any{"path": "compute_skew"}, []string{"4 files", "complete"}},
		{"compare", map[string]any{"a": "balanced", "b": "compute_skew"}, []string{"Verdict"}},
		{"explain", map[string]any{"word": "exposed_wait"}, []string{"##"}},
	} {
		text, facts, err := call(t, c, x.tool, x.args)
		if err != nil {
			t.Errorf("%s %v: %v", x.tool, x.args, err)
			continue
		}
		for _, has := range x.has {
			if !strings.Contains(text, has) {
				t.Errorf("%s %v has no %q:\n%s", x.tool, x.args, has, text)
			}
		}
		if len(text)+len(facts) > 8000 {
			t.Errorf("%s %v: %d bytes of text and %d of facts", x.tool, x.args, len(text), len(facts))
		}
	}
}

// TestWrong holds the errors of wrong arguments: one line that says what to give.
func TestWrong(t *testing.T) {
	c := session(t, Options{Roots: []string{testdata}, RunDir: t.TempDir()})
	for _, x := range []struct {
		tool string
		args map[string]any
		has  string
	}{
		{"overview", map[string]any{"run": "nothing"}, "below the roots"},
		{"overview", map[string]any{"run": "../../go.mod"}, "below the roots"},
		{"overview", map[string]any{"run": "/etc/passwd"}, "below the roots"},
		{"overview", map[string]any{"run": ""}, "run is empty"},
		{"overview", map[string]any{"run": "last"}, "there are none yet"},
		{"overview", map[string]any{"run": "compute_skew", "depth": 3}, "depth"},
		{"finding", map[string]any{"run": "compute_skew", "id": "nothing"}, "straggler-tp02"},
		{"steps", map[string]any{"run": "compute_skew", "rank": "TP09"}, "TP00, TP01, TP02, TP03"},
		{"steps", map[string]any{"run": "compute_skew", "sort": "name"}, "step, time, wait or idle"},
		{"timeline", map[string]any{"run": "compute_skew", "rank": "TP00"}, "give a step"},
		{"timeline", map[string]any{"run": "compute_skew", "rank": "TP00", "step": 99}, "0 to 13"},
		{"timeline", map[string]any{"run": "compute_skew", "rank": "TP00", "from_ms": 5, "to_ms": 4}, "from_ms"},
		{"collectives", map[string]any{"run": "compute_skew", "step": 99}, "0 to 13"},
		{"whatif", map[string]any{"run": "compute_skew", "change": []string{"TP02.magic=0"}}, "magic"},
		{"compare", map[string]any{"a": "compute_skew", "b": "compute_skew", "limits": "fast"}, "limits"},
		{"requests", map[string]any{"run": "compute_skew"}, "no requests of a load"},
		{"explain", map[string]any{"word": "zyzzyva"}, "does not use the word"},
	} {
		_, _, err := call(t, c, x.tool, x.args)
		if err == nil || !strings.Contains(err.Error(), x.has) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 2*mostName {
			t.Errorf("%s %v: %v", x.tool, x.args, err)
		}
	}
}

// TestRoots: links and absolute paths lead nowhere outside the roots.
func TestRoots(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	copyCapture(t, outside, "out")
	copyCapture(t, root, "in")
	for from, to := range map[string]string{"dir": filepath.Join(outside, "out"), "in/rank9.trace.json.zst": filepath.Join(outside, "out", "1763750000.balanced-TP-0.trace.json.zst")} {
		if err := os.Symlink(to, filepath.Join(root, from)); err != nil {
			t.Skip(err)
		}
	}
	copyCapture(t, root, "beside")
	if err := os.Symlink(filepath.Join(outside, "secret.json"), filepath.Join(root, "beside", "model_config.json")); err != nil {
		t.Fatal(err)
	}
	trace := "1763750000.balanced-TP-0.trace.json.zst"
	copyCapture(t, root, "whole")
	runDir := t.TempDir()
	for _, dir := range []string{filepath.Join(runDir, "good"), filepath.Join(runDir, "bad"), filepath.Join(outside, "disk"), filepath.Join(outside, "hidden")} {
		copyCapture(t, dir, "traces")
		manifest := `{"format":1,"kind":"profile","tool":"profile","status":"complete","created":"2026-01-01T00:00:00Z","files":[{"path":"traces/` + trace + `","kind":"trace"}]}`
		if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(manifest), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	bad := filepath.Join(runDir, "bad", "traces", trace)
	if err := errors.Join(os.Remove(bad), os.Symlink(filepath.Join(outside, "out", trace), bad), os.Symlink(filepath.Join(outside, "disk"), filepath.Join(runDir, "disk"))); err != nil {
		t.Fatal(err)
	}
	c := session(t, Options{Roots: []string{root}, RunDir: runDir})
	t.Chdir(outside) // "hidden" is a run there
	for ref, ok := range map[string]bool{
		"whole": true, filepath.Join(root, "whole"): true, "./whole/": true,
		"whole/" + trace: true, "beside/" + trace: false,
		"good": true, "disk": true, "bad": false, "hidden": false,
		"dir": false, "in": false, filepath.Join(outside, "out"): false, "whole/../../out": false,
	} {
		if _, _, err := call(t, c, "overview", map[string]any{"run": ref}); (err == nil) != ok {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if _, err := New(Options{Roots: []string{filepath.Join(root, "absent")}}); err == nil {
		t.Error("a root that does not exist is accepted")
	}
}

// copyCapture copies a capture of testdata into a directory.
func copyCapture(t *testing.T, to, name string) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(to, name), os.DirFS(filepath.Join(testdata, "balanced"))); err != nil {
		t.Fatal(err)
	}
}

// TestTools holds what each tool declares: it only reads, in few words, with a schema that strict clients accept.
func TestTools(t *testing.T) {
	c := session(t, Options{Roots: []string{testdata}})
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	size := 0
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		a := tool.Annotations
		if a == nil || !a.ReadOnlyHint || !a.IdempotentHint || *a.OpenWorldHint || *a.DestructiveHint {
			t.Errorf("%s: %+v", tool.Name, a)
		}
		if len(tool.Description) > 200 {
			t.Errorf("%s: a description of %d bytes", tool.Name, len(tool.Description))
		}
		text, _ := json.Marshal(tool)
		if size += len(text); strings.Contains(string(text), `"null"`) {
			t.Errorf("%s: %s", tool.Name, text)
		}
	}
	want := []string{"check", "collectives", "compare", "explain", "finding", "kernels", "list_runs", "overview", "requests", "steps", "timeline", "whatif"}
	if slices.Sort(names); !slices.Equal(names, want) || size > 10_000 {
		t.Errorf("%v in %d bytes", names, size)
	}
}

// TestCancelled: a cancelled call ends, and the next one gets the analysis.
func TestCancelled(t *testing.T) {
	s, err := New(Options{Roots: []string{testdata}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.overview(ctx, ofRun{Run: "compute_skew"}); err == nil {
		t.Error("a cancelled call has an answer")
	}
	if _, err := s.overview(t.Context(), ofRun{Run: "compute_skew"}); err != nil {
		t.Error(err)
	}
}

// TestBounded: a call that cannot be interrupted ends when it is cancelled and holds its place until its work ends; one
// that fails leaves the server running.
func TestBounded(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	hold, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := bounded(ctx, s, true, func(context.Context) (int, error) { cancel(); <-hold; return 1, nil })
		ended <- err
	}()
	if err := <-ended; !errors.Is(err, context.Canceled) || len(s.work) != 1 {
		t.Errorf("%v, %d calls run", err, len(s.work))
	}
	close(hold)
	if _, err := bounded(t.Context(), s, true, func(context.Context) (int, error) { panic("a\x1b[2Jtrace") }); err == nil || !strings.Contains(err.Error(), "report it") || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a failed call: %v", err)
	}
}

// TestStamp: a changed file, a file added beside a trace, and a change behind a link are seen.
func TestStamp(t *testing.T) {
	dir := t.TempDir()
	copyCapture(t, dir, "in")
	link := filepath.Join(dir, "link")
	if err := os.Symlink("in", link); err != nil {
		t.Skip(err)
	}
	file := filepath.Join(dir, "in", "1763750000.balanced-TP-0.trace.json.zst")
	before := []string{stamp(file), stamp(link)}
	name := filepath.Join(dir, "in", "model_config.json")
	if err := os.WriteFile(name, []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Dir(name), time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for i, after := range []string{stamp(file), stamp(link)} {
		if after == before[i] {
			t.Errorf("change %d is not seen", i)
		}
	}
}

// TestStore: values beyond the limit of the memory are dropped, the least recently used first.
func TestStore(t *testing.T) {
	s, made := newStore(25), map[string]int{}
	get := func(key string) {
		if _, err := s.get(t.Context(), key, func() (any, int64, error) { made[key]++; return key, 10, nil }); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range strings.Fields("a b a c a b") {
		get(key)
	}
	if made["a"] != 1 || made["b"] != 2 || made["c"] != 1 || s.size > 25 {
		t.Errorf("%v, %d bytes", made, s.size)
	}
}

// TestClean: names of strangers become one short line.
func TestClean(t *testing.T) {
	for _, name := range []string{strings.Repeat("ä", 5000), "a\x1b[2J\nb\x00c", "\xff\xfe", strings.Repeat("x", 20_000) + "\r\n"} {
		got := clean(name)
		if len(got) > mostName || strings.ContainsFunc(got, unicode.IsControl) || got == "" {
			t.Errorf("%q", got)
		}
	}
}
