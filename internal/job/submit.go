package job

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
)

// Slurm holds the options of a Slurm batch job that are not part of the plan. Most come from the cluster file.
type Slurm struct {
	Root       string   // parent of the jobs' directories
	Dir        string   // the job's directory; "": a directory in Root with the job's id in its name
	GPUs       bool     // --gpus-per-node
	Segment    bool     // --segment, which old Slurm releases lack
	Exclusive  bool     // --exclusive
	Directives []string // additional sbatch directives, without #SBATCH
	Ready      time.Duration
	Interface  string
	RunDir     string
	At         time.Time // time of submission, which is part of the directory's name
	Follow     bool      // the submitting process follows the job
	Token      string    // token by which the job detects whether the directory is shared
}

// DirName returns the name of a job's directory. The name consists of the id, the workers and the time of submission.
func (p *Plan) DirName(id string, at time.Time) string {
	return fmt.Sprintf("%s_%s_%s", id, p.label(), at.Format("20060102_150405"))
}

// For returns the directory of a job.
func (o *Slurm) For(p *Plan, id string) string {
	if o.Dir != "" {
		return o.Dir
	}
	return filepath.Join(o.Root, p.DirName(id, o.At))
}

// notice returns the --signal option that makes Slurm interrupt a job some time before the time limit. The job can then
// collect its files.
func notice(limit string) string {
	if m, ok := minutes(limit); ok && m <= 5 {
		return "B:INT@20"
	}
	return "B:INT@120"
}

// minutes parses a Slurm time limit and returns it in minutes. The format is minutes, minutes:seconds or
// hours:minutes:seconds. A number of days and a dash may precede it.
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

// Script returns the batch script. The script makes the job's directory, because Slurm does not make it and a job
// without an output directory fails silently. The script then calls exec to become the process that runs the job, so
// that signals reach that process.
func (p *Plan) Script(o Slurm) string { return p.directives(&o, p.Job.Name) + p.body(&o) }

// sbatchWord quotes a word for an #SBATCH line. sbatch parses #SBATCH lines like a shell, but also interprets
// backslashes inside quotes.
func sbatchWord(word string) string { return columns.ShellWord(strings.ReplaceAll(word, `\`, `\\`)) }

// directives returns the #SBATCH lines.
func (p *Plan) directives(o *Slurm, name string) string {
	var b strings.Builder
	j := p.Job
	b.WriteString("#!/bin/bash\n")
	directive := func(format string, args ...any) { fmt.Fprintf(&b, "#SBATCH "+format+"\n", args...) }
	directive("--job-name=%s", sbatchWord(name))
	directive("--nodes=%d", p.Nodes)
	directive("--ntasks=%d", p.Nodes)
	directive("--ntasks-per-node=1")
	directive("--output=/dev/null") // the script writes log.out, see body
	directive("--chdir=/")          // the submission directory may not exist on the nodes
	directive("--no-requeue")
	directive("--no-kill") // if one node fails, the files of the other nodes must not be lost
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

// body returns the commands of the script.
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
