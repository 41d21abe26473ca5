package cli

import (
	"fmt"
	"strings"

	"github.com/stepscope/stepscope/internal/capture/collect"
	"github.com/stepscope/stepscope/internal/job"
	"github.com/stepscope/stepscope/internal/job/spec"
)

type jobExplainCmd struct {
	File string `arg:"" placeholder:"FILE" help:"The job's YAML file."`
	clusterFlag
}

// Help returns the end of the verb's help text.
func (c *jobExplainCmd) Help() string {
	return `Says in about ten lines what "job apply" would do with a job file: the nodes, the workers, the command of the first server, the load, the
recorded steps, and what is ignored, replaced or refused.

Examples:
  stepscope job explain recipe.yaml
  stepscope job explain recipes.yaml:override_tp8`
}

// Run prints the lines.
func (c *jobExplainCmd) Run(e *env) error {
	cluster, err := c.cluster(e)
	if err != nil {
		return err
	}
	text, selected, err := readJob(c.File)
	if err != nil {
		return err
	}
	f, err := spec.Load(c.File, text, selected)
	if err != nil {
		return err
	}
	if cluster != nil {
		if err := cluster.Resolve(f.Variants[0].Job); err != nil {
			return err
		}
	}
	for _, line := range job.Explain(c.File, f) {
		fmt.Fprintln(e.stdout, line)
	}
	return nil
}

type jobNewCmd struct {
	From      []string `name:"from" required:"" sep:"none" placeholder:"COMMAND" help:"Command line of a server; repeat it for a decode worker."`
	Name      string   `name:"name" placeholder:"NAME" help:"Name of the job; default: the model's."`
	Container string   `name:"container" placeholder:"IMAGE" help:"Image of the container; default: the newest of the server's project."`
	GPUType   string   `name:"gpu-type" default:"h100" placeholder:"TYPE" help:"GPUs of the nodes."`
	GPUs      int      `name:"gpus-per-node" default:"8" limits:"1..16384" placeholder:"N" help:"GPUs per node."`
	ISL       int      `name:"input-len" default:"1024" limits:"1.." placeholder:"N" help:"Input length in tokens."`
	OSL       int      `name:"output-len" default:"128" limits:"1.." placeholder:"N" help:"Output length in tokens."`
	Load      int      `name:"max-concurrency" default:"64" limits:"1.." placeholder:"N" help:"Concurrent requests."`
}

// Help returns the end of the verb's help text.
func (c *jobNewCmd) Help() string {
	return `Writes a job file of today's srtctl for servers whose command lines you have, to stdout. The job records steps 40 to 60 of a load.
Change the container, the load and the steps in the file as you like.

Examples:
  stepscope job new --from 'python3 -m sglang.launch_server --model-path Qwen/Qwen3-0.6B --tp 2' > job.yaml
  stepscope job new --from 'vllm serve Qwen/Qwen3-0.6B --tensor-parallel-size 2' --container vllm/vllm-openai:v0.20.0 > job.yaml`
}

// Run prints the file.
func (c *jobNewCmd) Run(e *env) error {
	var commands [][]string
	for _, line := range c.From {
		words, err := collect.Split(strings.ReplaceAll(strings.TrimSpace(line), "\\\n", " "))
		if err != nil {
			return usagef("--from: %v", err)
		}
		commands = append(commands, words)
	}
	text, err := job.From(commands, &job.Draft{Name: c.Name, Container: c.Container, GPUType: c.GPUType, GPUsPerNode: c.GPUs, ISL: c.ISL, OSL: c.OSL, Concurrency: c.Load, Start: 40, Stop: 60})
	if err != nil {
		return usagef("--from: %v", err)
	}
	if _, err := spec.Load("the new file", []byte(text), ""); err != nil {
		return fmt.Errorf("the command line does not fit a job file: %w", err)
	}
	fmt.Fprint(e.stdout, text)
	return nil
}
