package job

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/stepscope/stepscope/internal/job/spec"
)

// Show prints all commands that the job would run. Values that are known only at run time appear as shell variables:
// $HOST_IP_MACHINE is the address of a worker's first node, and $NODE is the name of a node.
func (p *Plan) Show(w io.Writer, o *Slurm, root string) {
	j := p.Job
	dir := cmp.Or(o.Dir, path.Join(root, p.DirName("JOB_ID", o.At)))
	logs := dir
	if p.Image != "" {
		logs = "/logs"
	}
	fmt.Fprintf(w, "# %s: %d nodes, %s\n", j.Name, p.Nodes, p.label())
	if p.Local {
		fmt.Fprintln(w, "# on this machine: each worker has its own port")
	}
	fmt.Fprintf(w, "\n# Files: %s\n", dir)
	for _, f := range p.Tree() {
		fmt.Fprintf(w, "#   %s\n", f)
	}
	if p.Image != "" {
		fmt.Fprintf(w, "\n# Container: %s\n", p.Image)
		for _, f := range p.container(dir)[3:] {
			for _, m := range strings.Split(strings.TrimPrefix(f, "--container-mounts="), ",") {
				fmt.Fprintf(w, "#   mount %s\n", m)
			}
		}
	}
	if j.Recorded() && !today(j) {
		fmt.Fprintln(w, "# enable_config_dump: false")
	}
	for _, line := range p.Replaced() {
		fmt.Fprintln(w, "# "+line)
	}
	if j.Profiling.Type == spec.Nsys && j.Backend.Type == spec.StepScope {
		fmt.Fprintln(w, "# the embedded server has no GPU, so no CUDA profiler can be started: its window is an NVTX range, -c nvtx -p cudaProfilerApi@stepscope")
	}
	if !p.Local {
		fmt.Fprintf(w, "\n# sbatch_script.sh\n%s", p.Script(*o))
	}
	for i := range p.Workers {
		k := &p.Workers[i]
		for rank, node := range k.Nodes {
			fmt.Fprintf(w, "\n# %s, node %d\n", strings.ToUpper(k.Name()), node)
			p.srun(w, &Task{Name: k.task(rank), Inside: true}, dir)
			leader := "$HOST_IP_MACHINE"
			if p.Local {
				leader = "127.0.0.1"
			}
			c := p.Server(k, rank, logs, leader, "$NODE")
			c.Args = p.wrap(&Task{Inside: true, Command: c})
			fmt.Fprintln(w, shown(c))
		}
	}
	if p.Router > 0 {
		note := "; $IP_N is the address of node N"
		if p.Local {
			note = ""
		}
		fmt.Fprintf(w, "\n# ROUTER_0, node 0%s\n", note)
		p.srun(w, &Task{Name: routerName}, dir)
		fmt.Fprintln(w, shown(p.Route(int(o.Ready.Seconds()), p.shownAddr)))
	}
	for _, l := range p.Loads() {
		if ph := &l.phases[0]; p.Router > 0 {
			fmt.Fprintf(w, "\n# Load of all workers, node %d: %d prompts, enough to last until the windows end (at least %d); recorded: %s, counted after the warm-up\n",
				l.node, l.prompts(), leastPrompts, l.windows())
		} else {
			fmt.Fprintf(w, "\n# Load of %s, node %d: %d prompts, enough to last until step %d (at least %d); its steps %d to %d, counted after the warm-up, are recorded\n",
				ph.Role, l.node, ph.Prompts, ph.StopStep, leastPrompts, ph.StartStep, ph.StopStep)
		}
		p.srun(w, &Task{Name: l.task(), Stdin: true}, dir)
		fmt.Fprintln(w, shown(p.Load(&l, dir, int(o.Ready.Seconds()))))
	}
	if len(p.Phases) > 0 {
		fmt.Fprintln(w, "\n# When all loads are ready, each gets the line \"go\". When they have ended, the workers get SIGTERM and files are gathered. Then, on the first node:")
	}
	for i := range p.Phases {
		ph := &p.Phases[i]
		of := dir + "/runs/" + ph.Name + "/*"
		if p.Router > 0 {
			of = p.traces(dir, ph)
		}
		if j.Profiling.Type == spec.Torch {
			fmt.Fprintf(w, "%s trace merge %s -o %s/merged_%s.trace.json.gz\n", p.Program, p.traces(dir, ph), dir, ph.Name)
		} else {
			of = p.report(&p.Workers[ph.Worker], 0, dir, "NODE")
		}
		fmt.Fprintf(w, "%s analyze %s --html %s/analysis_%s.html\n", p.Program, of, dir, ph.Name)
	}
	if p.joint() {
		fmt.Fprintf(w, "%s analyze %s/runs/all/* --html %s/analysis_all.html\n", p.Program, dir, dir)
	}
}

// shownAddr returns the address of a node as Show prints it.
func (p *Plan) shownAddr(node int) string {
	if p.Local {
		return "127.0.0.1"
	}
	return fmt.Sprintf("$IP_%d", node)
}

// addressWord matches a quoted URL with the variable of a node's address.
var addressWord = regexp.MustCompile(`'(http://\$IP_\d+:\d+)'`)

// nodeWord matches a quoted word with the variable of a node's name.
var nodeWord = regexp.MustCompile(`'([\w/.=:-]*)\$NODE([\w/.-]*)'`)

// shown formats a command and leaves the shell variables in it unquoted.
func shown(c Command) string {
	text := nodeWord.ReplaceAllStringFunc(c.String(), func(word string) string {
		m := nodeWord.FindStringSubmatch(word)
		if m[2] == "" {
			return m[1] + "$NODE"
		}
		return m[1] + "${NODE}" + m[2]
	})
	text = addressWord.ReplaceAllString(text, "$1")
	return strings.NewReplacer("'$KEY'", "$KEY", "'$HOST_IP_MACHINE:29500'", "$HOST_IP_MACHINE:29500", "'$HOST_IP_MACHINE:8300'", "$HOST_IP_MACHINE:8300", "'$HOST_IP_MACHINE'", "$HOST_IP_MACHINE").Replace(text)
}

// srun prints the srun command for a task that runs as a step.
func (p *Plan) srun(w io.Writer, t *Task, dir string) {
	if !p.Local {
		fmt.Fprintf(w, "# as a step: %s\n", shown(Command{Args: p.step(t, "$NODE", dir).Command(context.Background()).Args}))
	}
}

// Tree returns the names of the files that a job's directory will contain. They are the files listed in srtctl's
// document and additional files of stepscope.
func (p *Plan) Tree() (files []string) {
	files = []string{"config.yaml", "sglang_config.yaml", "JOB_ID.json", "state.json"}
	if !p.Local {
		files = append(files, "sbatch_script.sh", "log.out")
	}
	for i := range p.Workers {
		files = append(files, "NODE_"+p.Workers[i].Name()+".out")
	}
	if p.Router > 0 {
		files = append(files, "NODE_"+routerName+".out")
	}
	for _, l := range p.Loads() {
		files = append(files, l.task()+".out", fmt.Sprintf("bench_%s.jsonl", l.name))
		for i := range l.phases {
			ph := &l.phases[i]
			if p.Job.Profiling.Type == spec.Torch {
				files = append(files, p.traces("", ph)+"/*.trace.json.gz", fmt.Sprintf("merged_%s.trace.json.gz", ph.Name))
			} else {
				for rank := range p.Workers[ph.Worker].Nodes {
					files = append(files, p.report(&p.Workers[ph.Worker], rank, "", "NODE"))
				}
			}
			files = append(files, fmt.Sprintf("analysis_%s.{txt,json,html}", ph.Name))
		}
		if p.joint() {
			files = append(files, "analysis_all.{txt,html}")
		}
		files = append(files, l.dir()+"/")
	}
	return files
}
