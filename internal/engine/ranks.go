package engine

import (
	"errors"
	"fmt"
	"sync"

	"github.com/stepscope/stepscope/internal/engine/device"
	"github.com/stepscope/stepscope/internal/engine/hf"
	"github.com/stepscope/stepscope/internal/engine/model"
	"github.com/stepscope/stepscope/internal/engine/sched"
	"github.com/stepscope/stepscope/internal/engine/tensor"
)

// RanksOptions describe the ranks of one data-parallel rank.
type RanksOptions struct {
	Config *model.Config
	Source hf.Source
	Sizes  Sizes // of the whole layout
	DP     int   // which data-parallel rank this is
	Model  model.Options
	Host   string // host_name of traces
	// Device gives the options of the device of a rank, numbered over the whole
	// layout; nil: the defaults.
	Device func(rank int) device.Options
	Spread *Spread // over processes; nil: all ranks are here
	Epoch  int64   // of traces, see device.Meta; 0: this process's own
}

// Spread says which process runs which rank. Each makes those of its own.
type Spread struct {
	Here int                // this process
	At   func(rank int) int // the process of a rank of the whole layout
	Line func(kind string, index int) device.Line
}

// here tells whether this process runs a rank.
func (s *Spread) here(rank int) bool { return s == nil || s.At(rank) == s.Here }

// Ranks is a Group of model runners: one device and one thread for each rank,
// TP × PP of them, or those of them that this process runs. All are given the same
// batches.
type Ranks struct {
	list    []Rank
	devices []*device.Device
	jobs    []chan job // of each rank
	threads sync.WaitGroup
	weights int64 // bytes, of the largest rank
	logits  int   // index of the rank whose logits are taken; -1: it is not here
	close   sync.Once
}

// job is one thing for a rank's thread to do.
type job struct {
	do   func(*model.Runner, *device.Host) ([][]float32, error)
	done chan<- outcome
}

type outcome struct {
	rank   int
	logits [][]float32
	err    error
}

// NewRanks loads the model onto new devices, all ranks side by side, and captures
// decode graphs unless Model.NoGraphs is set.
func NewRanks(opt RanksOptions) (*Ranks, error) {
	z := opt.Sizes.normal()
	if err := opt.Config.CheckShard(model.Shard{TPSize: z.TP, PPSize: z.PP, EPSize: z.EP}); err != nil {
		return nil, err
	}
	n := z.TP * z.PP
	r := &Ranks{logits: -1}
	first := opt.DP * n
	// A group's name is its own in the whole layout. Its ranks are numbered within
	// the replica, which is a job of its own, as SGLang's are.
	groups := joiner{opt.Spread, first}
	tp := make([][]device.Comm, z.PP)
	for p := range tp {
		tp[p] = groups.join("tp", opt.DP*z.PP+p, z.TP, p*z.TP, 1)
	}
	pp := make([][]device.Comm, z.TP)
	for t := range pp {
		pp[t] = groups.join("pp", opt.DP*z.TP+t, z.PP, t, z.TP)
	}
	ready := make(chan outcome, n)
	for i := range n {
		if !opt.Spread.here(first + i) {
			continue
		}
		t, p := i%z.TP, i/z.TP
		do := device.Options{}
		if opt.Device != nil {
			do = opt.Device(first + i)
		}
		for before := range first + i {
			if opt.Spread.here(before) {
				do.Index++
			}
		}
		d := device.New(do)
		at := len(r.devices)
		r.devices = append(r.devices, d)
		rank := z.Rank(opt.DP, i, opt.Host, d.Info())
		rank.Recorder, rank.Meta.EpochNS = recorder{d}, opt.Epoch
		r.list = append(r.list, rank)
		if p == z.PP-1 && t == 0 {
			r.logits = at
		}
		jobs := make(chan job)
		r.jobs = append(r.jobs, jobs)
		shard := model.Shard{TPRank: t, TPSize: z.TP, PPRank: p, PPSize: z.PP, EPSize: z.EP}
		groups := model.Groups{}
		if z.TP > 1 {
			groups.TP = tp[p][t]
		}
		if z.PP > 1 {
			groups.PP = pp[t][p]
		}
		r.threads.Go(func() {
			d.Host().Bind(fmt.Sprintf("scheduler TP%d DP%d PP%d", t, opt.DP, p))
			defer d.Host().Release()
			run, err := model.NewRunner(opt.Config, opt.Source, shard, d, groups, opt.Model)
			if err == nil && !opt.Model.NoGraphs {
				err = run.CaptureGraphs()
			}
			if err != nil {
				err = fmt.Errorf("rank %d: %w", first+i, err)
			}
			ready <- outcome{rank: at, err: err}
			for j := range jobs {
				logits, err := j.do(run, d.Host())
				j.done <- outcome{at, logits, err}
			}
		})
	}
	var err error
	for range r.jobs {
		err = errors.Join(err, (<-ready).err)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.weights = r.measure()
	return r, nil
}

// Rank is rank i of a data-parallel rank, without a recorder.
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

// joiner makes the groups of a replica whose first rank in the layout is first.
type joiner struct {
	spread *Spread
	first  int
}

// join makes a group of n ranks of the replica, from first on, step apart; nothing
// for a rank alone, or when none is here.
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

// each has every rank do f at the same time and waits for all.
func (r *Ranks) each(f func(*model.Runner, *device.Host) ([][]float32, error)) ([]outcome, error) {
	done := make(chan outcome, len(r.jobs))
	for _, jobs := range r.jobs {
		jobs <- job{f, done}
	}
	out := make([]outcome, len(r.jobs))
	var err error
	for range r.jobs {
		o := <-done
		out[o.rank] = o
		if o.err != nil {
			err = errors.Join(err, fmt.Errorf("rank %d: %w", r.list[o.rank].Meta.Rank, o.err))
		}
	}
	return out, err
}

// Forward runs one step on all ranks.
func (r *Ranks) Forward(s sched.Step) ([][]float32, error) {
	sends := s.Sends()
	return r.run(s.Name(), s.Requests, func(h *device.Host) *model.Batch { return r.sending(s, sends, h) })
}

// Run is Forward of a step of that name and those requests. Where the rank with
// the logits is in another process there are none.
func (r *Ranks) Run(name string, requests func() string, b *model.Batch) ([][]float32, error) {
	return r.run(name, requests, func(*device.Host) *model.Batch { return b })
}

// run is Run of what batch gives each rank.
func (r *Ranks) run(name string, requests func() string, batch func(*device.Host) *model.Batch) ([][]float32, error) {
	out, err := r.each(func(run *model.Runner, h *device.Host) ([][]float32, error) {
		h.AnnotateStep(name, requests)
		defer h.End()
		return run.Forward(batch(h))
	})
	if err != nil || r.logits < 0 {
		return nil, err
	}
	return out[r.logits].logits, nil
}

// measure returns the weight bytes of the largest rank.
func (r *Ranks) measure() int64 {
	sizes := make(chan int64, len(r.jobs))
	r.each(func(run *model.Runner, _ *device.Host) ([][]float32, error) {
		sizes <- run.WeightBytes()
		return nil, nil
	})
	var most int64
	for range r.jobs {
		most = max(most, <-sizes)
	}
	return most
}

// WeightBytes is the memory of the weights of the rank that has the most.
func (r *Ranks) WeightBytes() int64 { return r.weights }

// Err is the error that stopped a device, or nil.
func (r *Ranks) Err() error {
	for i, d := range r.devices {
		if err := d.Err(); err != nil {
			return fmt.Errorf("rank %d: %w", r.list[i].Meta.Rank, err)
		}
	}
	return nil
}

// Ranks lists the ranks.
func (r *Ranks) Ranks() []Rank { return r.list }

// Close ends the threads and the devices. No step may be running.
func (r *Ranks) Close() error {
	var err error
	r.close.Do(func() {
		for _, jobs := range r.jobs {
			close(jobs)
		}
		r.threads.Wait()
		for _, d := range r.devices {
			err = errors.Join(err, d.Close())
		}
	})
	return err
}

// recorder is a device's.
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
