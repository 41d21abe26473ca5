package job

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
)

// Slurm is what a batch job of Slurm is told beyond the plan, from the cluster file.
type Slurm struct {
	Root       string   // the directory that the jobs' directories are in
	Dir        string   // the job's own directory; "": one in Root, by its id
	GPUs       bool     // --gpus-per-node
	Segment    bool     // --segment, which old releases do not know
	Exclusive  bool     // --exclusive
	Directives []string // more lines of sbatch, without #SBATCH
	Ready      time.Duration
	Interface  string
	RunDir     string
	At         time.Time // of the submission, in the directory's name
	Follow     bool      // who submits follows the job
	Token      string    // by which it is told whether the directory is shared
}

// DirName is the name of a job's directory: its id, its workers, when it was submitted.
func (p *Plan) DirName(id string, at time.Time) string {
	return fmt.Sprintf("%s_%s_%s", id, p.label(), at.Format("20060102_150405"))
}

// For is the directory of a job.
func (o *Slurm) For(p *Plan, id string) string {
	if o.Dir != "" {
		return o.Dir
	}
	return filepath.Join(o.Root, p.DirName(id, o.At))
}

// notice is how long before its time limit a job is told to end, so that it can gather.
func notice(limit string) string {
	if m, ok := minutes(limit); ok && m <= 5 {
		return "B:INT@20"
	}
	return "B:INT@120"
}

// minutes is a time limit of Slurm: minutes, minutes:seconds, hours:minutes:seconds, with days before a dash.
func minutes(limit string) (m int, ok bool) {
	days, rest, dashed := strings.Cut(limit, "-")
	if !dashed {
		days, rest = "0", limit
	}
	d, err := strconv.Atoi(days)
	if err != nil {
		return 0, false
	}
	f := strings.Split(rest, ":")
	n := make([]int, 3)
	for i := range f {
		if i > 2 {
			return 0, false
		}
		if n[i], err = strconv.Atoi(f[i]); err != nil {
			return 0, false
		}
	}
	if dashed || len(f) == 3 {
		return d*24*60 + n[0]*60 + n[1], true
	}
	return n[0], true
}

// Script is the batch script. It makes its own directory, since Slurm does not, and a job whose output has none dies
// without a word; and it becomes the process that conducts the job, so that signals reach that.
func (p *Plan) Script(o Slurm) string { return p.directives(&o, p.Job.Name) + p.body(&o) }

// sbatchWord is a word as sbatch reads it in a script: as a shell does, but that a backslash counts inside quotes, too.
func sbatchWord(word string) string { return columns.ShellWord(strings.ReplaceAll(word, `\`, `\\`)) }

// directives are what Slurm is asked for.
func (p *Plan) directives(o *Slurm, name string) string {
	var b strings.Builder
	j := p.Job
	b.WriteString("#!/bin/bash\n")
	directive := func(format string, args ...any) { fmt.Fprintf(&b, "#SBATCH "+format+"\n", args...) }
	directive("--job-name=%s", sbatchWord(name))
	directive("--nodes=%d", p.Nodes)
	directive("--ntasks=%d", p.Nodes)
	directive("--ntasks-per-node=1")
	directive("--output=/dev/null") // log.out, see below
	directive("--chdir=/")          // where who submits is, need not be on the nodes
	directive("--no-requeue")
	directive("--no-kill") // a node that fails does not take the others' files with it
	directive("--signal=%s", notice(j.Slurm.TimeLimit))
	for _, f := range []struct{ name, value string }{{"account", j.Slurm.Account}, {"partition", j.Slurm.Partition}, {"time", j.Slurm.TimeLimit}} {
		if f.value != "" {
			directive("--%s=%s", f.name, sbatchWord(f.value))
		}
	}
	if o.GPUs {
		directive("--gpus-per-node=%d", j.Resources.GPUsPerNode)
	}
	if o.Segment {
		directive("--segment=%d", p.Nodes)
	}
	if o.Exclusive {
		directive("--exclusive")
	}
	for _, d := range o.Directives {
		directive("%s", sbatchWord(d))
	}
	return b.String()
}

// body is what the script does.
func (p *Plan) body(o *Slurm) string {
	var b strings.Builder
	dir := columns.ShellWord(o.Dir)
	if o.Dir == "" {
		dir = columns.ShellWord(o.Root) + "/" + p.DirName("${SLURM_JOB_ID}", o.At)
	}
	fmt.Fprintf(&b, "dir=%s\n", dir)
	b.WriteString(`if ! said=$(mkdir -p "$dir" 2>&1); then
	scontrol update JobId="$SLURM_JOB_ID" Comment="$said"
	exit 12
fi
exec >>"$dir/log.out" 2>&1
`)
	fmt.Fprintf(&b, "exec %s job conduct --dir=\"$dir\" --ready-timeout=%s", columns.ShellWord(p.Program), o.Ready)
	if o.Interface != "" {
		fmt.Fprintf(&b, " --interface=%s", columns.ShellWord(o.Interface))
	}
	for _, m := range p.Mounts {
		fmt.Fprintf(&b, " --mount=%s", columns.ShellWord(m))
	}
	if p.Preamble != "" {
		fmt.Fprintf(&b, " --preamble=%s", columns.ShellWord(p.Preamble))
	}
	if o.Token != "" {
		fmt.Fprintf(&b, " --token=%s", o.Token)
	}
	if o.Follow {
		b.WriteString(" --followed")
	}
	if o.RunDir != "" {
		fmt.Fprintf(&b, " --run-dir=%s", columns.ShellWord(o.RunDir))
	}
	fmt.Fprintf(&b, " - <<'END_OF_JOB'\n%sEND_OF_JOB\n", Config(p.Job))
	return b.String()
}
