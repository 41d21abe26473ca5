package mesh

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
)

type hello struct {
	Lane   string // "join", "fast"
	Node   int
	Nodes  int
	Terms  map[string]string
	Host   string
	Listen string // address of this node's listener
	Token  string
	HostID string // for a fast lane: id of the host, which is equal if memory can be shared
}

type reply struct {
	Refused string
	Shared  bool // the dialer has also opened the shared memory
}

type welcome struct {
	Refused string
	Token   string
	Addrs   []string
	Hosts   []string
}

func say(c net.Conn, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.Write(append(binary.LittleEndian.AppendUint32([]byte(magic), uint32(len(text))), text...))
	return err
}

var errStranger = errors.New("does not speak this protocol")

func hear(c net.Conn, v any) error {
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint32(head[4:])
	if string(head[:4]) != magic || n > mostMessage {
		return errStranger
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(c, text); err != nil {
		return err
	}
	if json.Unmarshal(text, v) != nil {
		return errStranger
	}
	return nil
}
