package cli

import (
	"os"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/memory"
	"github.com/stepscope/stepscope/internal/base/metric"
)

// memoryFlags limits the memory use of verbs that hold a whole window in memory.
type memoryFlags struct {
	MaxMemory string `placeholder:"BYTES" help:"Exit with an error if more memory than this is needed, such as 8GB (default: half of the machine's, or of the control group's)."`
}

// watch starts watching the memory use, and ends the program when it exceeds the limit. done stops the watching.
func (b *memoryFlags) watch(e *env) (done func(), err error) {
	begin, err := b.watcher(e, nil)
	if err != nil {
		return nil, err
	}
	return begin(), nil
}

// watcher returns a function that starts watching the memory use, for verbs that have other work to do first. If
// abandon is not nil, it is called before the program ends.
func (b *memoryFlags) watcher(e *env, abandon func()) (begin func() (done func()), err error) {
	limit, err := b.limit()
	if err != nil {
		return nil, err
	}
	if limit == 0 { // the memory size of the machine is unknown
		return func() func() { return func() {} }, nil
	}
	return func() func() { return memory.Watch(limit, func() { over(e, limit, abandon) }) }, nil
}

// limit returns the most bytes that the program may use; 0: unknown.
func (b *memoryFlags) limit() (int64, error) {
	if b.MaxMemory == "" {
		return memory.Machine() / 2, nil
	}
	limit, err := memory.Parse(b.MaxMemory)
	if err != nil {
		return 0, usagef("--max-memory %q: %v", b.MaxMemory, err)
	}
	return limit, nil
}

// over ends the program after it has exceeded the memory limit.
func over(e *env, limit int64, abandon func()) {
	// The program ends without waiting for the verb, which could not stop soon enough. All files that the verb has
	// written so far are hidden.
	said := make(chan struct{})
	go func() {
		atomicfile.Abandon()
		e.Warn("this takes more memory than %s: cut a window out of the traces first (stepscope trace cut), give fewer ranks, or allow more with --max-memory", metric.Bytes(limit))
		if abandon != nil {
			abandon()
		}
		close(said)
	}()
	select {
	case <-said:
	case <-time.After(tidy):
	}
	os.Exit(exitFailed)
}
