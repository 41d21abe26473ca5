package engine

import (
	"errors"
	"fmt"
	"sync"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// TeamOptions configure the ranks of one data-parallel rank.
type TeamOptions struct {
	Sizes Sizes  // sizes of the whole layout
	DP    int    // index of the data-parallel rank
	Host  string // host_name of traces
	// Device returns the device options of a rank; ranks are numbered over the whole layout. nil: every device has the
	// default options.
	Device func(rank int) device.Options
	Spread *Spread // distribution of ranks over processes; nil: all ranks are in this process
	Epoch  int64   // EpochNS of traces, see device.Meta; 0: the epoch of this process
	Thread string  // prefix of a thread's name; the rank's coordinates follow
}

// Seat is a rank's coordinates, device and groups.
type Seat struct {
	TP, PP  int
	Device  *device.Device
	TPGroup device.Comm // nil: single rank
	PPGroup device.Comm // nil: single rank
}

// Team is the set of TP × PP ranks of one data-parallel rank, or the part of them that this process runs. Each rank has
// a device, a thread and a value of type R. All ranks run the same function at the same time.
type Team[R any] struct {
	list    []Rank
	devices []*device.Device
	jobs    []chan job[R] // one channel per rank
	threads sync.WaitGroup
	close   sync.Once
}

// job is a function for a rank's thread.
type job[R any] struct {
	do   func(i int, r R, h *device.Host) error
	done chan<- outcome
}

type outcome struct {
	rank int // index
	err  error
}

// NewTeam creates the devices and the threads. It runs load on all threads in parallel.
func NewTeam[R any](opt TeamOptions, load func(Seat) (R, error)) (*Team[R], error) {
	z := opt.Sizes.normal()
	n := z.TP * z.PP
	t := &Team[R]{}
	first := opt.DP * n
	// The name of a group is unique in the whole layout. As in SGLang, each replica is a separate job, so the ranks in
	// a group are numbered within the replica.
	groups := joiner{opt.Spread, first}
	tp := make([][]device.Comm, z.PP)
	for p := range tp {
		tp[p] = groups.join("tp", opt.DP*z.PP+p, z.TP, p*z.TP, 1)
	}
	pp := make([][]device.Comm, z.TP)
	for i := range pp {
		pp[i] = groups.join("pp", opt.DP*z.TP+i, z.PP, i, z.TP)
	}
	ready := make(chan outcome, n)
	for i := range n {
		if !opt.Spread.here(first + i) {
			continue
		}
		seat := Seat{TP: i % z.TP, PP: i / z.TP}
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
		at := len(t.devices)
		t.devices = append(t.devices, d)
		rank := z.Rank(opt.DP, i, opt.Host, d.Info())
		rank.Recorder, rank.Meta.EpochNS = recorder{d}, opt.Epoch
		t.list = append(t.list, rank)
		jobs := make(chan job[R])
		t.jobs = append(t.jobs, jobs)
		seat.Device = d
		if z.TP > 1 {
			seat.TPGroup = tp[seat.PP][seat.TP]
		}
		if z.PP > 1 {
			seat.PPGroup = pp[seat.TP][seat.PP]
		}
		t.threads.Go(func() {
			d.Host().Bind(fmt.Sprintf("%s TP%d DP%d PP%d", opt.Thread, seat.TP, opt.DP, seat.PP))
			defer d.Host().Release()
			run, err := load(seat)
			if err != nil {
				err = fmt.Errorf("rank %d: %w", first+i, err)
			}
			ready <- outcome{at, err}
			for j := range jobs {
				j.done <- outcome{at, j.do(at, run, d.Host())}
			}
		})
	}
	var err error
	for range t.jobs {
		err = errors.Join(err, (<-ready).err)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Each runs f on all ranks at the same time and waits until all calls have returned. i is the rank's index among the
// ranks of this process.
func (t *Team[R]) Each(f func(i int, r R, h *device.Host) error) error {
	done := make(chan outcome, len(t.jobs))
	for _, jobs := range t.jobs {
		jobs <- job[R]{f, done}
	}
	var err error
	for range t.jobs {
		if o := <-done; o.err != nil {
			err = errors.Join(err, fmt.Errorf("rank %d: %w", t.list[o.rank].Meta.Rank, o.err))
		}
	}
	return err
}

// Err returns the error that stopped a device, or nil.
func (t *Team[R]) Err() error {
	for i, d := range t.devices {
		if err := d.Err(); err != nil {
			return fmt.Errorf("rank %d: %w", t.list[i].Meta.Rank, err)
		}
	}
	return nil
}

// Ranks lists the ranks.
func (t *Team[R]) Ranks() []Rank { return t.list }

// Close stops the threads and the devices. The caller must ensure that no function is running on the ranks.
func (t *Team[R]) Close() error {
	var err error
	t.close.Do(func() {
		for _, jobs := range t.jobs {
			close(jobs)
		}
		t.threads.Wait()
		for _, d := range t.devices {
			err = errors.Join(err, d.Close())
		}
	})
	return err
}
