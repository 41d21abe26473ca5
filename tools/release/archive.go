package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"hash/crc32"
	"io"
	"io/fs"
)

// member is a file in an archive.
type member struct {
	name string
	mode fs.FileMode
	data []byte
}

// writeZip writes a zip file whose bytes depend only on the members and on Go's deflate: the time of every member is
// 1980-01-01, the earliest one in the format, and local headers contain the sizes.
func writeZip(w io.Writer, members []member) error {
	z := zip.NewWriter(w)
	for _, m := range members {
		var packed bytes.Buffer
		d, err := flate.NewWriter(&packed, flate.BestCompression)
		if err != nil {
			return err
		}
		if _, err := d.Write(m.data); err != nil {
			return err
		}
		if err := d.Close(); err != nil {
			return err
		}
		h := &zip.FileHeader{
			Name: m.name, Method: zip.Deflate, ReaderVersion: 20, CreatorVersion: 20,
			CRC32: crc32.ChecksumIEEE(m.data), CompressedSize64: uint64(packed.Len()), UncompressedSize64: uint64(len(m.data)),
		}
		//lint:ignore SA1019 Modified has no effect on raw members, and adds an extra field to others
		h.ModifiedDate = 1<<5 | 1
		h.SetMode(m.mode)
		body, err := z.CreateRaw(h)
		if err != nil {
			return err
		}
		if _, err := body.Write(packed.Bytes()); err != nil {
			return err
		}
	}
	return z.Close()
}
