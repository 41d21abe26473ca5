package httpguard

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// ErrNeedKey is returned when a server without a key would be reachable from other hosts.
var ErrNeedKey = errors.New("listening beyond loopback needs an API key: add --api-key KEY (clients give the same), " +
	"or --insecure to serve everyone who can reach the port, or listen on --host 127.0.0.1 and use ssh -L")

// Listen opens the port. An empty host means loopback. Without an API key it refuses a host beyond loopback unless
// insecure is set. [Front.Serve] checks this again; Listen checks it so that the error appears before the model is
// loaded.
func Listen(host string, port int, apiKey string, insecure bool) (net.Listener, error) {
	if host == "" {
		host = "127.0.0.1"
	}
	ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d of %s is in use by another program: choose another port", port, host)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s port %d: %w", host, port, err)
	}
	if apiKey == "" && !insecure && !loopback(ln.Addr()) {
		ln.Close()
		return nil, fmt.Errorf("%s: %w", host, ErrNeedKey)
	}
	return ln, nil
}

// loopback reports whether a listener at address a is reachable only from the same host.
func loopback(a net.Addr) bool {
	switch a := a.(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}
