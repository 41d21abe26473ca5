//go:build !linux

package load

import "net"

func (c *conn) setup(*net.TCPConn, bool) {}

// open always returns true. If the server has closed a connection, this is detected at the next use of the connection.
func (c *conn) open() bool { return true }

func (f *flight) receiveRaw(*conn) error { panic("no raw sockets on this system") }

func growFiles(int) {}

func kernelStamps() (bool, func()) { return false, func() {} }
