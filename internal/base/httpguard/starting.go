package httpguard

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// Starting answers every request on ln with 503 until done is called, so that waiting clients learn that the server is
// starting. done does not close the listener, which can then be passed to [Front.Serve].
func Starting(ln net.Listener) (done func()) {
	tcp, ok := ln.(*net.TCPListener)
	if !ok {
		return func() {}
	}
	hs := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.Header().Set("Connection", "close")
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(http.StatusServiceUnavailable)
			w.Write([]byte("The server is starting.\n"))
		}),
		ReadHeaderTimeout: 5 * time.Second,
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		hs.Serve(lent{tcp})
	}()
	return sync.OnceFunc(func() {
		hs.Close()
		<-ended
		tcp.SetDeadline(time.Time{})
	})
}

// lent is a listener whose Close only ends Accept, so that the underlying listener can be used again.
type lent struct{ *net.TCPListener }

func (l lent) Close() error { return l.SetDeadline(time.Unix(1, 0)) }
