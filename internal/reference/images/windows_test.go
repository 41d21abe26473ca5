package images_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/diffusion"
	"github.com/stepscope/stepscope/internal/reference/images"
)

const three = `{"prompt":"x","size":"32x32","num_inference_steps":3}`

// TestWindow checks a window over several requests, and its files over HTTP.
func TestWindow(t *testing.T) {
	p, info := tiny(t, 2)
	r := newRig(t, p, info, images.Options{})
	dir := t.TempDir()
	call := func(what, body string, status int, want string) string {
		t.Helper()
		got, text := r.call(what, body)
		if got != status || !strings.Contains(text, want) {
			t.Errorf("%s %s: %d %s; want %d %s", what, body, got, text, status, want)
		}
		return text
	}
	files := func() wire.ProfileWindow {
		t.Helper()
		var list wire.ProfileFiles
		if err := json.Unmarshal([]byte(call("GET /profile_files", "", 200, "")), &list); err != nil || len(list.Windows) == 0 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list.Windows[0]
	}
	start := func(id, rest string) string {
		return fmt.Sprintf(`{"output_dir":%q,"profile_id":%q%s}`, dir, id, rest)
	}
	call("HEAD /start_profile", "", 405, "")
	call("POST /stop_profile", "", 409, "Profiling is not in progress")
	call("POST /start_profile", start("one", ""), 200, wire.ProfileStarted)
	call("POST /start_profile", start("two", ""), 409, "Profiling is already in progress")
	if w := files(); !w.Open || w.ID != "one" {
		t.Errorf("%+v", w)
	}
	r.generate(three)
	call(generations, `{"prompt":"x","profile":true}`, 409, "Profiling is already in progress")
	r.generate(three)
	call("GET /server_info", "", 200, `"forward_ct":6`)
	call("POST /stop_profile", "{}", 200, wire.ProfileStopped)
	w := files()
	if w.Open || len(w.Files) != 2 || w.Files[0].Name != "one-TP-0.trace.json.gz" || w.Files[1].Name != "one-TP-1.trace.json.gz" {
		t.Errorf("%+v", w)
	}
	if text := call("GET /profile_files/one/one-TP-1.trace.json.gz", "", 200, ""); int64(len(text)) != w.Files[1].Size {
		t.Errorf("%d bytes of %d", len(text), w.Files[1].Size)
	}

	// A window with a number of steps ends by itself.
	call("POST /start_profile", start("three", `,"num_steps":"2","activities":["GPU"],"profile_prefix":"p"`), 200, wire.ProfileStarted)
	r.generate(three)
	if status, text := r.call("POST /stop_profile", ""); status != 200 && status != 409 { // it may still be being written
		t.Errorf("%d %s", status, text)
	}
	if w := files(); w.Open || len(w.Files) != 2 || w.Files[0].Name != "p-three-TP-0.trace.json.gz" {
		t.Errorf("%+v", w)
	}

	// A window without requests leaves nothing, and a window open at shutdown is not lost.
	call("POST /start_profile", start("four", ""), 200, wire.ProfileStarted)
	call("POST /end_profile", "", 200, wire.ProfileStopped)
	if w := files(); w.Open || len(w.Files) != 0 {
		t.Errorf("%+v", w)
	}
	for body, want := range map[string]string{
		`,"profile_by_stage":true,"num_steps":1`: "no prefill or decode",
		`,"start_step":7`:                        "start with the next step",
		`,"merge_profiles":true`:                 "stepscope trace merge",
		`,"activities":["CPU","MEM"]`:            "records only CPU and GPU",
		`,"profile_prefix":"a/b"`:                "cannot be part of a file name",
	} {
		call("POST /start_profile", start("five", body), 400, want)
	}
	call("POST /start_profile", `{"output_dir":"/dev/null/x"}`, 400, "output_dir: nothing can be written there")
	call("POST /start_profile", start("six", ""), 200, wire.ProfileStarted)
	r.generate(three)
	r.stop()
	if err := <-r.over; err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "six-TP-?.trace.json.gz")); err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestWindowKeys checks that windows need the admin key.
func TestWindowKeys(t *testing.T) {
	p, info := tiny(t, 1)
	r := newRig(t, p, info, images.Options{APIKey: "k", AdminAPIKey: "admin"})
	for key, want := range map[string]int{"": 401, "k": 401, "admin": 409} {
		if status, text := r.call("POST /stop_profile", "", "Authorization", "Bearer "+key); status != want {
			t.Errorf("key %q: %d %s; want %d", key, status, text, want)
		}
	}
}

// torn is an engine with one trace that cannot be written and another that is incomplete.
type torn struct{ images.Engine }

func (torn) WriteSpan(*diffusion.Span, func(engine.Rank) string) (paths, notes []string, err error) {
	return []string{"one-TP-0.trace.json.gz"}, []string{"rank 0: 7 records did not fit"}, errors.New("rank 1:\nno space left")
}

// TestWindowTorn checks that a client that stops a window learns of missing files, and that the log reports the losses
// of the others.
func TestWindowTorn(t *testing.T) {
	p, info := tiny(t, 1)
	lines := make(chan string, 10)
	r := newRig(t, torn{p}, info, images.Options{Line: func(text string) { lines <- text }})
	dir := t.TempDir()
	if status, text := r.call("POST /start_profile", fmt.Sprintf(`{"output_dir":%q}`, dir)); status != 200 {
		t.Fatal(status, text)
	}
	if status, text := r.call("POST /stop_profile", ""); status != 500 || text != "rank 1: no space left\n" {
		t.Errorf("%d %s", status, text)
	}
	want := "Profiling done. Traces are saved to: " + dir + " rank 0: 7 records did not fit; rank 1: no space left"
	if line := <-lines; line != want {
		t.Errorf("logged %q; want %q", line, want)
	}
}
