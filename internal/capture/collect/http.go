package collect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/api/wire"
)

// HTTP is a window of a stepscope server, which serves its own files.
type HTTP struct {
	Server   *client.Server
	Dir      string        // directory on the server; no other window uses it
	Patience time.Duration // timeout of a listing; default 1 min

	listed atomic.Pointer[wire.ProfileWindow] // reply to the last List
	// unfit is the number of files in that reply whose names are not allowed, see plainName.
	unfit atomic.Int64
}

// Limits that no valid window exceeds. If a server claims more, the reply is wrong and the files would fill the disk.
const (
	mostFiles = 1 << 16
	mostBytes = 1 << 40
)

// ErrNoRoute means that the server does not serve files.
var ErrNoRoute = errors.New("no route /profile_files")

func (h *HTTP) String() string { return h.Server.URL + "/profile_files" }

// Closed reports whether the window was complete at the last List.
func (h *HTTP) Closed() bool {
	w := h.listed.Load()
	return w != nil && !w.Open
}

// Unfit returns the number of files that the last List omitted because their names are not allowed.
func (h *HTTP) Unfit() int { return int(h.unfit.Load()) }

// Here returns the path of the file in the server's directory if this process can read that directory, for example
// because the server runs on the same host. Otherwise it returns "".
func (h *HTTP) Here(name string) string {
	w := h.listed.Load()
	if w == nil {
		return ""
	}
	path := filepath.Join(h.Dir, name)
	st, err := os.Stat(path)
	for _, f := range w.Files {
		if f.Name == name && err == nil && st.Size() == f.Size {
			return path
		}
	}
	return ""
}

// List requests the window's files. All listed files are complete.
func (h *HTTP) List(ctx context.Context) ([]File, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(h.Patience, time.Minute))
	defer cancel()
	r, err := h.Server.Ask(ctx, http.MethodGet, "/profile_files", nil)
	switch {
	case err != nil:
		return nil, err
	case r.Status == http.StatusNotFound:
		return nil, ErrNoRoute
	case r.Status/100 != 2:
		return nil, fmt.Errorf("%s: %d %s", h, r.Status, r.Reason())
	}
	var list wire.ProfileFiles
	if json.Unmarshal(r.Body, &list) != nil || list.Windows == nil {
		return nil, ErrNoRoute // another service answers at this route
	}
	for _, w := range list.Windows {
		if w.Dir != h.Dir {
			continue
		}
		if len(w.Files) > mostFiles {
			return nil, fmt.Errorf("%s: lists %d files, too many for a window", h, len(w.Files))
		}
		h.listed.Store(&w)
		var out []File
		for _, f := range w.Files {
			if plainName.MatchString(f.Name) {
				out = append(out, File{Name: f.Name, Size: f.Size, Done: true})
			}
		}
		h.unfit.Store(int64(len(w.Files) - len(out)))
		return out, nil
	}
	return nil, nil
}

// Bring downloads a file, which must have the size that List reported. It resumes interrupted downloads. If a local
// file of another size exists, Bring keeps that file and returns an error.
func (h *HTTP) Bring(ctx context.Context, name, to string, within *Budget) error {
	w := h.listed.Load()
	if w == nil {
		return fmt.Errorf("%s: list the files first", h)
	}
	i := slices.IndexFunc(w.Files, func(f wire.ProfileFile) bool { return f.Name == name })
	if i < 0 || !plainName.MatchString(name) {
		return fmt.Errorf("%s: the window has no file %q", h, name)
	}
	size := w.Files[i].Size
	if size < 0 || size > mostBytes {
		return fmt.Errorf("%s: %s has %d bytes there, so it is not a trace", h, name, size)
	}
	if st, err := os.Lstat(to); err == nil && (!st.Mode().IsRegular() || st.Size() != size) {
		return fmt.Errorf("%s already exists and is another file: give a directory for the files of this window with -o", to)
	}
	path := "/profile_files/" + url.PathEscape(w.ID) + "/" + url.PathEscape(name)
	return within.Write(to, func(f io.Writer) error {
		var at int64
		for try := 0; ; try++ {
			n, err := h.part(ctx, path, at, size, f)
			if at += n; err == nil {
				return nil
			}
			if ctx.Err() != nil || errors.Is(err, ErrBudget) || n == 0 && try >= 3 || try >= 100 {
				return err
			}
		}
	})
}

// part copies the file from offset at to its end.
func (h *HTTP) part(ctx context.Context, path string, at, size int64, w io.Writer) (n int64, err error) {
	from := *h.Server
	from.Header = from.Header.Clone()
	if from.Header == nil {
		from.Header = http.Header{}
	}
	if at > 0 {
		from.Header.Set("Range", fmt.Sprintf("bytes=%d-", at))
	}
	// Request the file as stored: neither a proxy nor Go's client may decompress it.
	from.Header.Set("Accept-Encoding", "identity")
	res, err := from.Open(ctx, http.MethodGet, path, nil)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if at > 0 && res.StatusCode != http.StatusPartialContent || res.ContentLength < 0 {
		return 0, fmt.Errorf("%s%s: the server does not send the rest after byte %d", h.Server.URL, path, at)
	}
	if whole := at + res.ContentLength; whole != size {
		return 0, fmt.Errorf("%s%s: the server sends %d bytes but listed %d", h.Server.URL, path, whole, size)
	}
	n, err = io.Copy(w, res.Body)
	if err == nil && at+n != size {
		err = fmt.Errorf("%s%s: received %d bytes, expected %d", h.Server.URL, path, at+n, size)
	}
	return n, err
}
