package view

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/export"
)

// The tab Query runs SQLite in the browser, in a worker. The worker gets the database that "trace export" writes, and
// keeps it in memory.

// mostDatabase is the maximum size of a database, in bytes. spanBytes is its usual size per span: 83 to 91 in captures of
// SGLang and vLLM.
const mostDatabase, spanBytes = 512 << 20, 90

// workerPolicy is the policy of the worker, which has a policy of its own. It alone may compile WebAssembly.
const workerPolicy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'"

// queries returns the routes of the tab Query.
func (s *Server) queries() []httpguard.Route {
	routes := []httpguard.Route{httpguard.At("GET", "/api/database", httpguard.Key, s.database)}
	for _, f := range []struct{ path, file, kind string }{
		{"/query.js", "ui/worker/query.js", "text/javascript; charset=utf-8"},
		{"/sqlite.js", "ui/sqlite/sqlite.js.gz", "text/javascript; charset=utf-8"},
		{"/sqlite.wasm", "ui/sqlite/sqlite.wasm.gz", "application/wasm"},
	} {
		routes = append(routes, httpguard.At("GET", f.path, httpguard.Key, func(w http.ResponseWriter, r *http.Request) {
			text := file(f.file)
			if strings.HasSuffix(f.file, ".gz") {
				if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
					w.Header().Set("Content-Encoding", "gzip")
				} else {
					text = inflated(text)
				}
			}
			w.Header().Set("Content-Security-Policy", workerPolicy)
			w.Header().Set("Content-Type", f.kind)
			w.Header().Set("Content-Length", strconv.Itoa(len(text)))
			httpguard.WriteWhole(w, http.StatusOK, text)
		}))
	}
	return routes
}

// inflated decompresses an embedded file.
func inflated(text []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err == nil {
		text, err = io.ReadAll(z)
	}
	if err != nil {
		panic(err) // the binary was built with a broken file
	}
	return text
}

// database sends a capture's spans as a SQLite database.
func (s *Server) database(w http.ResponseWriter, r *http.Request) {
	c, err := s.captures.get(r.Context(), r.FormValue("c"))
	if err == nil {
		err = c.sendDatabase(w, r)
	}
	if err != nil {
		s.refuse(w, r, err)
	}
}

// sendDatabase writes the capture's database to a temporary file and sends it. If it returns an error, nothing was sent.
func (c *Capture) sendDatabase(w http.ResponseWriter, r *http.Request) error {
	if c.Traces == nil {
		return errStatus{http.StatusNotFound, fmt.Errorf("the capture was read from summaries, and has no spans to query: give the trace files themselves")}
	}
	spans := int64(0)
	for _, t := range c.Traces {
		spans += int64(len(t.Spans))
	}
	if size := spans * spanBytes; size > mostDatabase {
		return errStatus{http.StatusRequestEntityTooLarge, fmt.Errorf("the tables of %s spans take about %s, more than the %s that a page can hold: write them with stepscope trace export -o FILE.sqlite, and query that file",
			metric.Count(int(spans)), metric.Bytes(int(size)), metric.Bytes(mostDatabase))}
	}
	out, err := atomicfile.Scratch(filepath.Join(os.TempDir(), "stepscope-query.sqlite"))
	if err != nil {
		return err
	}
	defer atomicfile.Discard(out)
	c.again.Lock()
	err = export.Database(r.Context(), c.Traces, out)
	c.again.Unlock()
	if err != nil {
		return err
	}
	size, err := out.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = out.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/vnd.sqlite3")
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	io.Copy(w, out) // an error means that the page has gone
	return nil
}
