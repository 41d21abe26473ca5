// Command build measures the cost of the first build, with an empty cache, and the size of the binary. It reports both by
// origin of the code.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/scripts/bench/goal"
)

// most is the maximum time to compile third-party packages. It is a fraction of the time to compile the packages of the
// standard library that the program uses. The program's own packages are not limited, because their number grows with
// the program.
const most = 0.5

// module is the program's own module.
const module = "github.com/stepscope/stepscope"

func main() {
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, "buildbench:", err)
		os.Exit(2)
	}
	if goal.Missed {
		os.Exit(1)
	}
}

// action is an action of the go command, as written by -debug-actiongraph. Times are in ns.
type action struct {
	Mode, Package            string
	CmdReal, CmdUser, CmdSys time.Duration
}

func (a *action) cpu() time.Duration { return a.CmdUser + a.CmdSys }

func measure() error {
	dir, err := os.MkdirTemp(".bench", "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	graph := filepath.Join(dir, "graph.json")
	cmd := exec.Command("go", "build", "-debug-actiongraph", graph, "-o", filepath.Join(dir, "stepscope"), "./cmd/stepscope")
	cmd.Env = append(os.Environ(), "GOCACHE="+filepath.Join(dir, "cache"))
	cmd.Stderr = os.Stderr
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	wall, cpu := time.Since(begin), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	text, err := os.ReadFile(graph)
	if err != nil {
		return err
	}
	var actions []action
	if err := json.Unmarshal(text, &actions); err != nil {
		return fmt.Errorf("%s: %w", graph, err)
	}
	took := map[string]time.Duration{}
	packages := map[string]int{}
	var slow []action
	for _, a := range actions {
		whose := "the rest of linking and cgo"
		if a.Mode == "build" {
			whose = owner(a.Package)
			packages[whose]++
			slow = append(slow, a)
		}
		took[whose] += a.cpu()
	}
	fmt.Printf("%-32s %9s %9s\n", "", "packages", "CPU")
	for _, whose := range []string{standard, own, others, "the rest of linking and cgo"} {
		fmt.Printf("%-32s %9d %7.1f s\n", whose, packages[whose], took[whose].Seconds())
	}
	fmt.Printf("%-32s %9s %7.1f s, %.1f s on the wall\n", "the whole build", "", cpu.Seconds(), wall.Seconds())
	slices.SortFunc(slow, func(a, b action) int { return int(b.cpu() - a.cpu()) })
	fmt.Println("\nwhat takes longest:")
	for _, a := range slow[:min(10, len(slow))] {
		fmt.Printf("%7.2f s  %s\n", a.cpu().Seconds(), a.Package)
	}
	fmt.Println()
	share := took[others].Seconds() / took[standard].Seconds()
	goal.Say(share <= most, "first build: packages of others take %.2f of what the standard library takes (goal %.2f), all of it %.1f times",
		share, most, cpu.Seconds()/took[standard].Seconds())
	return binary(dir)
}

const (
	standard = "the standard library"
	own      = "the program's own"
	others   = "of others"
)

func owner(pkg string) string {
	switch first, _, _ := strings.Cut(pkg, "/"); {
	case strings.HasPrefix(pkg, module):
		return own
	case strings.Contains(first, "."):
		return others
	}
	return standard
}
