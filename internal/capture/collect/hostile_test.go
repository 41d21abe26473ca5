package collect

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/api/wire"
)

// window serves one window with these files; file answers requests for each.
func window(t *testing.T, files []wire.ProfileFile, file http.HandlerFunc) *HTTP {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/profile_files", func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(wire.ProfileFiles{Windows: []wire.ProfileWindow{{ID: "w", Dir: "/there", Files: files}}})
	})
	mux.HandleFunc("/profile_files/{id}/{name}", file)
	hs := httptest.NewServer(mux)
	t.Cleanup(hs.Close)
	return &HTTP{Server: &client.Server{URL: hs.URL}, Dir: "/there"}
}

// TestHTTPHostile checks that a download ends with a one-line error, whatever the server reports and sends, and leaves
// neither a partial file nor files elsewhere.
func TestHTTPHostile(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}
	length := func(n string, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", n)
			io.WriteString(w, body)
		}
	}
	const name = "w-TP-0.trace.json.gz"
	for _, c := range []struct {
		what string
		size int64
		file http.HandlerFunc
		want string
	}{
		{"an endless body without a length", 10, endless, "does not send the rest after byte 0"},
		{"a length with an endless body", 10, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(int64(1)<<60))
			endless(w, r)
		}, "sends 1152921504606846976 bytes but listed 10"},
		{"the same size in the list", 1 << 60, endless, "has 1152921504606846976 bytes there, so it is not a trace"},
		{"a negative size", -1, endless, "has -1 bytes there"},
		{"more than listed", 1, length("2", "ab"), "sends 2 bytes but listed 1"},
		{"less than listed", 3, length("2", "ab"), "sends 2 bytes but listed 3"},
		{"less than announced", 5, length("5", "ab"), "does not send the rest after byte 2"},
		{"nothing", 5, length("5", ""), "unexpected EOF"},
		{"another file after the interruption", 5, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") != "" {
				w.WriteHeader(http.StatusPartialContent)
				io.WriteString(w, "much more than was asked for")
				return
			}
			length("5", "ab")(w, r)
		}, "bytes but listed 5"},
		{"an error with a text for terminals", 5, func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, strings.Repeat("\x1b[2J\n", 1<<20), http.StatusTeapot)
		}, "418"},
	} {
		t.Run(c.what, func(t *testing.T) {
			h := window(t, []wire.ProfileFile{{Name: name, Size: c.size}}, c.file)
			if _, err := h.List(t.Context()); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			err := h.Bring(t.Context(), name, filepath.Join(dir, name), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 4096 {
				t.Errorf("error %.4096v, want %q", err, c.want)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestHTTPNames checks that only files with plain names are downloaded, and that existing files are not replaced.
func TestHTTPNames(t *testing.T) {
	var files []wire.ProfileFile
	for _, name := range []string{"../up.trace.json", "/etc/x.trace.json", "a/../../up.trace.json", `..\up.trace.json`, "..", ".hidden.trace.json", "", "-o.trace.json", "a\nb.trace.json", "\u202egz.trace.json", strings.Repeat("a", 300) + ".trace.json", "x\x00.trace.json"} {
		files = append(files, wire.ProfileFile{Name: name, Size: 2})
	}
	h := window(t, append(files, wire.ProfileFile{Name: "good.trace.json", Size: 2}), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "2")
		io.WriteString(w, "{}")
	})
	list, err := h.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "good.trace.json" || h.Unfit() != len(files) {
		t.Fatalf("%v, %d unfit, error %v", list, h.Unfit(), err)
	}
	dir := t.TempDir()
	for _, f := range files { // called without the list
		if err := h.Bring(t.Context(), f.Name, filepath.Join(dir, "x"), nil); err == nil {
			t.Errorf("%q was downloaded", f.Name)
		}
	}
	to := filepath.Join(dir, list[0].Name)
	if err := os.WriteFile(to, []byte("the user's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.Bring(t.Context(), list[0].Name, to, nil); err == nil || !strings.Contains(err.Error(), "already exists and is another file") {
		t.Errorf("error %v", err)
	}
	if text, _ := os.ReadFile(to); string(text) != "the user's" {
		t.Errorf("it is now %q", text)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// TestHTTPLists checks that an endless list, or one with too many files, is an error.
func TestHTTPLists(t *testing.T) {
	many := make([]wire.ProfileFile, mostFiles+1)
	for i := range many {
		many[i].Name = fmt.Sprintf("w-TP-%d.trace.json", i)
	}
	h := window(t, many, http.NotFound)
	if _, err := h.List(t.Context()); err == nil || !strings.Contains(err.Error(), "lists 65537 files") {
		t.Errorf("error %v", err)
	}

	end := make(chan struct{})
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"windows": [`)
		w.(http.Flusher).Flush()
		<-end
	}))
	defer hs.Close()
	defer close(end)
	h = &HTTP{Server: &client.Server{URL: hs.URL}, Patience: 20 * time.Millisecond}
	if _, err := h.List(t.Context()); err == nil {
		t.Error("an endless list is accepted")
	}
}

// TestWholeBomb checks that a small file that inflates to a large one is read in the memory of a few blocks.
func TestWholeBomb(t *testing.T) {
	var text bytes.Buffer
	z, _ := gzip.NewWriterLevel(&text, gzip.BestSpeed)
	zeros := make([]byte, 1<<20)
	for range 256 {
		z.Write(zeros)
	}
	z.Close()
	path := filepath.Join(t.TempDir(), "w-TP-0.trace.json.gz")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := Whole(t.Context(), path); !errors.Is(err, ErrPartial) {
		t.Errorf("error %v", err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
		t.Errorf("%d bytes were allocated for a file of %d", n, text.Len())
	}
}
