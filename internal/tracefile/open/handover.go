// Package open passes a trace file to the Perfetto UI. It serves one page on loopback. The page opens Perfetto in a tab
// and sends the file to it by postMessage. The server ends when the page reports that Perfetto has taken the file.
//
// The alternative is `?url=http://127.0.0.1:9001/…`. It requires exactly that port, which trace_processor also uses,
// and a CORS header. It also requires that the browser allows a public page to reach loopback, which Safari refuses.
// Messages between two tabs need none of this. Their cost is that the whole file passes through the browser's memory,
// and that a browser that blocks pop-ups requires one click.
//
// The protocol is that of Perfetto's post_message_handler.ts
// (https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui): send PING until PONG arrives, then send one
// message with the buffer. Perfetto reads startup commands and the visible range only from the URL fragment, never from
// the message, so they are part of the link (see [Command]).
package open

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/stepscope/stepscope/internal/base/pause"
)

// DefaultUI is the public Perfetto UI. It keeps a posted trace in the browser and does not upload it.
const DefaultUI = "https://ui.perfetto.dev"

// wasmHeap is the memory, in bytes, of Perfetto's in-browser engine on most browsers. Files near this size seldom open,
// so newSite logs a warning for larger files.
const wasmHeap = 2 << 30

// Options are the options of Serve.
type Options struct {
	File  string // the trace, in any format that Perfetto reads
	Title string // title in Perfetto; empty: the base name of File
	UI    string // Perfetto's address, http or https; empty: DefaultUI

	// Commands run in order after the trace has loaded. Put the most important command first: commands at the end of
	// the list are dropped if the link becomes too long.
	Commands []Command

	// VisibleStart and VisibleEnd are the initially visible range, in ns of trace time. Perfetto ignores a range that
	// is empty or outside the trace.
	VisibleStart, VisibleEnd int64

	// Listen opens the server's socket; nil: net.Listen. The listener must be on loopback.
	Listen func(network, addr string) (net.Listener, error)

	// Patience is the time that the page waits for Perfetto before it reports a failure; 0: two minutes. After a
	// twelfth of this time the page suggests possible causes.
	Patience time.Duration

	// Linger is the time that the server keeps running after the hand-over, so that the page can be reloaded.
	Linger time.Duration

	Log *slog.Logger // nil: no log
}

func (o Options) withDefaults() Options {
	o.Title = cmp.Or(o.Title, filepath.Base(o.File))
	o.UI = cmp.Or(o.UI, DefaultUI)
	if o.Listen == nil {
		o.Listen = net.Listen
	}
	if o.Patience <= 0 {
		o.Patience = 2 * time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Serve offers opts.File to a browser and calls ready, which may be nil, with the address to open. Serve returns nil
// once the page has reported that Perfetto took the trace. If ctx ends first, Serve returns an error that wraps the
// error of ctx. A failure reported by the page is logged and does not end Serve, because the page offers to retry.
func Serve(ctx context.Context, opts Options, ready func(url string)) error {
	site, err := newSite(opts)
	if err != nil {
		return err
	}
	opts = site.opts
	listener, err := opts.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen on loopback: %w", err)
	}
	// Reject a listener that would expose the trace to the network.
	if addr, ok := listener.Addr().(*net.TCPAddr); !ok || !addr.IP.IsLoopback() {
		return errors.Join(fmt.Errorf("listen on %s: not a loopback address", listener.Addr()), listener.Close())
	}

	server := &http.Server{
		Handler:           site.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(opts.Log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1) // error of server.Serve; its goroutine is the only sender
	go func() { ended <- server.Serve(listener) }()
	if ready != nil {
		ready("http://" + listener.Addr().String() + site.root())
	}

	select {
	case <-ctx.Done():
		server.Close()
		<-ended
		select {
		case <-site.taken: // the report arrived at the same time
			return nil
		default:
			return site.interrupted(ctx.Err())
		}
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", opts.File, err)
	case <-site.taken:
	}
	pause.For(ctx, opts.Linger)

	// The answer to the page's report is still being sent. Requests that take longer than the timeout no longer matter.
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if server.Shutdown(stop) != nil {
		server.Close()
	}
	<-ended
	return nil
}

// check returns the size in bytes of a file that can be handed over, or an error that suggests a remedy.
func check(path string) (int64, error) {
	f, info, err := open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if info.Size() == 0 {
		return 0, fmt.Errorf("open %s: the file is empty; its writer was stopped before it began; capture again", path)
	}
	// Some file systems report permission and disk errors only at the first read.
	if _, err := io.ReadFull(f, make([]byte, 1)); err != nil {
		return 0, fmt.Errorf("read %s: %w", path, pathless(err))
	}
	return info.Size(), nil
}

// open opens a regular file. Its error for any other file suggests a remedy.
func open(path string) (*os.File, os.FileInfo, error) {
	// Call Stat before Open: opening a named pipe would block until a writer opens it.
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("open %s: %w", path, pathless(err))
	case info.IsDir():
		return nil, nil, fmt.Errorf("open %s: it is a directory; give one trace file, or merge the directory into one first", path)
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("open %s: not a regular file; write the trace to a file first", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", path, pathless(err))
	}
	return f, info, nil
}

// pathless removes the operation and path that os adds to its errors, because the errors of this package already name
// them.
func pathless(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}
