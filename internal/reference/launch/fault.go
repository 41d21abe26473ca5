package launch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// parseFaults parses the values of --device-fault, such as "rank=1,from=20,kernel_factor=2". It returns the faults of
// each affected rank. ranks is the number of ranks in the layout, and stages lists the valid stages.
func parseFaults(texts []string, ranks int, stages []string) (map[int]*device.Faults, error) {
	out := map[int]*device.Faults{}
	for _, text := range texts {
		rank := -1
		f := &device.Faults{}
		for part := range strings.SplitSeq(text, ",") {
			key, value, _ := strings.Cut(part, "=")
			var err error
			switch key {
			case "rank":
				rank, err = strconv.Atoi(value)
			case "from":
				f.From, err = strconv.Atoi(value)
			case "to":
				f.To, err = strconv.Atoi(value)
			case "stage":
				f.Stage = value
				if len(stages) == 0 {
					err = errors.New("only diffusion pipelines have stages")
				} else if !slices.Contains(stages, value) {
					err = fmt.Errorf("unknown stage, choose from %s", strings.Join(stages, ", "))
				}
			case "pace":
				f.Pace, err = time.ParseDuration(value)
			case "kernel_sleep":
				f.KernelSleep, err = time.ParseDuration(value)
			case "kernel_factor":
				f.KernelFactor, err = strconv.ParseFloat(value, 64)
			case "link_sleep":
				f.LinkSleep, err = time.ParseDuration(value)
			case "host_stall":
				f.HostStall, err = time.ParseDuration(value)
			case "extra_kernels":
				f.ExtraKernels, err = strconv.Atoi(value)
			case "extra_time":
				f.ExtraTime, err = time.ParseDuration(value)
			default:
				err = fmt.Errorf("unknown key, choose from rank, from, to, stage, pace, kernel_sleep, kernel_factor, link_sleep, host_stall, extra_kernels, extra_time")
			}
			if err != nil {
				return nil, fmt.Errorf("--device-fault %s: %s: %w", text, part, err)
			}
		}
		if rank < 0 || rank >= ranks {
			return nil, fmt.Errorf("--device-fault %s: give rank=N with N from 0 to %d", text, ranks-1)
		}
		out[rank] = f
	}
	return out, nil
}
