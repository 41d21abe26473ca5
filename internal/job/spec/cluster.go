package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/memory"
	"github.com/stepscope/stepscope/internal/base/suggest"
	"github.com/stepscope/stepscope/internal/base/yamltree"
)

// Cluster is the content of a srtslurm.yaml: the settings that are common to all jobs of a cluster.
type Cluster struct {
	DefaultAccount, DefaultPartition, DefaultTimeLimit string

	GPUsPerNode      int    // 0: use the job's value
	NetworkInterface string // network interface whose addresses workers use among each other
	OutputDir        string // parent of the jobs' directories
	SrtctlRoot       string

	ModelPaths, Containers []Setting // aliases
	DefaultMounts          []Setting // mounts, host to container
	DefaultSbatch          []Setting // additional sbatch directives
	DefaultBashPreamble    string    // shell code run before each command in a container

	UseGPUsPerNode, UseSegment, UseExclusive bool // whether to emit the sbatch directives

	origin
}

var clusterKeys = []key[Cluster]{
	{name: "default_account", about: "Account for jobs that do not specify one.", at: func(c *Cluster) any { return &c.DefaultAccount }},
	{name: "default_partition", about: "Partition for jobs that do not specify one.", at: func(c *Cluster) any { return &c.DefaultPartition }},
	{name: "default_time_limit", about: "Time limit for jobs that do not specify one.", at: func(c *Cluster) any { return &c.DefaultTimeLimit }},
	{name: "gpus_per_node", about: "GPUs per node, for jobs that do not specify it.", least: 1, most: memory.MostRanks, at: func(c *Cluster) any { return &c.GPUsPerNode }},
	{name: "network_interface", about: "Network interface whose address the workers use.", at: func(c *Cluster) any { return &c.NetworkInterface }},
	{name: "output_dir", about: "Parent of the job directories.", at: func(c *Cluster) any { return &c.OutputDir }},
	{name: "srtctl_root", about: "Parent of logs, which has the job directories unless output_dir is set.", at: func(c *Cluster) any { return &c.SrtctlRoot }},
	{name: "model_paths", about: "Model directories by alias.", at: func(c *Cluster) any { return func(s []Setting) { c.ModelPaths = s } }},
	{name: "containers", about: "Container images by alias.", at: func(c *Cluster) any { return func(s []Setting) { c.Containers = s } }},
	{name: "default_mounts", about: "Host directories to mount in all containers, with their mount points.", at: func(c *Cluster) any { return func(s []Setting) { c.DefaultMounts = s } }},
	{name: "default_sbatch_directives", about: "Additional sbatch directives, without leading dashes.", at: func(c *Cluster) any { return func(s []Setting) { c.DefaultSbatch = s } }},
	{name: "default_bash_preamble", lines: true, about: "Shell commands to run before each command in a container.", at: func(c *Cluster) any { return &c.DefaultBashPreamble }},
	{name: "use_gpus_per_node_directive", about: "Request GPUs with --gpus-per-node.", preset: true, at: func(c *Cluster) any { return &c.UseGPUsPerNode }},
	{name: "use_segment_sbatch_directive", about: "Request neighbouring nodes with --segment, which needs a Slurm newer than 22.05.", preset: true, at: func(c *Cluster) any { return &c.UseSegment }},
	{name: "use_exclusive_sbatch_directive", about: "Request whole nodes with --exclusive.", preset: false, at: func(c *Cluster) any { return &c.UseExclusive }},
	{name: "cluster", about: "Used only by srtctl."},
	{name: "default_container", about: "Used only by srtctl."},
	{name: "default_health_check", about: "Used only by srtctl."},
	{name: "use_het_jobs", about: "Used only by srtctl."},
	{name: "nginx_raise_ulimit", about: "Used only by srtctl."},
	{name: "cloud", about: "Used only by srtctl."},
	{name: "reporting", about: "Used only by srtctl."},
	{name: "telemetry", about: "Used only by srtctl."},
}

// Names of the cluster file and of the environment variable that holds the path of the cluster file.
const (
	clusterFile     = "srtslurm.yaml"
	clusterVariable = "SRTSLURM_CONFIG"
)

// FindCluster returns the path of the cluster file. If given is not "", it is the path. Otherwise the path is the value
// of the environment variable. If the variable is not set, FindCluster searches the working directory and the two
// directories above it. If there is no cluster file, FindCluster returns "".
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

// ParseCluster parses a cluster file. The returned error is of type Problems.
func ParseCluster(name string, data []byte) (*Cluster, []Note, error) {
	r := newReader(name, "", &Cluster{UseGPUsPerNode: true, UseSegment: true}, clusterKeys)
	if tree := r.parse(data); tree != nil && tree.Kind != yamltree.Null {
		r.read(tree)
	}
	if limit := r.into.DefaultTimeLimit; limit != "" && !timeLimit.MatchString(strings.ToUpper(limit)) {
		r.problem("default_time_limit", "default_time_limit: %q is not a time limit: want HH:MM:SS, D-HH:MM:SS or minutes", shortened(limit))
	}
	if err := r.problems.err(); err != nil {
		return nil, nil, err
	}
	InOrder(r.notes)
	r.into.origin = r.origin
	return r.into, r.notes, nil
}

// Logs returns the directory that contains the directories of all jobs. If the cluster file does not specify the
// directory, Logs returns usual.
func (c *Cluster) Logs(usual string) string {
	switch {
	case c.OutputDir != "":
		return c.OutputDir
	case c.SrtctlRoot != "":
		return filepath.Join(c.SrtctlRoot, "logs")
	}
	return usual
}

// usualLimit is the time limit if neither the job nor the cluster sets a time limit. The value is that of srtctl.
const usualLimit = "04:00:00"

// Resolve fills in the values that a job takes from the cluster file, and replaces aliases by paths. A nil cluster has
// neither values nor aliases. The returned error is of type Problems and refers to the job's file. It reports unknown
// aliases, and workers that do not fit on the nodes of the cluster. Resolving a job a second time has no effect.
func (c *Cluster) Resolve(j *Job) error {
	if c == nil {
		c = &Cluster{}
	}
	last := usualLimit
	if j.today() {
		last = "01:00:00"
	}
	for _, s := range []struct {
		to            *string
		cluster, last string
	}{
		{&j.Slurm.Account, c.DefaultAccount, ""}, {&j.Slurm.Partition, c.DefaultPartition, ""},
		{&j.Slurm.TimeLimit, c.DefaultTimeLimit, last},
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

// alias returns the value of an alias. Three kinds of names are not aliases and are returned unchanged: paths, names of
// existing files, and names that contain a colon, such as an image of a registry or a built-in model.
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

// noAlias returns the error text for an unknown alias, including where to define the alias.
func (c *Cluster) noAlias(name, under string, aliases []Setting) string {
	if c.file == "" {
		return fmt.Sprintf("no %s found that defines the alias %q; set %s, or give a path", clusterFile, name, clusterVariable)
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
	return text + "; the aliases are " + list(known)
}
