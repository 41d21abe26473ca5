package job

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/job/spec"
)

// yamlText writes YAML. A nested block is indented by one more level than its parent. Strings are quoted as in JSON,
// which is valid YAML.
type yamlText struct {
	b      strings.Builder
	indent int
}

func (y *yamlText) line(key string, value any) {
	fmt.Fprintf(&y.b, "%s%s: %s\n", strings.Repeat("  ", y.indent), key, scalar(value))
}

// set writes a line unless the value is the zero value of its type.
func (y *yamlText) set(key string, value any) {
	if value != "" && value != 0 && value != false {
		y.line(key, value)
	}
}

func (y *yamlText) block(key string, fill func()) {
	before := y.b.Len()
	fmt.Fprintf(&y.b, "%s%s:\n", strings.Repeat("  ", y.indent), key)
	opened := y.b.Len()
	y.indent++
	fill()
	y.indent--
	if y.b.Len() == opened { // empty block
		text := y.b.String()[:before]
		y.b.Reset()
		y.b.WriteString(text)
	}
}

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case float64:
		number, exponent, small := strings.Cut(strconv.FormatFloat(v, 'g', -1, 64), "e")
		if !strings.Contains(number, ".") {
			number += ".0" // otherwise YAML reads the number as an integer or, if it has an exponent, as a string
		}
		if small {
			number += "e" + exponent
		}
		return number
	case nil:
		return "null"
	case map[string]any:
		if text, err := json.Marshal(v); err == nil {
			return string(text)
		}
	case []any:
		return list(v)
	case []int:
		return list(v)
	case []string:
		return list(v)
	}
	return fmt.Sprint(v)
}

func list[T any](values []T) string {
	items := make([]string, len(values))
	for i := range values {
		items[i] = scalar(values[i])
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// flags writes the flags of each role's workers.
func (y *yamlText) flags(j *spec.Job) {
	for _, role := range j.Roles() {
		y.block(string(role), func() {
			for _, f := range j.Backend.Config[role] {
				y.line(f.Key, f.Value)
			}
		})
	}
}

// environments writes the environment variables of each role's workers.
func (y *yamlText) environments(j *spec.Job) {
	for _, role := range j.Roles() {
		y.block(string(role)+"_environment", func() {
			for _, v := range j.Backend.Environment[role] {
				y.line(v.Name, v.Value)
			}
		})
	}
}

// Config returns the text of the effective job file. In this text, defaults are filled in, aliases are resolved, and
// the sweep section is removed.
func Config(j *spec.Job) string {
	y := &yamlText{}
	y.line("name", j.Name)
	y.block("model", func() {
		y.line("path", j.Model.Path)
		y.set("container", j.Model.Container)
		y.line("precision", j.Model.Precision)
	})
	y.block("resources", func() {
		r := &j.Resources
		y.line("gpu_type", r.GPUType)
		y.line("gpus_per_node", r.GPUsPerNode)
		y.set("prefill_nodes", r.PrefillNodes)
		y.set("prefill_workers", r.PrefillWorkers)
		y.set("decode_nodes", r.DecodeNodes)
		y.set("decode_workers", r.DecodeWorkers)
		y.set("agg_nodes", r.AggNodes)
		y.set("agg_workers", r.AggWorkers)
		y.set("gpus_per_prefill", j.Today.PerPrefill)
		y.set("gpus_per_decode", j.Today.PerDecode)
		y.set("gpus_per_agg", j.Today.PerAgg)
		y.set("spread_workers", j.Today.Spread)
	})
	y.block("slurm", func() {
		y.set("account", j.Slurm.Account)
		y.set("partition", j.Slurm.Partition)
		y.set("time_limit", j.Slurm.TimeLimit)
	})
	y.block("backend", func() {
		b := &j.Backend
		y.line("type", b.Type)
		config := "sglang_config"
		if b.Type == spec.VLLM {
			config = "vllm_config"
		} else {
			y.set("gpu_type", b.GPUType)
		}
		y.environments(j)
		y.block(config, func() { y.flags(j) })
	})
	if today(j) {
		y.today(j)
		return y.b.String()
	}
	y.block("benchmark", func() {
		b := &j.Benchmark
		y.line("type", b.Type)
		y.set("isl", b.ISL)
		y.set("osl", b.OSL)
		if len(b.Concurrencies) > 0 {
			y.line("concurrencies", b.Concurrencies)
			y.line("req_rate", b.ReqRate)
		}
	})
	y.block("profiling", func() {
		y.line("type", j.Profiling.Type)
		phase := func(name string, p *spec.Phase) {
			if p == nil {
				return
			}
			y.block(name, func() {
				y.line("isl", p.ISL)
				y.line("osl", p.OSL)
				y.line("concurrency", p.Concurrency)
				y.line("start_step", p.StartStep)
				y.line("stop_step", p.StopStep)
			})
		}
		phase("prefill", j.Profiling.Prefill)
		phase("decode", j.Profiling.Decode)
	})
	y.line("enable_config_dump", j.EnableConfigDump)
	if len(j.ExtraMount) > 0 {
		var all []any
		for _, m := range j.ExtraMount {
			all = append(all, m.Host+":"+m.Container)
		}
		y.line("extra_mount", all)
	}
	return y.b.String()
}

// today writes the sections that differ in today's dialects. The result has the dialect H.
func (y *yamlText) today(j *spec.Job) {
	b, t := &j.Benchmark, &j.Today
	y.block("frontend", func() {
		y.line("type", t.Frontend)
		y.line("enable_multiple_frontends", t.Multiple)
	})
	y.block("benchmark", func() {
		if l := &t.Load; j.Dialect() == spec.DialectM {
			y.line("type", "sglang-bench")
			y.line("isl", l.ISL)
			y.line("osl", l.OSL)
			y.line("concurrencies", []int{l.Concurrency})
			return
		}
		y.line("type", b.Type)
		y.set("isl", b.ISL)
		y.set("osl", b.OSL)
		y.line("concurrencies", b.Concurrencies)
		y.line("req_rate", b.ReqRate)
		y.line("num_prompts_mult", t.PromptsMult)
		y.line("num_warmup_mult", t.WarmupMult)
		y.line("random_range_ratio", t.RangeRatio)
		y.line("use_chat_template", t.ChatTemplate)
	})
	y.block("profiling", func() {
		y.line("type", j.Profiling.Type)
		for _, role := range j.Roles() {
			if p := j.Phase(role); p != nil {
				y.block(string(role), func() {
					y.line("start_step", p.StartStep)
					y.line("stop_step", p.StopStep)
				})
			}
		}
		if len(t.NsysArgs) > 0 {
			y.line("extra_nsys_args", t.NsysArgs)
		}
	})
	settings := func(name string, all []spec.Setting) {
		y.block(name, func() {
			for _, s := range all {
				y.line(s.Name, s.Value)
			}
		})
	}
	settings("environment", t.Environment)
	settings("srun_options", t.Srun)
	y.line("enable_config_dump", j.EnableConfigDump)
}

// engineFile is the name of the file that holds the flags of the workers.
const engineFile = "sglang_config.yaml"

// Engine returns the content of sglang_config.yaml, from which dynamo's workers read their flags.
func Engine(j *spec.Job) string {
	y := &yamlText{}
	y.flags(j)
	y.environments(j)
	return y.b.String()
}

// files writes the effective configuration, the engine flags and srtctl's metadata to the directory of the job.
// Environment variables may contain tokens, so the files with the effective configuration and the engine flags are
// readable only by the user.
func (r *Run) files() error {
	j := r.plan.Job
	for name, text := range map[string]string{"config.yaml": Config(j), engineFile: Engine(j)} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	meta := map[string]any{
		"version": "1.0", "generated_at": time.Now().Format(time.RFC3339),
		"run_metadata": map[string]any{
			"slurm_job_id": r.state.Job, "run_date": time.Now().Format("20060102_150405"), "job_name": j.Name, "account": j.Slurm.Account,
			"partition": j.Slurm.Partition, "time_limit": j.Slurm.TimeLimit, "container": j.Model.Container, "model_dir": j.Model.Path,
			"gpus_per_node": j.Resources.GPUsPerNode, "gpu_type": j.Backend.GPUType, "mode": mode(j),
			"prefill_nodes": j.Resources.PrefillNodes, "prefill_workers": j.Resources.PrefillWorkers, "decode_nodes": j.Resources.DecodeNodes,
			"decode_workers": j.Resources.DecodeWorkers, "agg_nodes": j.Resources.AggNodes, "agg_workers": j.Resources.AggWorkers,
		},
		"profiler_metadata": map[string]any{"type": j.Profiling.Type},
	}
	return atomicfile.JSON(filepath.Join(r.dir, r.state.Job+".json"), meta)
}

func mode(j *spec.Job) string {
	if j.Disaggregated() {
		return "disaggregated"
	}
	return "aggregated"
}
