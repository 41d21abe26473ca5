package open

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"flag"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/testing/browsertest"
)

var screenshots = flag.String("screenshots", "", "write pictures of the page's states to this directory")

//go:embed testdata/perfetto.html
var perfettoHTML string

// received is the data that the stand-in for Perfetto received.
type received struct {
	SHA256   string
	Bytes    int
	Title    string
	FileName string
	Origin   string
	Commands []struct {
		ID   string
		Args []string
	}
	VisStart, VisEnd string
}

// fakePerfetto serves the stand-in; its page is complete once loaded is closed.
func fakePerfetto(t *testing.T, loaded <-chan struct{}) (address string, got <-chan received) {
	t.Helper()
	posts := make(chan received, 10)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, perfettoHTML) })
	mux.HandleFunc("GET /slow.js", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-loaded:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("POST /received", func(_ http.ResponseWriter, r *http.Request) {
		var post received
		if err := json.NewDecoder(r.Body).Decode(&post); err != nil {
			t.Errorf("report of the stand-in: %v", err)
		}
		posts <- post
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	// A host name other than the page's: Perfetto is another site.
	return strings.Replace(server.URL, "127.0.0.1", "localhost", 1), posts
}

// binaryTrace writes n bytes that any text decoding would change.
func binaryTrace(t *testing.T, n int) (path, digest string) {
	t.Helper()
	data := make([]byte, n)
	rand.NewChaCha8([32]byte{7}).Read(data)
	path = filepath.Join(t.TempDir(), "merged-1763750000.trace.json.gz")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return path, hex.EncodeToString(sum[:])
}

// within fails the test after a timeout.
func within[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(time.Minute):
		t.Fatalf("%s: nothing within a minute", what)
		panic("unreachable")
	}
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// TestBrowser: with pop-ups allowed, opening the printed address hands the trace over without a click.
func TestBrowser(t *testing.T) {
	file, digest := binaryTrace(t, 5<<20+3)
	ui, got := fakePerfetto(t, closed())
	commands := PinRows([]Row{{Rank: "[TP00]"}, {Rank: "[TP01]"}}, []Note{{4436349792008765, "rank 1 late: 100% & more #1"}})
	s := serve(t, Options{File: file, Title: "4 ranks, run 7", UI: ui, Commands: commands, VisibleStart: 5, VisibleEnd: 7})
	defer s.cancel()
	browsertest.Start(t, "--disable-popup-blocking", s.url)

	post := within(t, "the stand-in", got)
	if err := within(t, "Serve", s.ended); err != nil {
		t.Errorf("Serve: %v", err)
	}
	want := received{
		SHA256: digest, Bytes: 5<<20 + 3, Title: "4 ranks, run 7", FileName: filepath.Base(file),
		Origin: s.url[:strings.Index(s.url[len("http://"):], "/")+len("http://")], VisStart: "5", VisEnd: "7",
	}
	for _, c := range commands {
		want.Commands = append(want.Commands, struct {
			ID   string
			Args []string
		}(c))
	}
	if !reflect.DeepEqual(post, want) {
		t.Errorf("Perfetto got\n%+v\nwant\n%+v", post, want)
	}
}

// TestBrowserClick: a browser that blocks pop-ups needs one click; Perfetto may be slow.
func TestBrowserClick(t *testing.T) {
	file, digest := binaryTrace(t, 100_000)
	loaded := make(chan struct{})
	ui, got := fakePerfetto(t, loaded)
	s := serve(t, Options{File: file, Title: "decode, 4 ranks", UI: ui, Patience: 24 * time.Second})
	defer s.cancel()
	b := browsertest.Open(t, s.url)

	b.Wait(`!document.getElementById("go").hidden && document.getElementById("read").className === "done"`)
	b.Shoot(*screenshots, "1-click")
	b.Eval(`document.getElementById("go").click()`, true)
	b.Wait(`document.getElementById("go").hidden`)
	b.Shoot(*screenshots, "2-waiting")
	b.Wait(`!document.getElementById("help").hidden`)
	b.Shoot(*screenshots, "3-hint")
	close(loaded)
	if post := within(t, "the stand-in", got); post.SHA256 != digest {
		t.Errorf("Perfetto got %+v, want SHA-256 %s", post, digest)
	}
	if err := within(t, "Serve", s.ended); err != nil {
		t.Errorf("Serve: %v", err)
	}
	b.Wait(`document.getElementById("status").textContent.startsWith("Perfetto has the trace")`)
	b.Shoot(*screenshots, "4-done")
	if log := b.Console(); len(log) > 0 {
		t.Errorf("console: %q", log)
	}
	select {
	case post := <-got:
		t.Errorf("the trace was posted twice: %+v", post)
	default:
	}
}

// failed waits until the page shows a failure with text.
func failed(t *testing.T, b *browsertest.Tab, text string) {
	t.Helper()
	b.Wait(`document.getElementById("status").className === "failed" && document.getElementById("status").textContent.includes(` + "`" + text + "`)")
}

func TestBrowserNoAnswer(t *testing.T) {
	file, _ := binaryTrace(t, 1000)
	ui, _ := fakePerfetto(t, nil)
	s := serve(t, Options{File: file, UI: ui, Patience: time.Second})
	defer s.cancel()
	b := browsertest.Open(t, s.url, "--disable-popup-blocking")
	failed(t, b, "did not answer within 1 s")
	b.Wait(`document.body.dataset.reported === "failed"`)
	b.Shoot(*screenshots, "5-no-answer")
	s.cancel()
	if err := within(t, "Serve", s.ended); err == nil || !strings.Contains(err.Error(), "did not answer within 1 s") {
		t.Errorf("Serve: %v, want the page's reason", err)
	}
}

// TestBrowserTriesAgain: retries after a closed tab and a missing file succeed.
func TestBrowserTriesAgain(t *testing.T) {
	file, digest := binaryTrace(t, 100_000)
	loaded := make(chan struct{})
	ui, got := fakePerfetto(t, loaded)
	s := serve(t, Options{File: file, UI: ui})
	defer s.cancel()
	b := browsertest.Open(t, s.url)
	b.Wait(`document.getElementById("read")?.className === "done"`)

	// The page hides its tab, so the test intercepts window.open.
	b.Eval(`{const real = window.open; window.open = (...a) => window.opened = real.apply(window, a)}
		document.getElementById("go").click()`, true)
	// A tab that is just opening may ignore it, even if it already appears closed.
	b.Wait(`(opened.close(), document.getElementById("status").textContent.includes("was closed before"))`)
	failed(t, b, "was closed before")

	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	b.Call("Page.reload", nil, nil)
	failed(t, b, "no such file")
	b.Shoot(*screenshots, "6-no-file")
	select {
	case err := <-s.ended:
		t.Fatalf("a failure ended Serve: %v", err)
	default:
	}

	if err := os.Rename(file+".away", file); err != nil {
		t.Fatal(err)
	}
	close(loaded)
	b.Eval(`document.getElementById("go").click()`, true)
	if post := within(t, "the stand-in", got); post.SHA256 != digest {
		t.Errorf("Perfetto got %+v, want SHA-256 %s", post, digest)
	}
	if err := within(t, "Serve", s.ended); err != nil {
		t.Errorf("Serve: %v", err)
	}
}
