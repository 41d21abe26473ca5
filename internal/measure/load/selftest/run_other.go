//go:build !linux

package selftest

import (
	"context"
	"errors"
	"fmt"
	"os"
)

var errOnlyLinux = errors.New("the self test needs Linux: its mock server keeps its schedule with epoll and timerfd")

// Main runs one child of the self test.
func Main([]string) int {
	fmt.Fprintln(os.Stderr, "stepscope:", errOnlyLinux)
	return 1
}

// Run measures how many streams this host's client times accurately.
func Run(context.Context, Options) (*Report, error) { return nil, errOnlyLinux }
