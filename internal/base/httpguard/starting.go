package httpguard

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// Starting answers 503 to everyone on ln until the returned function is called,
// so that whoever waits for the server learns that it is coming. The listener
// stays open and can then be given to [Front.Serve].
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

// lent is a listener that is given back: closing it ends Accept alone.
type lent struct{ *net.TCPListener }

func (l lent) Close() error { return l.SetDeadline(time.Unix(1, 0)) }
