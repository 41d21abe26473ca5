package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// HTTP is a window of a stepscope server, which gives its files out itself.
type HTTP struct {
	Server *client.Server
	Dir    string // of the window, on the server; no other window has it

	listed atomic.Pointer[wire.ProfileWindow] // as the server told it last
}

// ErrNoRoute means that the server does not give out files.
var ErrNoRoute = errors.New("no route /profile_files")

func (h *HTTP) String() string { return h.Server.URL + "/profile_files" }

// Closed tells whether the window had had its last step at the last List.
func (h *HTTP) Closed() bool {
	w := h.listed.Load()
	return w != nil && !w.Open
}

// Here is the file in the server's own directory, if that is visible: the server
// may be on this host.
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

// List asks for the window. All files that the server lists are whole.
func (h *HTTP) List(ctx context.Context) ([]File, error) {
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
		return nil, ErrNoRoute // something else has this name there
	}
	for _, w := range list.Windows {
		if w.Dir != h.Dir {
			continue
		}
		h.listed.Store(&w)
		var out []File
		for _, f := range w.Files {
			if plainName.MatchString(f.Name) {
				out = append(out, File{Name: f.Name, Size: f.Size, Done: true})
			}
		}
		return out, nil
	}
	return nil, nil
}

// Bring downloads a file. A connection that breaks is taken up again where it
// broke.
func (h *HTTP) Bring(ctx context.Context, name, to string) error {
	w := h.listed.Load()
	if w == nil {
		return fmt.Errorf("%s: list the files first", h)
	}
	path := "/profile_files/" + url.PathEscape(w.ID) + "/" + url.PathEscape(name)
	return atomicfile.File(to, func(f *os.File) error {
		var at, size int64
		for try := 0; ; try++ {
			n, whole, err := h.part(ctx, path, at, f)
			at += n
			if size = max(size, whole); err == nil && at == size {
				return nil
			}
			if err == nil {
				err = fmt.Errorf("%s%s: %d bytes came, %d were announced", h.Server.URL, path, at, size)
			}
			if ctx.Err() != nil || n == 0 && try >= 3 || try >= 100 {
				return err
			}
		}
	})
}

// part copies what is left from the offset; whole is the size of the file.
func (h *HTTP) part(ctx context.Context, path string, at int64, w io.Writer) (n, whole int64, err error) {
	from := *h.Server
	from.Header = from.Header.Clone()
	if from.Header == nil {
		from.Header = http.Header{}
	}
	if at > 0 {
		from.Header.Set("Range", fmt.Sprintf("bytes=%d-", at))
	}
	// As it lies on disk: a proxy must not unpack it, nor Go's client.
	from.Header.Set("Accept-Encoding", "identity")
	res, err := from.Open(ctx, http.MethodGet, path, nil)
	if err != nil {
		return 0, 0, err
	}
	defer res.Body.Close()
	if at > 0 && res.StatusCode != http.StatusPartialContent || res.ContentLength < 0 {
		return 0, 0, fmt.Errorf("%s%s: the server does not send the rest after byte %d", h.Server.URL, path, at)
	}
	n, err = io.Copy(w, res.Body)
	return n, at + res.ContentLength, err
}
