package slurmtest

import (
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/job/slurm"
)

// Job returns Slurm's present state of a job. For an array, Job returns the state of a task that has not ended. If all
// tasks have ended, Job returns the state of a task that did not complete.
func (c *Cluster) Job(id string) slurm.State {
	c.t.Helper()
	all := slurm.ParseJobs(c.output("scontrol", "--oneliner", "show", "job", id))
	if len(all) == 0 {
		c.t.Fatalf("slurmtest: Slurm has no job %s", id)
	}
	for _, is := range []func(slurm.State) bool{
		func(s slurm.State) bool { return !s.Ended() },
		func(s slurm.State) bool { return s.Is != "COMPLETED" },
	} {
		if i := slices.IndexFunc(all, is); i >= 0 {
			return all[i]
		}
	}
	return all[0]
}

// Wait waits until a job has ended, including all tasks of an array. If the time limit is reached, the test fails.
func (c *Cluster) Wait(id string, limit time.Duration) slurm.State {
	c.t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		s := c.Job(id)
		if s.Ended() {
			return s
		}
		if time.Now().After(end) {
			c.t.Fatalf("slurmtest: job %s has not ended after %v: %+v\n%s", id, limit, s, c.output("squeue", "--steps", "--jobs="+id))
		}
	}
}
