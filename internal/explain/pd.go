package explain

import (
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/trace"
)

// Prefill and decode apart: what a set of prefill servers and a set of decode
// servers did, what went from the ones to the others, and which side limits the
// throughput. docs/metrics.md defines the figures.

// What limits the throughput of prefill and decode servers.
const (
	LimitPrefill  = "prefill"
	LimitDecode   = "decode"
	LimitTransfer = "transfer"
	LimitLoad     = "load" // nobody waits: more could be asked
	LimitUnknown  = "unknown"
)

// Limits is the kind of the finding that says so.
const Limits = "pd_limit"

// PD is what PrefillDecode finds.
type PD struct {
	Prefill  PDSide    `json:"prefill"`
	Decode   PDSide    `json:"decode"`
	Transfer Transfers `json:"transfer"`
	Limit    string    `json:"limit"`    // prefill, decode, transfer, load or unknown
	Findings []Finding `json:"findings"` // which, and why
	Notes    []Note    `json:"notes"`
}

// PDSide is what the servers of one role did. Shares are means over ranks; rates are
// sums over servers.
type PDSide struct {
	Servers    []PDServer `json:"servers"`
	Steps      int        `json:"steps"`
	Stepping   float64    `json:"stepping"` // share of the time in forward steps
	Busy       float64    `json:"busy"`     // share of the time in which kernels ran
	TokensPerS float64    `json:"tokens_s"` // new tokens in its steps; 0: the steps do not say
	Queue      Queue      `json:"queue"`
}

// PDServer is one server's part.
type PDServer struct {
	Name       string  `json:"name"`
	Ranks      int     `json:"ranks"`
	Steps      int     `json:"steps"`
	OtherSteps int     `json:"other_steps"` // of the other side's kind
	FromNS     int64   `json:"from_ns"`     // since the epoch: its recording begins
	WindowNS   int64   `json:"window_ns"`   // how long it was recorded, the mean over ranks
	Stepping   float64 `json:"stepping"`
	Busy       float64 `json:"busy"`
	NoCore     float64 `json:"no_core"` // share of the time for which a software device had no core
	TokensPerS float64 `json:"tokens_s"`
	Period     int64   `json:"step_median_ns"` // from a step's start to the next one's
	Batch      float64 `json:"batch_mean"`     // requests a step; 0: not said
	BatchMax   int     `json:"batch_max"`
	Queue      Queue   `json:"queue"`
}

// Queue is a mean over samples of requests: of a side, the sum over its servers.
type Queue struct {
	Samples     int     `json:"samples"` // 0: not known
	Running     float64 `json:"running"`
	MostRunning int     `json:"most_running"`
	Waiting     float64 `json:"waiting"`
	Bootstrap   float64 `json:"bootstrap"`
	Inflight    float64 `json:"inflight"`
	Prealloc    float64 `json:"prealloc"`
	Transfer    float64 `json:"transfer"`
	Retracted   float64 `json:"retracted"`
	KVUsage     float64 `json:"kv_usage"` // largest
}

// place is who waits for a place on a decode server.
func (q *Queue) place() float64 { return q.Prealloc + q.Retracted }

// waits is who waits for the server: for a place on it, or a batch.
func (q *Queue) waits() float64 { return q.Waiting + q.place() }

// PrefillDecode explains the windows of prefill and decode servers of one system,
// recorded at about the same time. It wants one at least with steps, and one of the
// other side that has some or can be seen to have had none to do.
func PrefillDecode(prefill, decode []*Server) (*PD, error) {
	sides := usable(prefill, decode)
	ps, ds := sides[0], sides[1]
	pd := &PD{Prefill: sideOf(ps, trace.Decode), Decode: sideOf(ds, trace.Prefill)}
	for _, s := range []struct {
		role string
		side *PDSide
	}{{"prefill", &pd.Prefill}, {"decode", &pd.Decode}} {
		if !slices.ContainsFunc(s.side.Servers, func(s PDServer) bool { return s.Ranks > 0 }) {
			return nil, fmt.Errorf("the %s servers' traces name no forward steps", s.role)
		}
	}
	pd.queues(ps, ds)
	pd.transfers(ps, ds)
	pd.Findings = []Finding{pd.limits()}
	pd.caveats()
	orEmpty(&pd.Notes)
	return pd, nil
}

// sideOf sums up the servers of a role; other is the kind of step that it should not
// have.
func sideOf(servers []*Server, other trace.StepKind) PDSide {
	s := PDSide{Servers: []PDServer{}}
	ranks := 0
	for _, ps := range servers {
		row := PDServer{Name: ps.name, Ranks: len(ps.ranks)}
		var periods []int64
		requests, batches := 0, 0
		for _, r := range ps.ranks {
			row.Stepping, row.Busy, row.NoCore = row.Stepping+r.stepping, row.Busy+r.busy, row.NoCore+r.noCore
			row.WindowNS += r.to - r.from
			if row.FromNS == 0 || r.from < row.FromNS {
				row.FromNS = r.from
			}
			if !r.lead {
				continue
			}
			tokens := 0
			for i := range r.steps {
				st := &r.steps[i]
				if st.Kind == trace.IdleStep {
					continue
				}
				row.Steps++
				if st.Kind == other || st.Kind == trace.Mixed {
					row.OtherSteps++
				}
				tokens += max(st.Tokens, 0)
				if st.Batch > 0 {
					requests, batches = requests+st.Batch, batches+1
					row.BatchMax = max(row.BatchMax, st.Batch)
				}
				if i < len(r.periods) {
					periods = append(periods, r.periods[i])
				}
			}
			row.TokensPerS += 1e9 * share(int64(tokens), r.to-r.from)
		}
		s.Steps += row.Steps
		s.Stepping, s.Busy = s.Stepping+row.Stepping, s.Busy+row.Busy
		s.TokensPerS += row.TokensPerS
		ranks += row.Ranks
		if n := float64(row.Ranks); n > 0 {
			row.Stepping, row.Busy, row.NoCore = row.Stepping/n, row.Busy/n, row.NoCore/n
			row.WindowNS /= int64(row.Ranks)
		}
		if batches > 0 {
			row.Batch = float64(requests) / float64(batches)
		}
		if len(periods) > 0 {
			row.Period = int64(metric.MedianInPlace(periods))
		}
		s.Servers = append(s.Servers, row)
	}
	if ranks > 0 {
		s.Stepping, s.Busy = s.Stepping/float64(ranks), s.Busy/float64(ranks)
	}
	return s
}

// queues takes the means of the samples that lie in the recorded time, which is that
// from the first window's begin to the last one's end.
func (pd *PD) queues(prefill, decode []*Server) {
	from, to := int64(1<<63-1), int64(0)
	for _, s := range slices.Concat(pd.Prefill.Servers, pd.Decode.Servers) {
		if s.Ranks > 0 {
			from, to = min(from, s.FromNS), max(to, s.FromNS+s.WindowNS)
		}
	}
	sum := func(side *PDSide, servers []*Server) {
		for i := range servers {
			q := queueOf(servers[i].loads, from, to)
			side.Servers[i].Queue = q
			if i == 0 {
				side.Queue = q
				continue
			}
			all := &side.Queue
			all.Samples = min(all.Samples, q.Samples)
			all.Running += q.Running
			all.MostRunning += q.MostRunning
			all.Waiting += q.Waiting
			all.Bootstrap += q.Bootstrap
			all.Inflight += q.Inflight
			all.Prealloc += q.Prealloc
			all.Transfer += q.Transfer
			all.Retracted += q.Retracted
			all.KVUsage = max(all.KVUsage, q.KVUsage)
		}
	}
	sum(&pd.Prefill, prefill)
	sum(&pd.Decode, decode)
}

func queueOf(loads []trace.Load, from, to int64) (q Queue) {
	for _, l := range loads {
		if l.At < from || l.At > to {
			continue
		}
		q.Samples++
		q.Running += float64(l.Running)
		q.MostRunning = max(q.MostRunning, l.MostRunning)
		q.Waiting += float64(l.Waiting)
		q.Bootstrap += float64(l.Bootstrap)
		q.Inflight += float64(l.Inflight)
		q.Prealloc += float64(l.Prealloc)
		q.Transfer += float64(l.Transfer)
		q.Retracted += float64(l.Retracted)
		q.KVUsage = max(q.KVUsage, l.KVUsage)
	}
	if n := float64(q.Samples); n > 0 {
		for _, v := range []*float64{&q.Running, &q.Waiting, &q.Bootstrap, &q.Inflight, &q.Prealloc, &q.Transfer, &q.Retracted} {
			*v /= n
		}
	}
	return q
}
