package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/alecthomas/kong"

	"github.com/stepscope/stepscope/internal/watch"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// ruleFlags change the default rules of watch.
type ruleFlags struct {
	Imbalance      float64       `name:"imbalance" default:"1.5" placeholder:"RATIO" help:"A rank has this many times the mean number of requests; 0 turns a rule off, here and below."`
	PaceImbalance  float64       `name:"pace-imbalance" default:"1.4" placeholder:"RATIO" help:"A rank takes this many times as long between tokens as the median of the others."`
	TTFT           time.Duration `name:"ttft" placeholder:"TIME" help:"The 90th percentile of TTFT is above this."`
	TTFTFactor     float64       `name:"ttft-factor" default:"2" placeholder:"RATIO" help:"It is above this many times its own median of the last ten minutes."`
	ITL            time.Duration `name:"itl" placeholder:"TIME" help:"The mean time between tokens is above this."`
	ITLFactor      float64       `name:"itl-factor" default:"1.5" placeholder:"RATIO" help:"It is above this many times its own median of the last ten minutes."`
	QueueGrowth    float64       `name:"queue-growth" default:"1" placeholder:"N" help:"The queue grows by this many requests per second."`
	ThroughputDrop float64       `name:"throughput-drop" default:"0.3" placeholder:"SHARE" help:"The token rate falls by this share below the earlier one with as many running requests."`
	Hold           time.Duration `name:"hold" placeholder:"TIME" help:"How long a rule must hold (default: 5s for imbalance, 10s for the others)."`
	Rules          string        `name:"rules" placeholder:"FILE" without:"imbalance|pace-imbalance|ttft|ttft-factor|itl|itl-factor|queue-growth|throughput-drop|hold: the file defines all rules" help:"Use a file of rules instead (docs/formats/watch.md)."`
}

// given returns an error if a duration is 0.
func (f *ruleFlags) given(k *kong.Context) error {
	for name, d := range map[string]time.Duration{"ttft": f.TTFT, "itl": f.ITL, "hold": f.Hold} {
		if given(k, name) && d <= 0 {
			return usagef("--%s %v: give a time above 0, as 5s", name, d)
		}
	}
	return nil
}

// rules returns the rules that result from the flags.
func (f *ruleFlags) rules() (out []detect.Rule, err error) {
	if f.Rules != "" {
		text, err := os.ReadFile(f.Rules)
		if err != nil {
			return nil, fmt.Errorf("--rules: %w", err)
		}
		if out, err = watch.ParseRules(text); err != nil {
			return nil, usagef("--rules %s: %v", f.Rules, err)
		}
		return out, nil
	}
	for _, r := range detect.Defaults() {
		var given float64
		switch r.Name {
		case detect.UnevenLoad:
			given = f.Imbalance
			r.Above = given
		case detect.UnevenPace:
			given = f.PaceImbalance
			r.Above = given
		case detect.SlowFirst:
			given = f.TTFTFactor
			r.Factor = given
		case detect.SlowTokens:
			given = f.ITLFactor
			r.Factor = given
		case detect.GrowingQueue:
			given = f.QueueGrowth
			r.Above = given
		case detect.LostThroughput:
			given = f.ThroughputDrop
			r.Above = given
		default:
			given = 1
		}
		if given != 0 {
			out = append(out, r)
		}
	}
	for _, b := range []struct {
		name, signal string
		above        time.Duration
		least        float64
	}{{"late first tokens", "ttft.p90", f.TTFT, 10}, {"late tokens", "itl.mean", f.ITL, 20}} {
		if b.above != 0 {
			out = append(out, detect.Rule{Name: b.name, Kind: detect.Latency, Signal: b.signal, Above: b.above.Seconds(), Least: b.least, For: 10 * time.Second, Asked: true})
		}
	}
	for i := range out {
		if f.Hold != 0 {
			out[i].For = f.Hold
		}
		if err := out[i].Check(); err != nil {
			return nil, usageError{err}
		}
	}
	return out, nil
}
