package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/suggest"
	"github.com/stepscope/stepscope/internal/base/yamltree"
)

// Cluster is a srtslurm.yaml: what all jobs of a cluster share.
type Cluster struct {
	DefaultAccount, DefaultPartition, DefaultTimeLimit string

	GPUsPerNode      int    // 0: as the job says
	NetworkInterface string // of the addresses that workers give each other
	OutputDir        string // where the directories of jobs go
	SrtctlRoot       string

	ModelPaths, Containers []Setting // aliases
	DefaultMounts          []Setting // host to container
	DefaultSbatch          []Setting // more directives of sbatch
	DefaultBashPreamble    string    // before each command in a container

	UseGPUsPerNode, UseSegment, UseExclusive bool // directives of sbatch

	origin
}

var clusterKeys = []key[Cluster]{
	{name: "default_account", about: "Account of jobs that name none.", at: func(c *Cluster) any { return &c.DefaultAccount }},
	{name: "default_partition", about: "Partition of jobs that name none.", at: func(c *Cluster) any { return &c.DefaultPartition }},
	{name: "default_time_limit", about: "Time limit of jobs that name none.", at: func(c *Cluster) any { return &c.DefaultTimeLimit }},
	{name: "gpus_per_node", about: "GPUs of a node, for jobs that do not say.", least: 1, at: func(c *Cluster) any { return &c.GPUsPerNode }},
	{name: "network_interface", about: "The interface whose address workers use.", at: func(c *Cluster) any { return &c.NetworkInterface }},
	{name: "output_dir", about: "Where the directories of jobs go.", at: func(c *Cluster) any { return &c.OutputDir }},
	{name: "srtctl_root", about: "Where the directories of jobs go, in logs, unless output_dir says.", at: func(c *Cluster) any { return &c.SrtctlRoot }},
	{name: "model_paths", about: "Directories of models by their aliases.", at: func(c *Cluster) any { return func(s []Setting) { c.ModelPaths = s } }},
	{name: "containers", about: "Images by their aliases.", at: func(c *Cluster) any { return func(s []Setting) { c.Containers = s } }},
	{name: "default_mounts", about: "Directories of the host that all containers have, and where.", at: func(c *Cluster) any { return func(s []Setting) { c.DefaultMounts = s } }},
	{name: "default_sbatch_directives", about: "More directives of sbatch, without their dashes.", at: func(c *Cluster) any { return func(s []Setting) { c.DefaultSbatch = s } }},
	{name: "default_bash_preamble", lines: true, about: "Shell commands before each command in a container.", at: func(c *Cluster) any { return &c.DefaultBashPreamble }},
	{name: "use_gpus_per_node_directive", about: "Ask for GPUs by --gpus-per-node.", preset: true, at: func(c *Cluster) any { return &c.UseGPUsPerNode }},
	{name: "use_segment_sbatch_directive", about: "Ask for neighbouring nodes by --segment, which wants a newer Slurm than 22.05.", preset: true, at: func(c *Cluster) any { return &c.UseSegment }},
	{name: "use_exclusive_sbatch_directive", about: "Ask for whole nodes by --exclusive.", preset: false, at: func(c *Cluster) any { return &c.UseExclusive }},
	{name: "cluster", about: "Read by srtctl alone."},
	{name: "default_container", about: "Read by srtctl alone."},
	{name: "default_health_check", about: "Read by srtctl alone."},
	{name: "use_het_jobs", about: "Read by srtctl alone."},
	{name: "nginx_raise_ulimit", about: "Read by srtctl alone."},
	{name: "cloud", about: "Read by srtctl alone."},
	{name: "reporting", about: "Read by srtctl alone."},
	{name: "telemetry", about: "Read by srtctl alone."},
}

// The names of the cluster file, and of the variable that says where it is.
const (
	clusterFile     = "srtslurm.yaml"
	clusterVariable = "SRTSLURM_CONFIG"
)

// FindCluster is the path of the cluster file: given, of the environment, or in
// the working directory or the two above; empty if there is none.
func FindCluster(given string) (string, error) {
	if given != "" {
		_, err := os.Stat(given)
		return given, err
	}
	if path := os.Getenv(clusterVariable); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s: %w", clusterVariable, err)
		}
		return path, nil
	}
	for _, dir := range []string{".", "..", filepath.Join("..", "..")} {
		path := filepath.Join(dir, clusterFile)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", nil
}

// ParseCluster reads a cluster file; the error is Problems.
func ParseCluster(name string, data []byte) (*Cluster, []Note, error) {
	r := newReader(name, &Cluster{UseGPUsPerNode: true, UseSegment: true}, clusterKeys)
	if tree := r.parse(data); tree != nil && tree.Kind != yamltree.Null {
		r.read(tree)
	}
	if limit := r.into.DefaultTimeLimit; limit != "" && !timeLimit.MatchString(strings.ToUpper(limit)) {
		r.problem("default_time_limit", "default_time_limit: %q is no time limit: want HH:MM:SS, D-HH:MM:SS or minutes", shortened(limit))
	}
	if err := r.problems.err(); err != nil {
		return nil, nil, err
	}
	InOrder(r.notes)
	r.into.origin = r.origin
	return r.into, r.notes, nil
}

// Logs is where the directories of jobs go, if the cluster says it, else usual.
func (c *Cluster) Logs(usual string) string {
	switch {
	case c.OutputDir != "":
		return c.OutputDir
	case c.SrtctlRoot != "":
		return filepath.Join(c.SrtctlRoot, "logs")
	}
	return usual
}

// usualLimit is the time limit of a job when neither it nor its cluster says one;
// it is srtctl's.
const usualLimit = "04:00:00"

// Resolve fills in what a job leaves to its cluster, and puts paths in place of
// aliases; without a cluster (nil) there are none. The error is Problems of the
// job's file: aliases that nobody knows, and workers that do not fit on the
// cluster's nodes. A job that was resolved stays as it is.
func (c *Cluster) Resolve(j *Job) error {
	if c == nil {
		c = &Cluster{}
	}
	for _, s := range []struct {
		to            *string
		cluster, last string
	}{
		{&j.Slurm.Account, c.DefaultAccount, ""}, {&j.Slurm.Partition, c.DefaultPartition, ""},
		{&j.Slurm.TimeLimit, c.DefaultTimeLimit, usualLimit},
	} {
		if *s.to == "" {
			*s.to = s.cluster
		}
		if *s.to == "" {
			*s.to = s.last
		}
	}
	if c.GPUsPerNode > 0 && !j.given("resources.gpus_per_node") {
		j.Resources.GPUsPerNode = c.GPUsPerNode
	}
	var problems Problems
	for _, s := range []struct {
		key, under string
		to         *string
		aliases    []Setting
	}{
		{"model.path", "model_paths", &j.Model.Path, c.ModelPaths},
		{"model.container", "containers", &j.Model.Container, c.Containers},
	} {
		if path, ok := alias(*s.to, s.aliases); ok {
			*s.to = path
		} else {
			problems = append(problems, j.note(s.key, "%s: %s", s.key, c.noAlias(*s.to, s.under, s.aliases)))
		}
	}
	return append(problems, problemsOf(j.Fit())...).err()
}

func problemsOf(err error) Problems {
	p, _ := err.(Problems)
	return p
}

// alias is what a name stands for: a path, a file here and what has a colon (an
// image of a registry, a model that is built in) stand for themselves.
func alias(name string, aliases []Setting) (string, bool) {
	for _, a := range aliases {
		if a.Name == name {
			return a.Value, true
		}
	}
	if name == "" || strings.ContainsAny(name, "/:") {
		return name, true
	}
	_, err := os.Stat(name)
	return name, err == nil
}

// noAlias says that a name stands for nothing, and where it should.
func (c *Cluster) noAlias(name, under string, aliases []Setting) string {
	if c.file == "" {
		return fmt.Sprintf("no path, and no file %s here that says what the alias %q is; set %s, or give a path", clusterFile, name, clusterVariable)
	}
	known := make([]string, len(aliases))
	for i, a := range aliases {
		known[i] = a.Name
	}
	slices.Sort(known)
	text := fmt.Sprintf("%s has no alias %q in %s", c.file, name, under)
	if like := suggest.Closest(name, known); like != "" {
		text += fmt.Sprintf("; did you mean %s?", like)
	}
	if len(known) == 0 {
		return text + ", which is empty"
	}
	return text + "; there are " + list(known)
}
