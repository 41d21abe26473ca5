package cli

import (
	"os"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/memory"
	"github.com/stepscope/stepscope/internal/base/metric"
)

// bounded is how much memory a verb may take that has all of a window in it.
type memoryFlags struct {
	MaxMemory string `placeholder:"BYTES" help:"End with an error when more memory is needed, such as 8GB (default: half of the machine, or of the control group)."`
}

// watch ends the program when it needs more than it may; done ends the watching.
func (b *memoryFlags) watch(e *env) (done func(), err error) {
	begin, err := b.watcher(e, nil)
	if err != nil {
		return nil, err
	}
	return begin(), nil
}

// watcher gives what begins the watching, for verbs that do other things first. abandon, if there is one, is called
// before the program ends.
func (b *memoryFlags) watcher(e *env, abandon func()) (begin func() (done func()), err error) {
	limit := memory.Machine() / 2
	if b.MaxMemory != "" {
		if limit, err = memory.Parse(b.MaxMemory); err != nil {
			return nil, usagef("--max-memory %q: %v", b.MaxMemory, err)
		}
	}
	if limit == 0 { // nobody says what there is
		return func() func() { return func() {} }, nil
	}
	return func() func() { return memory.Watch(limit, func() { over(e, limit, abandon) }) }, nil
}

// over ends the program, which needs more than the limit.
func over(e *env, limit int64, abandon func()) {
	// Nothing that the verb is in the middle of could end it soon enough, and all it has written is hidden.
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
