package job

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/job/spec"
	"github.com/stepscope/stepscope/internal/runs"
)

// leastFree is the free disk space in bytes that each node must have for traces and records. Benchmarks have the same
// requirement.
const leastFree = 64 << 20

// prepareLimit is the timeout of the first step on a node. It is long because many clusters run the prolog before the
// first step.
const prepareLimit = 5 * time.Minute

// marker is a file in a job's directory that shows whether a node sees the same directory.
const marker = ".home"

// ownMarker is a file in a directory that a node does not share with the job.
const ownMarker = ".node"

// Here is the report of a node before any worker is started on the node.
type Here struct {
	Shared bool   `json:"shared"` // the node sees the job's directory, not a local directory of the same name
	Addr   string `json:"addr"`   // address for the other nodes
	Free   int64  `json:"free"`   // bytes free in the directory; -1: unknown
	Busy   []int  `json:"busy"`   // ports that workers need but other programs are using
}

// Prepare makes the job's directories on this node and reports the state of the node. The parameter makes has further
// directories, relative to dir. The parameter token is the
// content of the marker. The parameter iface is the network interface whose address is reported; for "", see address.
// If the node does not share the directory, Prepare writes the text engine to sglang_config.yaml in the node's own
// directory.
func Prepare(dir, token, iface, engine string, ports []int, makes ...string) (*Here, error) {
	for _, d := range append([]string{"profiles", "runs"}, makes...) {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	text, err := atomicfile.ReadFile(filepath.Join(dir, marker))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	h := &Here{Shared: string(text) == token, Free: -1, Busy: slices.DeleteFunc(ports, portIsFree)}
	if free, ok := runs.FreeSpace(dir); ok {
		h.Free = free
	}
	if !h.Shared {
		if err := os.WriteFile(filepath.Join(dir, ownMarker), []byte(token), 0o644); err != nil {
			return nil, err
		}
		if engine != "" {
			if err := os.WriteFile(filepath.Join(dir, engineFile), []byte(engine), 0o600); err != nil {
				return nil, err
			}
		}
	}
	h.Addr, err = address(iface)
	return h, err
}

// Forget removes a directory that the node does not share with the job. Call it after the files in the directory have
// been collected.
func Forget(dir, token string) error {
	text, err := atomicfile.ReadFile(filepath.Join(dir, ownMarker))
	if err != nil {
		return err
	}
	if string(text) != token {
		return fmt.Errorf("%s belongs to another job", dir)
	}
	// If the state file exists, the directory is shared, but the node saw the marker late.
	if _, err := os.Stat(filepath.Join(dir, stateFile)); err == nil {
		return fmt.Errorf("%s is the job's own directory: it is shared", dir)
	}
	return os.RemoveAll(dir)
}

// address returns the address at which other nodes reach this machine. If iface is given, the address is that of iface.
// If iface is "", it is the address of the interface of the default route. A container bridge must not be used, because
// it may have the same address on all nodes. Without a default route, address returns the first private address, or
// else the first address of any kind.
func address(iface string) (string, error) {
	if iface == "" {
		if c, err := net.Dial("udp4", "192.0.2.1:9"); err == nil { // a UDP dial sends nothing
			defer c.Close()
			if a, ok := c.LocalAddr().(*net.UDPAddr); ok && !a.IP.IsLoopback() {
				return a.IP.String(), nil
			}
		}
	}
	all, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	best, names := "", []string{}
	for _, i := range all {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		names = append(names, i.Name)
		if iface != "" && i.Name != iface {
			continue
		}
		addrs, _ := i.Addrs()
		for _, a := range addrs {
			ip, _, _ := net.ParseCIDR(a.String())
			switch {
			case ip.To4() == nil || ip.IsLinkLocalUnicast():
			case ip.IsPrivate():
				return ip.String(), nil
			case best == "":
				best = ip.String()
			}
		}
	}
	switch {
	case best != "":
		return best, nil
	case iface != "":
		return "", fmt.Errorf("network_interface %s has no IPv4 address here; the interfaces are %s", iface, strings.Join(names, ", "))
	}
	return "127.0.0.1", nil // there is no network
}

// short runs a program on a node, waits for its end, and returns its stdout.
func short(ctx context.Context, c Carrier, name string, node int, limit time.Duration, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := streamed(ctx, c, name, node, limit, &out, args...)
	return out.Bytes(), err
}

// streamed runs a program on a node, waits for its end, and copies its stdout to out.
func streamed(ctx context.Context, c Carrier, name string, node int, limit time.Duration, out io.Writer, args ...string) error {
	ctx, done := context.WithTimeout(ctx, limit)
	defer done()
	t := &Task{Name: name, Node: node, Command: Command{Args: args}}
	cmd, err := c.Command(t)
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, &said, 5*time.Second
	ended, err := launch(cmd)
	if err != nil {
		return err
	}
	select {
	case err = <-ended:
	case <-ctx.Done():
		c.Signal(context.WithoutCancel(ctx), t, 9)
		cmd.Process.Kill()
		<-ended
		err = fmt.Errorf("not finished after %v", limit)
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		if line := cmp.Or(lastLine(said.String()), strings.TrimSpace(said.String())); line != "" {
			if line = strings.TrimPrefix(line, "stepscope: "); errors.As(err, new(*exec.ExitError)) {
				return fmt.Errorf("%s: %s", c.Nodes()[node].Name, line)
			}
			return fmt.Errorf("%s: %s (%w)", c.Nodes()[node].Name, line, err)
		}
		return fmt.Errorf("%s: %w", c.Nodes()[node].Name, err)
	}
	return nil
}

// lastLine returns the last line of text that was not written by Slurm.
func lastLine(text string) string {
	last := ""
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "srun:") && !strings.HasPrefix(line, "slurmstepd") {
			last = line
		}
	}
	return last
}

// everywhere calls do concurrently for the nodes of a job, once per machine.
func everywhere(c Carrier, do func(node int) error) error {
	var wg sync.WaitGroup
	seen, errs := map[string]bool{}, make([]error, len(c.Nodes()))
	for i, n := range c.Nodes() {
		if !seen[n.Name] {
			seen[n.Name] = true
			wg.Go(func() { errs[i] = do(i) })
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// prepare runs Prepare on each node and collects the reports of the nodes.
func (r *Run) prepare(ctx context.Context) error {
	r.here = make([]Here, len(r.c.Nodes()))
	err := everywhere(r.c, func(i int) error {
		args := []string{r.plan.Program, "job", "prepare", r.dir, r.token, "--interface=" + r.Interface}
		if !r.plan.Job.Recorded() {
			args = append(args, "--engine="+Engine(r.plan.Job)) // dynamo's workers read this file
		}
		if today(r.plan.Job) && r.plan.Job.Profiling.Type == spec.Nsys { // nsys makes no directories
			for _, role := range r.plan.Job.Roles() {
				args = append(args, "--make="+r.plan.profiles("", role))
			}
		}
		for _, port := range r.plan.leads(func(n int) bool { return r.c.Nodes()[n].Name == r.c.Nodes()[i].Name }) {
			args = append(args, fmt.Sprintf("--port=%d", port))
		}
		text, err := short(ctx, r.c, "prepare", i, prepareLimit, args...)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &r.here[i]); err != nil {
			return err
		}
		if free := r.here[i].Free; free >= 0 && free < leastFree {
			return fmt.Errorf("%s has %d MB free in %s; traces need at least %d MB", r.c.Nodes()[i].Name, free>>20, r.dir, int64(leastFree)>>20)
		}
		if busy := r.here[i].Busy; len(busy) > 0 { // the other program would receive the load until the worker fails
			advice := "give the worker another port in sglang_config, or ask for whole nodes"
			if busy[0] == r.plan.Router {
				advice = "the router needs it; ask for whole nodes"
			}
			return fmt.Errorf("port %d of %s is in use by another program: %s", busy[0], r.c.Nodes()[i].Name, advice)
		}
		return nil
	})
	for i, n := range r.c.Nodes() {
		for j, m := range r.c.Nodes()[:i] {
			if m.Name == n.Name {
				r.here[i] = r.here[j]
			}
		}
	}
	return err
}
