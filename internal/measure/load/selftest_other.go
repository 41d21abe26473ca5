//go:build !linux

package load

import (
	"context"
	"errors"
	"fmt"
	"os"
)

var errOnlyLinux = errors.New("load: the self test needs Linux: its mock server keeps its schedule by epoll and timerfd")

// MockMain runs one child of the self test.
func MockMain([]string) int {
	fmt.Fprintln(os.Stderr, "stepscope:", errOnlyLinux)
	return 1
}

// SelfTest measures how many streams this host's client times honestly.
func SelfTest(context.Context, SelfTestOptions) (*SelfTestReport, error) { return nil, errOnlyLinux }
