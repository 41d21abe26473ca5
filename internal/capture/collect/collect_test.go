package collect

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/api/wire"
)

func packed(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.Bytes()
}

// TestWhole checks which files count as completely written.
func TestWhole(t *testing.T) {
	doc := packed(`{"traceEvents":[` + strings.Repeat(`{"ph":"X"},`, 20000) + `{}]}` + "\n")
	damaged := slices.Clone(doc)
	damaged[len(doc)/2] ^= 0x55
	dir := t.TempDir()
	for _, c := range []struct {
		file string
		data []byte
		want string // "": complete
	}{
		{"a.trace.json.gz", doc, ""},
		{"two-members.trace.json.gz", slices.Concat(packed(`{"a":[`), packed(`]}`)), ""},
		{"no-trailer.trace.json.gz", doc[:len(doc)-4], "cut off or damaged"},
		{"half.trace.json.gz", doc[:len(doc)/2], "cut off or damaged"},
		{"damaged.trace.json.gz", damaged, "cut off or damaged"},
		{"header.trace.json.gz", doc[:5], "gzip header"},
		{"empty.trace.json.gz", nil, "gzip header"},
		{"open.trace.json.gz", packed(`{"traceEvents":[`), "its JSON is not closed"},
		{"blank.trace.json.gz", packed("  \n"), "its JSON is not closed"},
		{"plain.trace.json", []byte("{}\n"), ""},
		{"list.trace.json", []byte("[]"), ""},
		{"plain-cut.trace.json", []byte(`{"a":1`), "its JSON is not closed"},
		{"memory.pickle", []byte("x"), ""},
		{"memory-empty.pickle", nil, "it is empty"},
	} {
		path := filepath.Join(dir, c.file)
		if err := os.WriteFile(path, c.data, 0o644); err != nil {
			t.Fatal(err)
		}
		err := Whole(t.Context(), path)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrPartial) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.file, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Whole(ctx, filepath.Join(dir, "a.trace.json.gz")); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// TestDir checks that a missing directory counts as empty, and that files are linked or copied.
func TestDir(t *testing.T) {
	d := Dir(filepath.Join(t.TempDir(), "later"))
	if files, err := d.List(t.Context()); err != nil || files != nil {
		t.Errorf("%v, %v", files, err)
	}
	if err := os.MkdirAll(filepath.Join(string(d), "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.trace.json.gz", ".hidden.tmp", "with space", "-rf"} {
		if err := os.WriteFile(filepath.Join(string(d), name), []byte("data"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := d.List(t.Context())
	if err != nil || len(files) != 1 || files[0] != (File{Name: "a.trace.json.gz", Size: 4}) {
		t.Errorf("%v, %v", files, err)
	}
	to := filepath.Join(t.TempDir(), "b")
	for range 2 { // the second time it already exists
		if err := d.Bring(t.Context(), "a.trace.json.gz", to, nil); err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(to); err != nil || string(text) != "data" {
		t.Errorf("%s, %v", text, err)
	}
}

func TestSplit(t *testing.T) {
	for line, want := range map[string][]string{
		`ssh {host} cat {path}`:    {"ssh", "{host}", "cat", "{path}"},
		`  a	b  `:                  {"a", "b"},
		`ssh -o 'User=x y' "a\"b"`: {"ssh", "-o", "User=x y", `a"b`},
		`a\ b '' "\n" 'it'\''s'`:   {"a b", "", `\n`, "it's"},
		`echo $HOME; rm * | x`:     {"echo", "$HOME;", "rm", "*", "|", "x"},
		`a 'b`:                     nil,
		`a \`:                      nil,
		` `:                        nil,
	} {
		if got, err := Split(line); !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
}

func TestParseTemplate(t *testing.T) {
	for _, c := range []struct{ read, list, want string }{
		{"ssh {host} cat {path}", "", "ssh {host} ls -ln {dir}"},
		{"kubectl exec {name} -- cat {path}", "", "kubectl exec {name} -- ls -ln {dir}"},
		{"scp {host}:{path} /dev/stdout", "ssh {host} ls {dir}", "ssh {host} ls {dir}"},
		{"scp {host}:{path} /dev/stdout", "", "!does not end in cat {path}"},
		{"ssh {host} cat", "", "!has no {path}"},
		{"ssh {node} cat {path}", "", "!unknown placeholder {node}"},
		{"ssh {host} cat {path}", "ls", "!has no {dir}"},
		{"", "", "!the command is empty"},
	} {
		tmpl, err := ParseTemplate(c.read, c.list)
		if bad, ok := strings.CutPrefix(c.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), bad) {
				t.Errorf("%q: %v, want %q", c.read, err, bad)
			}
			continue
		}
		if err != nil || strings.Join(tmpl.list, " ") != c.want {
			t.Errorf("%q: %v, %v", c.read, tmpl, err)
		}
	}
}

// TestCommand reads a directory of this host through a command.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"9-TP-0.trace.json.gz", "a b.trace.json.gz", "$(touch x).trace.json.gz"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, list := range []string{"", "env ls -1 {dir}"} {
		tmpl, err := ParseTemplate("env X={host} cat {path}", list)
		if err != nil {
			t.Fatal(err)
		}
		c := &Command{Template: tmpl, Host: "gpu1", Dir: dir}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		files, err := c.List(t.Context())
		size := int64(len("9-TP-0.trace.json.gz"))
		if list != "" {
			size = -1
		}
		// Only the last word of a name with spaces is left, and no such file exists.
		files = slices.DeleteFunc(files, func(f File) bool { return !strings.HasPrefix(f.Name, "9") })
		if err != nil || len(files) != 1 || files[0] != (File{Name: "9-TP-0.trace.json.gz", Size: size}) {
			t.Errorf("%q: %v, %v", list, files, err)
		}
		to := filepath.Join(t.TempDir(), "x")
		if err := c.Bring(t.Context(), "9-TP-0.trace.json.gz", to, nil); err != nil {
			t.Error(err)
		}
		if text, _ := os.ReadFile(to); string(text) != "9-TP-0.trace.json.gz" {
			t.Errorf("got %q", text)
		}
		if err := c.Bring(t.Context(), "missing", to+"2", nil); err == nil || !strings.Contains(err.Error(), "No such file") {
			t.Errorf("a missing file: %v", err)
		}
		if _, err := os.Stat(to + "2"); err == nil {
			t.Error("a partial file was left")
		}
		c.Dir += "/later"
		if files, err := c.List(t.Context()); err != nil || files != nil {
			t.Errorf("a missing directory: %v, %v", files, err)
		}
	}
	tmpl, _ := ParseTemplate("stepscope-no-such-program cat {path}", "")
	if _, err := (&Command{Template: tmpl, Dir: dir}).List(t.Context()); err == nil || !strings.Contains(err.Error(), "stepscope-no-such-program ls -ln") {
		t.Errorf("%v", err)
	}
}

// TestCommandRefuses checks that strings which a remote shell could interpret are rejected.
func TestCommandRefuses(t *testing.T) {
	tmpl, err := ParseTemplate("ssh {host} cat {path}", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Command{
		{Dir: "relative"}, {Dir: "/a b"}, {Dir: "/a;rm"}, {Dir: "/$(x)"}, {Dir: "/a`b`"}, {Dir: "/a'"}, {Dir: "/a\nb"},
		{Dir: "/a", Host: "-oProxyCommand=x"}, {Dir: "/a", Host: "a b"}, {Dir: "/a", Name: "$(x)"},
	} {
		c.Template = tmpl
		if c.Check() == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	c := &Command{Template: tmpl, Dir: "/a"}
	for _, name := range []string{"a b", "$(x)", "../x", "a/b", "-x", ""} {
		if err := c.Bring(t.Context(), name, filepath.Join(t.TempDir(), "x"), nil); err == nil || !strings.Contains(err.Error(), "cannot be fetched") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestHTTP checks that an interrupted download is resumed, and that files of other windows are ignored.
func TestHTTP(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), 10000)
	breaks := 2
	mux := http.NewServeMux()
	mux.HandleFunc("/profile_files", func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(wire.ProfileFiles{Windows: []wire.ProfileWindow{
			{ID: "new", Dir: "/elsewhere/other", Open: true, Files: []wire.ProfileFile{}},
			{ID: "a b", Dir: "/elsewhere/mine", Files: []wire.ProfileFile{{Name: "f.gz", Size: int64(len(data))}, {Name: "../x", Size: 1}}},
		}})
	})
	mux.HandleFunc("/profile_files/{id}/{name}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") != "a b" || r.PathValue("name") != "f.gz" || r.Header.Get("K") != "v" {
			http.NotFound(w, r)
			return
		}
		if breaks--; breaks < 0 {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
			return
		}
		var from int
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
		w.Header().Set("Content-Length", fmt.Sprint(len(data)-from))
		if from > 0 {
			w.WriteHeader(http.StatusPartialContent)
		}
		w.Write(data[from : from+30000])
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	hs := httptest.NewServer(mux)
	defer hs.Close()
	h := &HTTP{Server: &client.Server{URL: hs.URL, Header: http.Header{"K": {"v"}}}, Dir: "/elsewhere/mine"}
	files, err := h.List(t.Context())
	if err != nil || len(files) != 1 || files[0] != (File{"f.gz", int64(len(data)), true}) || !h.Closed() || h.Here("f.gz") != "" {
		t.Fatalf("%v, %v, closed %t", files, err, h.Closed())
	}
	to := filepath.Join(t.TempDir(), "f.gz")
	if err := h.Bring(t.Context(), "f.gz", to, nil); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(to); !bytes.Equal(got, data) || breaks != -1 {
		t.Errorf("%d bytes received of %d", len(got), len(data))
	}
	if err := h.Bring(t.Context(), "gone", to+"2", nil); err == nil || !strings.Contains(err.Error(), `has no file "gone"`) {
		t.Error(err)
	}
	if _, err := os.Stat(to + "2"); err == nil {
		t.Error("a partial file was left")
	}
	other := &HTTP{Server: &client.Server{URL: hs.URL + "/nothing"}, Dir: "/x"}
	if _, err := other.List(t.Context()); !errors.Is(err, ErrNoRoute) {
		t.Errorf("a server without the route: %v", err)
	}
}

// TestInside reads files through commands that run on the server's host: a file that is shorter than listed is an error.
func TestInside(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.trace.json"), []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	most := 10
	c := &Command{Host: "web.serving", Dir: dir, Template: In(func(ctx context.Context, host string, all bool, words []string, out, errs io.Writer) error {
		if host != "web.serving" || all != (words[0] == "ls") {
			t.Errorf("%s: %v, all %v", host, words, all)
		}
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Stderr = errs
		text, err := cmd.Output()
		if words[0] == "cat" {
			text = text[:min(len(text), most)]
		}
		if _, failed := out.Write(text); err == nil {
			err = failed
		}
		return err
	})}
	to := filepath.Join(t.TempDir(), "to")
	for _, want := range []int{10, 7} {
		most = want
		if files, err := c.List(t.Context()); err != nil || len(files) != 1 || files[0].Size != 10 {
			t.Fatalf("%v, %v", files, err)
		}
		err := c.Bring(t.Context(), "a.trace.json", to, nil)
		if want == 10 && err != nil || want < 10 && (err == nil || !strings.Contains(err.Error(), "received 7 of 10 bytes")) {
			t.Errorf("%d bytes: %v", want, err)
		}
	}
	most = 10
	for limit, fits := range map[int64]bool{10: true, 9: false} {
		if text, err := c.Read(t.Context(), "a.trace.json", limit); fits != (err == nil) || fits && string(text) != "0123456789" {
			t.Errorf("at most %d bytes: %q, %v", limit, text, err)
		}
	}
	c.Dir += "/later"
	if files, err := c.List(t.Context()); err != nil || files != nil {
		t.Errorf("a missing directory: %v, %v", files, err)
	}
}
