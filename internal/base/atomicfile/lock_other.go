//go:build !unix || solaris || aix

package atomicfile

import "os"

// lock would mark a file as one that is written. Where it cannot, every file counts as written.
func lock(*os.File) bool { return false }

// keep would hold the lock of a file beyond its closing.
func keep(*os.File) (release func()) { return func() {} }
