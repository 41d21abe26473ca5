//go:build darwin || freebsd || linux

package runs

import "golang.org/x/sys/unix"

// FreeSpace returns the number of bytes that the user may still write in a directory.
func FreeSpace(dir string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}
