package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/parallel"
	"github.com/stepscope/stepscope/internal/job/spec"
)

// jobCmd groups the verbs that work on jobs.
type jobCmd struct {
	Apply    jobApplyCmd    `cmd:"" help:"Run a job: serve, load, record, gather, explain."`
	Status   jobStatusCmd   `cmd:"" help:"List jobs, or show the progress of one."`
	Logs     jobLogsCmd     `cmd:"" help:"Print the log of a job, a worker or a load."`
	Cancel   jobCancelCmd   `cmd:"" help:"Cancel a job."`
	Sweep    jobSweepCmd    `cmd:"" help:"Compare the jobs of a sweep."`
	Explain  jobExplainCmd  `cmd:"" help:"Say in ten lines what a job file would do."`
	New      jobNewCmd      `cmd:"" help:"Write a job file from the command lines of servers."`
	Validate jobValidateCmd `cmd:"" help:"Report all problems of job files, by line."`
	Schema   jobSchemaCmd   `cmd:"" help:"Print a JSON schema of job files, for editors."`

	// Hidden verbs that run on the nodes of a job.
	Conduct jobConductCmd `cmd:"" hidden:""`
	Prepare jobPrepareCmd `cmd:"" hidden:""`
	Pack    jobPackCmd    `cmd:"" hidden:""`
	Forget  jobForgetCmd  `cmd:"" hidden:""`
	Attend  jobAttendCmd  `cmd:"" hidden:""`
}

// clusterFlag selects the cluster file, which has the aliases and the default values for jobs.
type clusterFlag struct {
	Cluster string `name:"cluster" placeholder:"FILE" help:"The cluster's srtslurm.yaml (default: SRTSLURM_CONFIG, else that of the working directory or the two directories above it)."`
}

// cluster reads the cluster file; it returns nil if there is none.
func (c clusterFlag) cluster(e *env) (*spec.Cluster, error) {
	path, err := spec.FindCluster(c.Cluster)
	if err != nil || path == "" {
		return nil, err
	}
	text, err := readYAML(path)
	if err != nil {
		return nil, err
	}
	cluster, notes, err := spec.ParseCluster(path, text)
	var problems spec.Problems
	if errors.As(err, &problems) {
		err = fmt.Errorf("%s is not a valid cluster file; problems: %d", path, len(problems))
	}
	for _, n := range append(notes, problems...) {
		e.Line(n.String())
	}
	return cluster, err
}

type jobValidateCmd struct {
	Files []string `arg:"" name:"file" help:"Job files."`
	clusterFlag
	Strict bool `name:"strict" help:"Keys that are ignored are problems."`
	JSON   bool `name:"json" help:"Print as JSON."`
}

// Help returns the end of the verb's help text.
func (c *jobValidateCmd) Help() string {
	return `Checks srtctl job files (docs/formats/job.md) and reports every problem with its line and column. Aliases of models
and containers are looked up if there is a cluster file. A sweep and a file with overrides are expanded, and each job is checked.
FILE:override_x, FILE:zip_override_x[2], FILE:base and FILE:*x* select jobs. Exits with 1 when a file has a problem.

Examples:
  stepscope job validate job.yaml
  stepscope job validate recipes/*.yaml --cluster srtslurm.yaml --json`
}

// jobChecks is the output of "job validate --json".
type jobChecks struct {
	Format int        `json:"format"`
	Files  []jobCheck `json:"files"`
}

type jobCheck struct {
	File     string       `json:"file"`
	Valid    bool         `json:"valid"`
	Dialect  spec.Dialect `json:"dialect,omitempty"`
	Jobs     []string     `json:"jobs"`
	Variants []jobVariant `json:"variants,omitempty"`
	Problems []spec.Note  `json:"problems"`
	Notes    []spec.Note  `json:"notes"`
	shape    string
}

// jobVariant is a job of a sweep or of a file with overrides.
type jobVariant struct {
	Name   string            `json:"name"`
	Values map[string]string `json:"values"`
	Misfit string            `json:"misfit,omitempty"` // why the workers do not fit on their nodes
}

// Run checks the files.
func (c *jobValidateCmd) Run(e *env) error {
	cluster, err := c.cluster(e)
	if err != nil {
		return err
	}
	checks := jobChecks{Format: 1, Files: make([]jobCheck, len(c.Files))}
	wrong := 0
	parallel.Each(len(c.Files), func(i int) {
		check, err := checkJob(c.Files[i], cluster, c.Strict)
		if err != nil {
			check.Problems = append(check.Problems, spec.Note{File: c.Files[i], Line: 1, Column: 1, Text: err.Error()})
		}
		checks.Files[i] = check
	})
	for i, path := range c.Files {
		check := checks.Files[i]
		if !check.Valid {
			wrong++
		}
		for _, n := range append(check.Notes, check.Problems...) {
			e.Line(n.String())
		}
		if check.Valid && !c.JSON {
			fmt.Fprintf(e.stdout, "%s: ok: %s\n", path, check.shape)
		}
	}
	if c.JSON {
		if err := e.printJSON(checks); err != nil {
			return err
		}
	}
	switch {
	case wrong == 0:
		return nil
	case len(c.Files) == 1:
		return fmt.Errorf("%s is not a valid job; problems: %d", c.Files[0], len(checks.Files[0].Problems))
	}
	return fmt.Errorf("%d of %d files are not valid jobs", wrong, len(c.Files))
}

// checkJob checks a job file and each job of the file's sweep. Without a cluster file, aliases remain unresolved.
func checkJob(path string, cluster *spec.Cluster, strict bool) (check jobCheck, err error) {
	text, selected, err := readJob(path)
	if err != nil {
		return jobCheck{File: path, Jobs: []string{}, Problems: []spec.Note{}, Notes: []spec.Note{}}, err
	}
	resolve := (*spec.Job).Fit
	if cluster != nil {
		resolve = cluster.Resolve
	}
	check, _, err = checkText(path, text, selected, resolve)
	for _, n := range check.Notes {
		if strict && n.Class == "ignored" {
			check.Valid, check.Problems = false, append(check.Problems, n)
		}
	}
	return check, err
}

// readJob reads a job file. If there is no such file and the path ends with a colon and the name of a variant, it reads
// the file before the colon and returns the name.
func readJob(path string) (text []byte, selected string, err error) {
	if i := strings.LastIndexByte(path, ':'); i > 0 {
		if _, err := os.Stat(path); err != nil {
			path, selected = path[:i], path[i+1:]
		}
	}
	text, err = readYAML(path)
	return text, selected, err
}

// checkText checks the text of a job file, and returns the resolved jobs of the file.
func checkText(name string, text []byte, selected string, resolve func(*spec.Job) error) (check jobCheck, variants []spec.Variant, err error) {
	check = jobCheck{File: name, Jobs: []string{}, Problems: []spec.Note{}, Notes: []spec.Note{}}
	f, err := spec.Load(name, text, selected)
	check.Notes = append(check.Notes, f.Notes...)
	if err != nil {
		return check, nil, check.problems(err)
	}
	variants, check.Dialect = f.Variants, f.Dialect
	for _, v := range variants {
		check.Jobs = append(check.Jobs, v.Job.Name)
		if len(v.Parameters) > 0 {
			of := jobVariant{Name: v.Job.Name, Values: map[string]string{}, Misfit: v.Misfit}
			for _, p := range v.Parameters {
				of.Values[p.Name] = p.Value
			}
			check.Variants = append(check.Variants, of)
		}
		if err = resolve(v.Job); err != nil {
			err = check.problems(err)
		}
		problems, notes := servedFlags(v.Job)
		check.Problems = append(check.Problems, problems...)
		for _, n := range notes {
			if !slices.Contains(check.Notes, n) { // the jobs of a sweep produce mostly the same notes
				check.Notes = append(check.Notes, n)
			}
		}
		spec.InOrder(check.Problems)
		if err != nil || len(check.Problems) > 0 {
			return check, nil, err
		}
	}
	check.Valid, check.shape = true, variants[0].Job.Shape()
	if n := len(variants); n > 1 {
		check.shape = fmt.Sprintf("%d jobs, each with %s", n, check.shape)
	}
	return check, variants, nil
}

// problems adds the problems in err to c. It returns err if err is of another type.
func (c *jobCheck) problems(err error) error {
	var all spec.Problems
	if !errors.As(err, &all) {
		return err
	}
	c.Problems = append(c.Problems, all...)
	return nil
}

type jobSchemaCmd struct {
	Dialect spec.Dialect `name:"dialect" enum:"P,M,H" default:"P" help:"Dialect of the files: P (December 2025), M, or H (today's srtctl)."`
}

// Help returns the end of the verb's help text.
func (c *jobSchemaCmd) Help() string {
	return `Editors complete and check files that begin with "# yaml-language-server: $schema=job.schema.json".

Examples:
  stepscope job schema > job.schema.json
  stepscope job schema --dialect H > recipe.schema.json`
}

// Run prints the schema.
func (c *jobSchemaCmd) Run(e *env) error {
	_, err := e.stdout.Write(spec.SchemaOf(c.Dialect))
	return err
}
