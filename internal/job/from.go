package job

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/job/spec"
)

// Draft holds the values of a new job file that command lines do not have.
type Draft struct {
	Name, Container, GPUType string
	GPUsPerNode              int
	ISL, OSL, Concurrency    int
	Start, Stop              int // recorded steps
}

// server is a command line of a server, taken apart.
type server struct {
	backend, model string
	role           spec.Role
	env            []spec.Setting
	flags          []spec.Flag
	nodes, gpus    int
}

// From returns a job file of today's format that starts the servers of some command lines. Each command line is a list
// of words, which may begin with variables.
func From(commands [][]string, d *Draft) (string, error) {
	var all []*server
	for _, words := range commands {
		s, err := parseServer(words)
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(all, func(o *server) bool {
			return o.role == s.role || (o.role == spec.Aggregated) != (s.role == spec.Aggregated)
		}) {
			return "", fmt.Errorf("the command lines have the roles %s and %s: give one command line, or one of a prefill and one of a decode worker", all[0].role, s.role)
		}
		if len(all) > 0 && all[0].backend != s.backend {
			return "", errors.New("the command lines start different programs")
		}
		all = append(all, s)
	}
	if len(all) == 1 && all[0].role != spec.Aggregated {
		return "", fmt.Errorf("the command line starts a %s worker: give the command line of the other role with another --from", all[0].role)
	}
	return d.write(all), nil
}

// parseServer takes a command line apart.
func parseServer(words []string) (*server, error) {
	s := &server{role: spec.Aggregated, nodes: 1}
	for len(words) > 0 && isVariable(words[0]) {
		name, value, _ := strings.Cut(words[0], "=")
		s.env, words = append(s.env, spec.Setting{Name: name, Value: value}), words[1:]
	}
	line := strings.Join(words, " ")
	rest := 0
	for prefix, backend := range map[string]string{
		"-m sglang.launch_server": spec.SGLang, "sglang serve": spec.SGLang, "vllm serve": spec.VLLM, "-m vllm.entrypoints.openai.api_server": spec.VLLM,
	} {
		first := strings.Fields(prefix)
		for i := range min(len(words)-1, 3) {
			if words[i+1] == first[1] && path.Base(words[i]) == path.Base(first[0]) {
				s.backend, rest = backend, i+2
			}
		}
	}
	if s.backend == "" {
		return nil, fmt.Errorf("%.60q starts no server that job files know: want python -m sglang.launch_server …, sglang serve … or vllm serve …", line)
	}
	words = words[rest:]
	if len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		s.model, words = words[0], words[1:]
	}
	s.read(words)
	if s.model == "" {
		return nil, fmt.Errorf("%.60q names no model: want --model-path, --model or vllm serve MODEL", line)
	}
	s.gpus = s.number("tensor-parallel-size", "tp-size", "tp") * s.number("pipeline-parallel-size", "pp-size", "pp")
	if s.backend == spec.VLLM {
		s.gpus *= s.number("data-parallel-size", "dp-size", "dp")
	}
	return s, nil
}

func isVariable(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsAny(name, "-/. ")
}

// shortFlags are the short flags of servers.
var shortFlags = map[string]string{"tp": "tensor-parallel-size", "pp": "pipeline-parallel-size", "dp": "data-parallel-size"}

// read reads the flags of a server. Flags that job apply sets itself are left out.
func (s *server) read(words []string) {
	for i := 0; i < len(words); i++ {
		key, value, joined := strings.Cut(strings.TrimLeft(words[i], "-"), "=")
		if dashes := len(words[i]) - len(strings.TrimLeft(words[i], "-")); dashes == 1 && shortFlags[key] != "" {
			key = shortFlags[key]
		}
		var values []any
		if joined {
			values = append(values, typed(value))
		}
		for !joined && i+1 < len(words) && !isFlag(words[i+1]) {
			i++
			values = append(values, typed(words[i]))
		}
		var v any = values
		switch len(values) {
		case 0:
			v = true
		case 1:
			v = values[0]
		}
		text := fmt.Sprint(v)
		switch key = strings.ReplaceAll(key, "_", "-"); key {
		case "model-path", "model":
			s.model = text
		case "nnodes":
			s.nodes, _ = strconv.Atoi(text)
		case "disaggregation-mode":
			if text == string(spec.Prefill) || text == string(spec.Decode) {
				s.role = spec.Role(text)
			}
		case "host", "port", "node-rank", "dist-init-addr", "nccl-port", "master-addr", "headless", "disaggregation-bootstrap-port":
		default:
			s.flags = append(s.flags, spec.Flag{Key: key, Value: v})
		}
	}
	sorts.Stable(s.flags, func(a, b spec.Flag) int { return strings.Compare(a.Key, b.Key) })
	s.flags = slices.CompactFunc(s.flags, func(a, b spec.Flag) bool { return a.Key == b.Key })
}

// isFlag reports whether a word is a flag. A negative number is a value.
func isFlag(word string) bool {
	_, err := strconv.ParseFloat(word, 64)
	return strings.HasPrefix(word, "-") && err != nil
}

// typed returns the value of a word: a number if writing the number gives the word again, else a text.
func typed(word string) any {
	if n, err := strconv.ParseInt(word, 10, 64); err == nil && strconv.FormatInt(n, 10) == word {
		return n
	}
	if f, err := strconv.ParseFloat(word, 64); err == nil && strings.Contains(word, ".") && (spec.Flag{Key: "x", Value: f}).Args()[1] == word {
		return f
	}
	return word
}

// number returns the value of the first of several flags that is set, or 1.
func (s *server) number(keys ...string) int {
	for _, f := range s.flags {
		if n, ok := f.Value.(int64); ok && slices.Contains(keys, f.Key) && n > 0 {
			return int(n)
		}
	}
	return 1
}

// write writes the job file.
func (d *Draft) write(all []*server) string {
	s := all[0]
	model := s.model
	if !strings.HasPrefix(model, "/") && strings.Count(model, "/") == 1 && !strings.HasPrefix(model, ".") {
		model = "hf:" + model
	}
	name, container := d.Name, d.Container
	if name == "" {
		name = path.Base(s.model)
	}
	if container == "" {
		container = map[string]string{spec.SGLang: "lmsysorg/sglang:latest", spec.VLLM: "vllm/vllm-openai:latest"}[s.backend]
	}
	y := &yamlText{}
	y.line("name", name)
	y.block("model", func() {
		y.line("path", model)
		y.line("container", container)
		y.line("precision", "bf16")
	})
	y.block("resources", func() {
		y.line("gpu_type", d.GPUType)
		y.line("gpus_per_node", d.GPUsPerNode)
		for _, s := range all {
			role := strings.Replace(string(s.role), "aggregated", "agg", 1)
			y.line(role+"_nodes", max(s.nodes, (s.gpus+d.GPUsPerNode-1)/d.GPUsPerNode))
			y.line(role+"_workers", 1)
			y.line("gpus_per_"+role, s.gpus)
		}
	})
	y.block("frontend", func() {
		y.line("type", s.backend)
		y.line("enable_multiple_frontends", false)
	})
	y.block("backend", func() {
		y.line("type", s.backend)
		for _, s := range all {
			y.block(string(s.role)+"_environment", func() {
				for _, v := range s.env {
					y.line(v.Name, v.Value)
				}
			})
		}
		y.block(s.backend+"_config", func() {
			for _, s := range all {
				y.block(string(s.role), func() {
					for _, f := range s.flags {
						y.line(f.Key, f.Value)
					}
				})
			}
		})
	})
	y.block("benchmark", func() {
		y.line("type", spec.SABench)
		y.line("isl", d.ISL)
		y.line("osl", d.OSL)
		y.line("concurrencies", []int{d.Concurrency})
	})
	y.block("profiling", func() {
		y.line("type", spec.Torch)
		for _, s := range all {
			y.block(string(s.role), func() {
				y.line("start_step", d.Start)
				y.line("stop_step", d.Stop)
			})
		}
	})
	return y.b.String()
}
