package nsys

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Plan holds the command line that starts a program under nsys, and the options for each start of a window.
type Plan struct {
	Args  []string // command line of nsys, up to the program
	Start []string
	Notes []string // messages to the user about changes for this version of nsys
}

// wrapped lists the default options for a server. With these options, nsys traces the server's child processes, and
// traces each kernel of a CUDA graph individually. CPU sampling is off, because it has prevented servers from starting.
// If the user gives an option whose name is in names, the default is not used.
var wrapped = []struct {
	option string
	names  []string
	may    bool // use the option only if nsys supports it
}{
	{"--trace=cuda,nvtx", []string{"-t", "--trace"}, false},
	{"--trace-fork-before-exec=true", []string{"--trace-fork-before-exec"}, true},
	{"--cuda-graph-trace=node", []string{"--cuda-graph-trace"}, true},
	{"--discard-environment=true", []string{"--discard-environment"}, true},
}

// Plan builds the command line of the mode. For a window of the whole program, and for ranges that nsys repeats by
// itself, the command is nsys profile. For all other windows the commands are nsys launch and nsys start. Plan does not
// use nsys profile --start-later, for three reasons: the first nsys start ignores its own options, each later nsys
// start forgets the options of nsys profile, and versions before 2023 do not have --start-later.
//
// Plan checks the user's options, because nsys would reject wrong options later or not at all.
func (l *Launch) Plan(ctx context.Context) (*Plan, error) {
	command := "launch"
	if l.Mode == Whole || l.Mode == Own {
		command = "profile"
	}
	first, err := l.Tool.Options(ctx, command)
	if err != nil {
		return nil, err
	}
	start, err := l.Tool.Options(ctx, "start")
	if err != nil {
		return nil, err
	}
	p := &Plan{Args: []string{command}}
	var own []string
	for _, o := range l.Options {
		name, by := known(o, first, start)
		switch {
		case by < 0:
			return nil, fmt.Errorf("nsys %v has no option %s for %s (see: %s %s --help)", l.Tool.Version, optionName(o), command, l.Tool.Path, command)
		case name != o:
			p.Notes = append(p.Notes, fmt.Sprintf("nsys %v calls %s %s", l.Tool.Version, optionName(o), optionName(name)))
		}
		if by == 0 {
			own = append(own, name)
		}
		// Options that nsys start supports must be repeated for each call of nsys start.
		if name, by := known(o, start); by == 0 && !slices.Contains(rangeOptions, optionName(name)) {
			p.Start = append(p.Start, name)
		}
	}
	for _, w := range wrapped {
		if !gives(own, w.names...) && (!w.may || first[optionName(w.option)]) {
			p.Args = append(p.Args, w.option)
		}
	}
	if !first["--discard-environment"] {
		p.Notes = append(p.Notes, fmt.Sprintf("reports of nsys %v contain the environment variables of your processes, including tokens and keys: keep them private", l.Tool.Version))
	}
	if command == "profile" {
		p.Args = append(p.Args, quiet(own)...)
		p.Args = append(p.Args, "--force-overwrite=true", "--output="+l.Output)
	}
	if l.Range != "" && command == "profile" {
		p.Args = append(p.Args, "--capture-range="+l.Range)
	}
	if l.Range == "nvtx" && !gives(own, "-p", "--nvtx-capture") {
		p.Args = append(p.Args, "--nvtx-capture="+cmp.Or(l.NVTX, NVTXRange))
	}
	p.Args = append(append(p.Args, "--session-new="+l.Session), own...)
	return p, nil
}

// rename changes the name of the session in the command line.
func (p *Plan) rename(session string) {
	for i, a := range p.Args {
		if strings.HasPrefix(a, "--session-new=") {
			p.Args[i] = "--session-new=" + session
		}
	}
}

// NVTXRange is the NVTX range (NAME@DOMAIN) that stepscope's servers open during a window of CUDA_PROFILER.
const NVTXRange = "cudaProfilerApi@stepscope"

var rangeOptions = []string{"-c", "--capture-range", "--capture-range-end", "-o", "--output", "-f", "--force-overwrite"}

func optionName(option string) string {
	name, _, _ := strings.Cut(option, "=")
	return name
}
