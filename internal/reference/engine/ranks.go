package engine

import (
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/hf"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/sched"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// RanksOptions configure the ranks of one data-parallel rank.
type RanksOptions struct {
	TeamOptions
	Config *model.Config
	Source hf.Source
	Model  model.Options
}

// Spread assigns ranks to processes. Each process creates its own ranks.
type Spread struct {
	Here int                // this process
	At   func(rank int) int // process of a rank; ranks are numbered over the whole layout
	Line func(kind string, index int) device.Line
}

// here reports whether this process runs a rank.
func (s *Spread) here(rank int) bool { return s == nil || s.At(rank) == s.Here }

// Ranks is a Group of model runners. All ranks get the same batches.
type Ranks struct {
	*Team[*model.Runner]
	weights int64 // maximum of the ranks' weight bytes
	logits  int   // index of the rank that returns the logits; -1: in another process
}

// NewRanks creates the devices and loads the model onto all of them in parallel. It captures decode graphs unless
// Model.NoGraphs is set.
func NewRanks(opt RanksOptions) (*Ranks, error) {
	z := opt.Sizes.normal()
	if err := opt.Config.CheckShard(model.Shard{TPSize: z.TP, PPSize: z.PP, EPSize: z.EP}); err != nil {
		return nil, err
	}
	opt.Thread = "scheduler"
	team, err := NewTeam(opt.TeamOptions, func(at Seat) (*model.Runner, error) {
		shard := model.Shard{TPRank: at.TP, TPSize: z.TP, PPRank: at.PP, PPSize: z.PP, EPSize: z.EP}
		groups := model.Groups{TP: at.TPGroup, PP: at.PPGroup}
		run, err := model.NewRunner(opt.Config, opt.Source, shard, at.Device, groups, opt.Model)
		if err == nil && !opt.Model.NoGraphs {
			err = run.CaptureGraphs()
		}
		return run, err
	})
	if err != nil {
		return nil, err
	}
	r := &Ranks{Team: team}
	r.logits = slices.IndexFunc(team.list, func(k Rank) bool { return k.PP == z.PP-1 && k.TP == 0 })
	r.weights = r.measure()
	return r, nil
}

// Rank returns rank i of a data-parallel rank, without a recorder.
func (z Sizes) Rank(dp, i int, host string, dev device.DeviceInfo) Rank {
	z = z.normal()
	t, p, n := i%z.TP, i/z.TP, z.TP*z.PP
	ep := t / (z.TP / z.EP)
	return Rank{
		TP: t, DP: dp, PP: p, EP: ep,
		Meta: device.Meta{
			Rank: i, World: n, Host: host, Device: dev,
			TP: device.Place{Rank: t, Size: z.TP}, DP: device.Place{Rank: dp, Size: z.DP},
			PP: device.Place{Rank: p, Size: z.PP}, EP: device.Place{Rank: ep, Size: z.EP},
			Process: fmt.Sprintf("stepscope rank %d", dp*n+i),
		},
	}
}

// joiner creates the groups of the replica whose first rank in the layout is first.
type joiner struct {
	spread *Spread
	first  int
}

// join creates a group of n ranks of the replica: first, first+step and so on. It returns nil if n is 1 or if no rank
// of the group is in this process.
func (j joiner) join(kind string, index, n, first, step int) []device.Comm {
	if n == 1 {
		return nil
	}
	ranks, at := make([]int, n), make([]int, n)
	near, far := false, false
	for i := range ranks {
		ranks[i] = first + i*step
		if j.spread.here(j.first + ranks[i]) {
			near = true
		} else {
			far = true
		}
		if j.spread != nil {
			at[i] = j.spread.At(j.first + ranks[i])
		}
	}
	if !near {
		return make([]device.Comm, n)
	}
	opt := device.GroupOptions{Add: tensor.Add}
	if far {
		opt.Far = &device.Far{Here: j.spread.Here, At: at, Line: j.spread.Line(kind, index)}
	}
	return device.NewGroup(fmt.Sprintf("%s:%d", kind, index), kind, ranks, opt)
}

// Forward runs one step on all ranks.
func (r *Ranks) Forward(s sched.Step) ([][]float32, error) {
	sends := s.Sends()
	return r.run(s.Name(), s.Requests, func(i int) *model.Batch { return r.sending(s, sends, i) })
}

// Run runs a batch on all ranks as a step with the given name and requests. If the rank that returns the logits is in
// another process, Run returns no rows.
func (r *Ranks) Run(name string, requests func() string, b *model.Batch) ([][]float32, error) {
	return r.run(name, requests, func(int) *model.Batch { return b })
}

// run is like Run but gives each rank a separate batch.
func (r *Ranks) run(name string, requests func() string, batch func(i int) *model.Batch) ([][]float32, error) {
	out := make([][][]float32, len(r.list))
	err := r.Each(func(i int, run *model.Runner, h *device.Host) (err error) {
		h.AnnotateStep(name, requests)
		defer h.End()
		out[i], err = run.Forward(batch(i))
		return err
	})
	if err != nil || r.logits < 0 {
		return nil, err
	}
	return out[r.logits], nil
}

// measure returns the maximum of the ranks' weight bytes.
func (r *Ranks) measure() int64 {
	sizes := make([]int64, len(r.list))
	r.Each(func(i int, run *model.Runner, _ *device.Host) error {
		sizes[i] = run.WeightBytes()
		return nil
	})
	return slices.Max(append(sizes, 0))
}

// WeightBytes returns the maximum of the ranks' weight memory, in bytes.
func (r *Ranks) WeightBytes() int64 { return r.weights }

// recorder records a device.
type recorder struct{ d *device.Device }

func (r recorder) StartRecording(opt device.RecordOptions) error { return r.d.StartRecording(opt) }

func (r recorder) PauseRecording(pause bool) { r.d.PauseRecording(pause) }

func (r recorder) StopRecording() Recording {
	if rec := r.d.StopRecording(); rec != nil {
		return recording{rec}
	}
	return nil
}

// recording is one window of a device.
type recording struct{ *device.Recording }

func (r recording) DeviceMemory(f func(at int64, addr uint64, bytes int64)) error {
	r.Recording.DeviceMemory(f)
	return nil
}

func (r recording) Lost() int64 { return r.Recording.Lost().Total() }
