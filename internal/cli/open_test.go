package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"html"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// opening is a "trace open" under way.
type opening struct {
	address string
	ended   chan int // its exit status
	stderr  *bytes.Buffer
}

// startOpen runs the verb until it says its address.
func startOpen(t *testing.T, c *openCmd) opening {
	t.Helper()
	r, w := io.Pipe()
	o := opening{ended: make(chan int, 1), stderr: &bytes.Buffer{}}
	e := newEnv(nil, w, o.stderr)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() {
		status := e.exit(ctx, c.Run(ctx, e))
		w.Close()
		o.ended <- status
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("status %d: %s", <-o.ended, o.stderr)
	}
	o.address = strings.TrimSpace(line)
	return o
}

func get(t *testing.T, address string) []byte {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res.Status, err)
	}
	return body
}

// done reports what Perfetto's page does, and gives the verb's status.
func (o *opening) done(t *testing.T) int {
	t.Helper()
	res, err := http.Post(o.address+"report", "application/json", strings.NewReader(`{"state":"done"}`))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return <-o.ended
}

// TestOpen hands files of every sort over and looks at what the page gets.
func TestOpen(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, map[string]string{
		"w-TP-0.trace.json": tinyTrace, "w-TP-1.trace.json": tinyTrace,
		"v-TP-0.trace.json.zst": string(enc.EncodeAll([]byte(tinyTrace), nil)),
		"u-TP-0.trace.json":     tinyTrace[:len(tinyTrace)-30],
		"any.pftrace":           "\x0a\x00",
	})
	for _, c := range []struct {
		name, path string
		status     int
		pins       string // in the link's commands
		trace      string // in the text of the trace
	}{
		{"one rank", "w-TP-0.trace.json", exitOK, `0(?![\\w-]).*> stream 23`, `"baseTimeNanoseconds":1000`},
		{"a directory", "", exitOK, `TP01(?![\\w-]).*> stream 23`, "[TP01] 0"},
		{"zstd", "v-TP-0.trace.json.zst", exitOK, "> stream 23", `"name":"k"`},
		{"a broken file is closed", "u-TP-0.trace.json", exitIncomplete, "> stream 7", `"name":"k"`},
		{"not JSON", "any.pftrace", exitOK, "CollapseTracksByRegex", "\x0a\x00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := &openCmd{inputFlags: inputFlags{Paths: []string{filepath.Join(dir, c.path)}}, UI: "https://ui.perfetto.dev"}
			if c.path == "" {
				cmd.ProfileID = "w"
			}
			o := startOpen(t, cmd)
			page := html.UnescapeString(string(get(t, o.address)))
			link := regexp.MustCompile(`https://ui\.perfetto\.dev/#!/[^"]*`).FindString(page)
			_, commands, _ := strings.Cut(link, "startupCommands=")
			if commands, err = url.QueryUnescape(commands); err != nil || !json.Valid([]byte(commands)) || !strings.Contains(commands, c.pins) {
				t.Errorf("commands %s (%v)", commands, err)
			}
			data := get(t, o.address+"trace")
			if zr, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
				if data, err = io.ReadAll(zr); err != nil {
					t.Fatal(err)
				}
			}
			if !strings.Contains(string(data), c.trace) || c.path != "any.pftrace" && !json.Valid(data) {
				t.Errorf("trace %s", data)
			}
			if got := o.done(t); got != c.status {
				t.Errorf("status %d, want %d: %s", got, c.status, o.stderr)
			}
		})
	}
}

func TestOpenBrowser(t *testing.T) {
	dir := folder(t, map[string]string{"w-TP-0.trace.json": tinyTrace})
	for _, failing := range []error{nil, errors.New("no display")} {
		var got string
		cmd := &openCmd{inputFlags: inputFlags{Paths: []string{dir}}, UI: "http://127.0.0.1:1", Browser: true,
			browse: func(address string) error { got = address; return failing }}
		o := startOpen(t, cmd)
		status := o.done(t)
		if status != exitOK || got != o.address || strings.Contains(o.stderr.String(), "no display") != (failing != nil) {
			t.Errorf("status %d, opened %q of %q: %s", status, got, o.address, o.stderr)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := folder(t, map[string]string{"w-TP-0.trace.json": "", "w-TP-1.trace.json": ""})
	for _, c := range []struct {
		args   string
		status int
		stderr string
	}{
		{"DIR/none", exitFailed, "no such file"},
		{"DIR/w-TP-0.trace.json", exitFailed, "the file is empty"},
		{"DIR", exitFailed, "nothing could be read"},
		{"DIR --ui perfetto", exitUsage, `--ui "perfetto": give an address such as https://`},
		{"DIR --profile-id x", exitUsage, `no trace files of profile id "x"`},
	} {
		var stdout, stderr strings.Builder
		args := strings.Fields("trace open " + strings.ReplaceAll(c.args, "DIR", dir))
		if got := Main(args, nil, &stdout, &stderr); got != c.status || !strings.Contains(stderr.String(), c.stderr) || stdout.Len() > 0 {
			t.Errorf("%s: status %d, stdout %q, stderr %q", c.args, got, &stdout, &stderr)
		}
	}
}
