// Package atomicfile writes files that are whole or absent: beside their
// place under another name first, then renamed.
package atomicfile

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// File lets fill write a file, and gives it the name path when that is done.
// If fill fails nothing is left behind, and a file that was there before stays
// as it was. fill may seek in the file, or open it again by its name.
func File(path string, fill func(*os.File) error) error {
	tmp := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.tmp", filepath.Base(path), os.Getpid()))
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	err = fill(f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
	}
	return err
}

// Write is File for those who write front to back.
func Write(path string, fill func(io.Writer) error) error {
	return File(path, func(f *os.File) error {
		w := bufio.NewWriterSize(f, 64<<10)
		if err := fill(w); err != nil {
			return err
		}
		return w.Flush()
	})
}
