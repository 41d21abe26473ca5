//go:build unix

package private

import (
	"io/fs"
	"syscall"
)

// owner returns the user id of the file's owner.
func owner(st fs.FileInfo) (uid int, ok bool) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}
