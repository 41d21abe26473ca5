package watch

import (
	"bytes"
	"context"
	"os/exec"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
)

const (
	execTime = time.Minute // timeout of a command
	execMost = 100         // maximum number of queued events
)

// executor runs a command for each event, one at a time.
type executor struct {
	command string
	say     *progress.Console
	events  chan []byte
	all     sync.WaitGroup
	lost    int
}

func startExec(command string, say *progress.Console) *executor {
	x := &executor{command: command, say: say, events: make(chan []byte, execMost)}
	x.all.Go(func() {
		for e := range x.events {
			x.run(e)
		}
	})
	return x
}

// event queues an event; it never blocks.
func (x *executor) event(e []byte) {
	select {
	case x.events <- e:
	default:
		x.lost++
	}
}

// end waits until all queued events are handled.
func (x *executor) end() {
	close(x.events)
	x.all.Wait()
	if x.lost > 0 {
		x.say.Lack("--exec: %s dropped, because %d were already waiting for the command", plural(x.lost, "event"), execMost)
	}
}

func (x *executor) run(e []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), execTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", x.command)
	cmd.Stdin, cmd.WaitDelay = bytes.NewReader(append(e, '\n')), 5*time.Second
	out, err := cmd.CombinedOutput()
	if text := bytes.TrimSpace(out); len(text) > 0 {
		x.say.Line("--exec: " + string(text[:min(len(text), 2000)]))
	}
	if err != nil {
		x.say.Warn("--exec: %v", err)
	}
}
