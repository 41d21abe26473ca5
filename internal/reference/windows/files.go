package windows

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/httpguard"
)

// These routes serve the files of windows to clients that share no storage with the server. SGLang has no such routes
// and does not use their names for other routes. The routes serve only files that windows of this server have written.

const (
	// maxWindows is the maximum number of remembered windows. The oldest windows are forgotten first.
	maxWindows = 64
	// maxDownloads is the maximum number of concurrent downloads.
	maxDownloads = 16
	// clockSlack is the time by which the clock of a file server may lag behind the clock of this host.
	clockSlack = time.Minute
)

// list remembers started windows.
type list struct {
	mu        sync.Mutex
	all       []window // oldest first
	downloads int
}

// window is one started window.
type window struct {
	id, dir string
	stem    string // prefix of the names of the window's traces
	started time.Time
	ended   time.Time // start of the next window; zero: there is no next window
}

// teller is a Recorder that can report whether a window is armed or open. Without such a report, the end of a window
// with num_steps is unknown, because that window closes by itself.
type teller interface{ Profiling() bool }

// remember adds a window that the engine has accepted. It removes an older window that has the same id, because both
// windows would have the same URL.
func (l *list) remember(p api.ProfileRequest, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := make([]window, 0, len(l.all)+1)
	for _, w := range l.all {
		if w.ended.IsZero() {
			w.ended = now
		}
		if w.id != p.ID {
			kept = append(kept, w)
		}
	}
	l.all = append(kept, window{id: p.ID, dir: p.OutputDir, stem: p.Stem(), started: now})
	if n := len(l.all) - maxWindows; n > 0 {
		l.all = l.all[n:]
	}
}

// newest returns the windows, newest first.
func (l *list) newest() []window {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]window, 0, len(l.all))
	for i := len(l.all) - 1; i >= 0; i-- {
		out = append(out, l.all[i])
	}
	return out
}

// download acquires a download slot, and done releases the slot. ok is false if no slot is free.
func (l *list) download() (done func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.downloads >= maxDownloads {
		return nil, false
	}
	l.downloads++
	return func() {
		l.mu.Lock()
		l.downloads--
		l.mu.Unlock()
	}, true
}

const traceEnding = ".trace.json.gz"

// memoryFile matches a memory snapshot, whose name contains the time instead of an id.
var memoryFile = regexp.MustCompile(`^(\d{1,12})(?:\.\d{1,9})?-TP-\d+(?:-[DPE]P-\d+)*-memory(?:-[A-Za-z]+)?\.pickle$`)

// wrote reports whether a file in the window's directory was written by the window.
func (w *window) wrote(info fs.FileInfo) bool {
	if !info.Mode().IsRegular() || info.ModTime().Before(w.started.Add(-clockSlack)) {
		return false
	}
	name := info.Name()
	if m := memoryFile.FindStringSubmatch(name); m != nil {
		seconds, err := strconv.ParseInt(m[1], 10, 64)
		return err == nil && seconds >= w.started.Unix() && (w.ended.IsZero() || seconds < w.ended.Unix()+1)
	}
	return name == "merged-"+w.id+traceEnding || name == "merged-"+w.stem+traceEnding || strings.HasPrefix(name, w.stem+"-TP-") && strings.HasSuffix(name, traceEnding)
}

// files lists the files that the window has written. A file gets its final name only when it is complete.
func (w *window) files() ([]wire.ProfileFile, error) {
	out := []wire.ProfileFile{}
	entries, err := os.ReadDir(w.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // the file has been deleted since it was listed
		}
		if w.wrote(info) {
			out = append(out, wire.ProfileFile{Name: info.Name(), Size: info.Size()})
		}
	}
	return out, nil
}

// files is GET /profile_files.
func (ws *Windows) files(w http.ResponseWriter, _ *http.Request) {
	dir, _ := ws.dir(nil) // an unusable directory is reported when a window is requested
	out := wire.ProfileFiles{Dir: dir, Windows: []wire.ProfileWindow{}}
	for i, win := range ws.list.newest() {
		open := false
		if t, ok := ws.rec.(teller); ok && i == 0 {
			open = t.Profiling()
		}
		files, err := win.files()
		if err != nil {
			ws.o.Refuse(w, fmt.Errorf("list the files of window %s: %w", win.id, err))
			return
		}
		out.Windows = append(out.Windows, wire.ProfileWindow{ID: win.id, Dir: win.dir, Open: open, Files: files})
	}
	text, _ := json.Marshal(out) // cannot fail: only strings and numbers
	httpguard.WriteJSON(w, http.StatusOK, text)
}

// file is GET /profile_files/{id}/{name}.
func (ws *Windows) file(w http.ResponseWriter, r *http.Request) {
	f, info, err := ws.open(r.PathValue("id"), r.PathValue("name"))
	if err != nil {
		ws.o.Refuse(w, err)
		return
	}
	defer f.Close()
	done, ok := ws.list.download()
	if !ok {
		ws.o.Refuse(w, &httpguard.Error{Status: http.StatusServiceUnavailable, Message: fmt.Sprintf("%d files are already being downloaded", maxDownloads)})
		return
	}
	defer done()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Etag", fmt.Sprintf(`"%x-%x"`, info.Size(), info.ModTime().UnixNano()))
	http.ServeContent(&patient{ResponseWriter: w, limit: ws.o.WriteTimeout}, r, "", info.ModTime(), f)
}

// open opens a file that a window wrote. Names that contain a directory and symbolic links cannot lead out of the
// window's directory.
func (ws *Windows) open(id, name string) (*os.File, fs.FileInfo, error) {
	missing := &httpguard.Error{Status: http.StatusNotFound, Message: fmt.Sprintf("no file %q in profile window %q: GET /profile_files lists them", name, id)}
	for _, win := range ws.list.newest() {
		if win.id != id {
			continue
		}
		root, err := os.OpenRoot(win.dir)
		if err != nil {
			return nil, nil, missing
		}
		defer root.Close()
		info, err := root.Lstat(name)
		if err != nil || info.Name() != name || !win.wrote(info) {
			return nil, nil, missing
		}
		f, err := root.Open(name)
		if err != nil {
			return nil, nil, missing
		}
		opened, err := f.Stat()
		if err != nil || !os.SameFile(info, opened) {
			f.Close()
			return nil, nil, missing
		}
		return f, opened, nil
	}
	return nil, nil, missing
}

// patient limits the time of each write of a long reply instead of the time of the whole reply.
type patient struct {
	http.ResponseWriter
	limit time.Duration
}

func (p *patient) Write(b []byte) (int, error) {
	http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(p.limit))
	return p.ResponseWriter.Write(b)
}
