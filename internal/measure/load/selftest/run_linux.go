package selftest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Real-time priorities, which are used if the system permits them. The canary has the highest priority, and the client
// has the lowest priority.
const (
	canaryPriority = 30
	serverPriority = 20
	clientPriority = 10
)

// Run measures how many streams this host's client times accurately.
func Run(ctx context.Context, opt Options) (*Report, error) {
	if len(opt.Command) == 0 {
		return nil, errors.New("the self test has no command to start its parts")
	}
	cores, err := TwoCores()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "stepscope-selftest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	t := &selfTest{opt: opt, dir: dir, serverCore: cores[0], clientCore: cores[1]}
	t.realtime = probeRealtime(ctx)
	rep := &Report{Realtime: t.realtime, Cores: cores[0] != cores[1]}
	shapes := opt.Shapes
	if shapes == nil {
		shapes = Shapes()
	}
	for _, s := range shapes {
		row, err := t.shape(ctx, s)
		if err != nil {
			return rep, fmt.Errorf("self test %q: %w", s.Name, err)
		}
		rep.Rows = append(rep.Rows, row)
		if opt.Row != nil {
			opt.Row(row)
		}
	}
	return rep, nil
}

type selfTest struct {
	opt                    Options
	dir                    string
	realtime               bool
	serverCore, clientCore int
}

// shape runs one shape. If the machine is too busy for a valid result, shape repeats the run.
func (t *selfTest) shape(ctx context.Context, s Shape) (best Row, err error) {
	for try := range max(t.opt.Tries, 1) {
		row, err := t.once(ctx, s)
		if err != nil {
			return row, err
		}
		if try == 0 || row.better(best) {
			best = row
		}
		if row.Met {
			break
		}
	}
	return best, nil
}

func (t *selfTest) once(ctx context.Context, s Shape) (Row, error) {
	row := Row{Shape: s}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	args := []string{"serve", "-period", s.Period.String(), "-spread", strconv.Itoa(s.phases())}
	if s.Period == 0 {
		args = []string{"serve", "-instant", "-period", "1ms"}
	}
	server, err := t.start(ctx, t.serverCore, serverPriority, t.opt.Command, args)
	if err != nil {
		return row, err
	}
	defer server.stop()
	line, err := server.out.ReadString('\n')
	if err != nil {
		return row, fmt.Errorf("the mock server does not start: %w", err)
	}
	url := strings.TrimSpace(line)
	var canaries []*child
	if t.realtime {
		for _, core := range []int{t.serverCore, t.clientCore} {
			c, err := t.start(ctx, core, canaryPriority, t.opt.Command, []string{"canary"})
			if err != nil {
				return row, err
			}
			defer c.stop()
			canaries = append(canaries, c)
		}
	}
	log := filepath.Join(t.dir, "times")
	command, client := t.opt.Command, []string{
		"client", "-url", url, "-log", log, "-streams", strconv.Itoa(s.Streams), "-tokens", strconv.Itoa(s.Tokens),
		"-rate", strconv.FormatFloat(s.StartRate, 'f', -1, 64),
	}
	if t.opt.Peer != nil && s.Peer {
		command, client = t.opt.Peer, client[1:]
	} else if s.UserStamps {
		client = append(client, "-user-stamps")
	}
	c, err := t.start(ctx, t.clientCore, clientPriority, command, client)
	if err != nil {
		return row, err
	}
	out, err := io.ReadAll(c.out)
	if werr := c.stop(); err == nil {
		err = werr
	}
	if err != nil {
		return row, fmt.Errorf("the client: %w", err)
	}
	if err := json.Unmarshal(out, &row.Client); err != nil {
		return row, fmt.Errorf("the client said %q: %w", out[:min(len(out), 200)], err)
	}
	var pauses []pause
	for _, c := range canaries {
		c.in.Close()
		var p []pause
		if err := json.NewDecoder(c.out).Decode(&p); err != nil {
			return row, fmt.Errorf("the canary: %w", err)
		}
		pauses = append(pauses, p...)
	}
	data, err := os.ReadFile(log)
	if err != nil {
		return row, err
	}
	times := make([]eventTimes, len(data)/binary.Size(eventTimes{}))
	if err := binary.Read(bytes.NewReader(data), binary.LittleEndian, times); err != nil {
		return row, err
	}
	row.Timing = measureTimes(times, pauses)
	row.judge()
	return row, nil
}

// child is a running child process of the self test.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	err bytes.Buffer
}

// start starts a child on one core.
func (t *selfTest) start(ctx context.Context, core, priority int, command, args []string) (*child, error) {
	c := &child{cmd: exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)], args...)...)}
	c.cmd.Env = append(os.Environ(), t.opt.Env...)
	c.cmd.Stderr = &c.err
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.out = in, bufio.NewReader(out)
	if !t.realtime {
		priority = 0
	}
	if err := StartOn(c.cmd, core, priority); err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	return c, nil
}

// StartOn starts a command on one core, in the real-time class if priority is not 0. A separate thread first sets its
// own core and priority and then starts the command. The command inherits both settings. After that the thread ends.
func StartOn(cmd *exec.Cmd, core, priority int) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with this goroutine
		var set unix.CPUSet
		set.Set(core)
		err := os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(0, &set))
		if err == nil && priority > 0 {
			err = setRealtime(priority)
		}
		if err == nil {
			err = cmd.Start()
		}
		done <- err
	}()
	return <-done
}

// stop closes the stdin of a child, which makes the child end, and waits for its end.
func (c *child) stop() error {
	if c.cmd.ProcessState != nil {
		return nil
	}
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(c.err.String()))
	}
	return nil
}

func setRealtime(priority int) error {
	return os.NewSyscallError("sched_setattr", unix.SchedSetAttr(0, &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: uint32(priority),
	}, 0))
}

// probeRealtime reports whether this process may use real-time priorities.
func probeRealtime(context.Context) bool {
	ok := make(chan bool)
	go func() {
		runtime.LockOSThread()
		ok <- setRealtime(clientPriority) == nil
	}()
	return <-ok
}

// TwoCores returns a core for the server and a core for the client. If there is only one core, both are that core.
func TwoCores() ([2]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return [2]int{}, os.NewSyscallError("sched_getaffinity", err)
	}
	var cores []int
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			cores = append(cores, i)
		}
	}
	return [2]int{cores[0], cores[min(1, len(cores)-1)]}, nil
}
