package slurmtest

import (
	"fmt"
	"io"
	"net"
	"os"
	"testing"
)

// TestMain makes this program the one that a node runs in tests: a server that returns its node's name, and the client
// that asks for it.
func TestMain(m *testing.M) {
	var err error
	if addr := os.Getenv("SLURMTEST_SERVE"); addr != "" {
		err = serve(addr)
	} else if addr := os.Getenv("SLURMTEST_ASK"); addr != "" {
		err = ask(addr)
	} else {
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func serve(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println("listens")
	name, err := os.Hostname()
	for err == nil {
		var conn net.Conn
		if conn, err = l.Accept(); err == nil {
			_, err = io.WriteString(conn, name)
			conn.Close()
		}
	}
	return err
}

func ask(addr string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	if _, err = io.Copy(os.Stdout, conn); err == nil {
		os.Exit(0)
	}
	return err
}
