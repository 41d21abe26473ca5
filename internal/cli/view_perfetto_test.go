package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
	"github.com/stepscope/stepscope/internal/view"
)

// handed is what a hand-over page tells its script.
type handed struct{ Link, Title, FileName string }

func handedBy(t *testing.T, page string) (h handed) {
	t.Helper()
	setup := regexp.MustCompile(`data-setup="([^"]*)"`).FindStringSubmatch(page)
	if setup == nil {
		t.Fatalf("the page hands nothing over: %.300s", page)
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(setup[1])), &h); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestHandover: whoever goes away, what is handed over is made once; a failure is tried again; the end stops the work and
// removes what was made.
func TestHandover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries, removed, goOn := 0, 0, make(chan error)
		how := func(ctx context.Context) (http.Handler, func(), error) {
			tries++
			select {
			case err := <-goOn:
				return http.NotFoundHandler(), func() { removed++ }, err
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
		}
		h := newHandover(t.Context(), how)
		asked := make(chan error)
		ask := func(ctx context.Context) {
			_, err := h.Handler(ctx)
			asked <- err
		}
		gone, leave := context.WithCancel(t.Context())
		go ask(gone)
		synctest.Wait()
		leave()
		if err := <-asked; !errors.Is(err, context.Canceled) {
			t.Errorf("who has gone is told %v", err)
		}
		go ask(t.Context())
		synctest.Wait()
		failed := errors.New("no space left")
		goOn <- failed
		if err := <-asked; err != failed || tries != 1 {
			t.Errorf("of try %d who comes to it is told %v", tries, err)
		}
		go ask(t.Context())
		go ask(t.Context())
		goOn <- nil
		for range 2 {
			if err := <-asked; err != nil {
				t.Errorf("after a failure: %v", err)
			}
		}
		if h.Close(); tries != 2 || removed != 1 {
			t.Errorf("%d tries, %d removed", tries, removed)
		}
		if _, err := h.Handler(t.Context()); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v", err)
		}

		h = newHandover(t.Context(), how)
		go ask(t.Context())
		synctest.Wait()
		h.Close()
		if err := <-asked; !errors.Is(err, context.Canceled) {
			t.Errorf("the end in the middle: %v", err)
		}
	})
}

// TestHandoverLeavesNothing: of a hand-over that fails nothing is left, also where all was merged.
func TestHandoverLeavesNothing(t *testing.T) {
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	in := inputFlags{Paths: []string{filepath.Join("..", "..", "testdata", "traces", "compute_skew")}}
	e := newEnv(strings.NewReader(""), io.Discard, io.Discard)
	if _, _, err := toPerfetto(t.Context(), e, &view.Capture{Report: &result.Report{}}, in, "nowhere", slog.New(slog.DiscardHandler)); err == nil {
		t.Error("it was handed to nowhere")
	}
	if left := glob(t, scratch, "*"); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

// TestViewPerfetto: the viewer hands over what "trace open" does, with the same rows pinned and the same findings flagged,
// of several ranks and of a file of one; a click on its link is all that it takes.
func TestViewPerfetto(t *testing.T) {
	t.Parallel()
	skew, err := filepath.Abs(filepath.Join("..", "..", "testdata", "traces", "compute_skew"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(skew, "*TP-2*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	stand, err := os.ReadFile(filepath.Join("..", "tracefile", "open", "testdata", "perfetto.html"))
	if err != nil {
		t.Fatal(err)
	}
	posts := make(chan string, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { w.Write(stand) })
	mux.HandleFunc("GET /slow.js", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /received", func(_ http.ResponseWriter, r *http.Request) {
		var got struct{ SHA256 string }
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Errorf("report of the stand-in: %v", err)
		}
		posts <- got.SHA256
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	defer server.CloseClientConnections()
	ui := strings.Replace(server.URL, "127.0.0.1", "localhost", 1) // Perfetto is another site

	for _, path := range []string{skew, files[0]} {
		o := startOpen(t, &openCmd{inputFlags: inputFlags{Paths: []string{path}}, UI: ui})
		want, trace := handedBy(t, string(get(t, o.address))), get(t, o.address+"trace")
		if status := o.done(t); status != exitOK {
			t.Fatalf("trace open ends with %d: %s", status, o.stderr)
		}
		want.Title = filepath.Base(skew) // it names the file

		address, errs, end := viewing(t, path, "--ui", ui, "--run-dir", t.TempDir())
		got := handedBy(t, string(get(t, address+"perfetto/0/")))
		if got.Title = want.Title; got != want {
			t.Errorf("%s: the viewer hands over\n%+v\ntrace open\n%+v", path, got, want)
		}
		if !strings.Contains(got.Link, "PinTracksByRegex") {
			t.Errorf("nothing is pinned: %s", got.Link)
		}
		if data := get(t, address+"perfetto/0/trace"); string(data) != string(trace) {
			t.Errorf("%s: the viewer's trace has %d bytes, that of trace open %d", path, len(data), len(trace))
		}
		if res, err := http.Get(address + "perfetto/none/"); err != nil || res.StatusCode != http.StatusNotFound {
			t.Errorf("a capture that there is not: %v %v", res, err)
		} else {
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		if path == skew {
			tab := browsertest.Open(t, address, "--disable-popup-blocking")
			tab.Wait(`document.querySelector(".perfetto")?.checkVisibility()`)
			tab.Eval(`document.querySelector(".perfetto").click()`, true)
			sum := sha256.Sum256(trace)
			select {
			case got := <-posts:
				if got != hex.EncodeToString(sum[:]) {
					t.Error("Perfetto was given something else")
				}
			case <-time.After(time.Minute):
				t.Error("nothing reached Perfetto within a minute")
			}
		}
		if status := end(); status == exitFailed || status == exitUsage {
			t.Errorf("view ended with %d: %s", status, errs)
		}
	}
	exits := func(status int, says string, args ...string) {
		t.Helper()
		if got, _, errs := run(t, t.Context(), args...); got != status || !strings.Contains(errs, says) {
			t.Errorf("%q: status %d: %s", args, got, errs)
		}
	}
	exits(exitUsage, `--ui "nowhere": give an address such as https://ui.perfetto.dev`, "view", skew, "--ui", "nowhere")
}
