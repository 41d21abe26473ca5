package chromejson

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/stepscope/stepscope/internal/base/inflate"
)

var (
	errChecksum = errors.New("the gzip checksum does not match")
	errHeader   = errors.New("not a gzip file")
)

// members reads gzip members (RFC 1952) one after another. Unlike a multistream reader it treats zeros and garbage
// after the last member as the end of the file, as gzip itself does.
type members struct {
	src     *bufio.Reader
	z       *inflate.Reader // nil before the first member
	open    bool
	sum     uint32 // CRC-32 and length of the current member's text so far
	size    uint32
	garbage bool
}

func (m *members) Read(p []byte) (int, error) {
	for {
		if !m.open {
			if err := m.next(); err != nil {
				return 0, err
			}
		}
		n, err := m.z.Read(p)
		m.sum = crc32.Update(m.sum, crc32.IEEETable, p[:n])
		m.size += uint32(n)
		if err == io.EOF {
			m.open = false
			if err = m.trailer(); err == nil && n == 0 {
				continue
			}
		}
		return n, err
	}
}

// next reads the next header and starts its deflate stream.
func (m *members) next() error {
	if m.z == nil {
		m.z = inflate.NewReader(m.src)
	} else {
		// Zero padding is legal.
		for {
			b, err := m.src.Peek(1)
			if err != nil {
				return err
			}
			if b[0] != 0 {
				break
			}
			_, _ = m.src.Discard(1)
		}
		// Check the magic bytes before the header: garbage shorter than a header must not count as a truncated member.
		if b, _ := m.src.Peek(2); !bytes.HasPrefix([]byte("\x1f\x8b"), b) {
			m.garbage = true
			return io.EOF
		}
	}
	if err := m.header(); err != nil {
		return cutOff(err)
	}
	m.z.Reset(m.src)
	m.open, m.sum, m.size = true, 0, 0
	return nil
}

func (m *members) header() error {
	var head [10]byte
	if _, err := io.ReadFull(m.src, head[:]); err != nil {
		return err
	}
	if string(head[:3]) != "\x1f\x8b\x08" {
		return errHeader
	}
	const headerSum, extra, name, comment = 1 << 1, 1 << 2, 1 << 3, 1 << 4
	flags := head[3]
	skip := 0
	if flags&extra != 0 {
		if _, err := io.ReadFull(m.src, head[:2]); err != nil {
			return err
		}
		skip = int(binary.LittleEndian.Uint16(head[:]))
	}
	if _, err := m.src.Discard(skip); err != nil {
		return err
	}
	for _, text := range [...]byte{name, comment} {
		if flags&text == 0 {
			continue
		}
		for c := byte(1); c != 0; {
			var err error
			if c, err = m.src.ReadByte(); err != nil {
				return err
			}
		}
	}
	if flags&headerSum != 0 {
		_, err := m.src.Discard(2)
		return err
	}
	return nil
}

// trailer compares the text with the checksum and length in the member's trailer.
func (m *members) trailer() error {
	var tail [8]byte
	if _, err := io.ReadFull(m.src, tail[:]); err != nil {
		return cutOff(err)
	}
	if binary.LittleEndian.Uint32(tail[:]) != m.sum || binary.LittleEndian.Uint32(tail[4:]) != m.size {
		return errChecksum
	}
	return nil
}

// cutOff converts io.EOF to io.ErrUnexpectedEOF.
func cutOff(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
