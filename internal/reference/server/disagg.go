package server

import (
	"cmp"
	"encoding/json"
	"math"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
)

// meetings holds the bootstrap data by which the sequences of a request are paired with the sequences on the other
// server. It is nil if the server works alone.
type meetings struct {
	wire.Bootstraps
	role string
}

// meetings reads the bootstrap data from a request with the given number of prompts.
func (s *Server) meetings(extra map[string]json.RawMessage, prompts int) (*meetings, error) {
	if s.info.Role == "" {
		return nil, nil
	}
	b, err := wire.ParseBootstraps(extra)
	if err != nil {
		return nil, err
	}
	for name, n := range map[string]int{"bootstrap_host": len(b.Host.Values), "bootstrap_port": len(b.Port.Values), "bootstrap_room": len(b.Room.Values)} {
		if n > 1 && n != prompts {
			return nil, wire.Refuse(name, "has %d entries for a batch of %d", n, prompts)
		}
	}
	return &meetings{b, s.info.Role}, nil
}

// at returns the bootstrap data of prompt i.
func (b *meetings) at(i int) (*api.Bootstrap, error) {
	if b == nil {
		return nil, nil
	}
	room := b.Room.At(i, -1)
	if room < 0 {
		return nil, badRequest("Disaggregated request received without bootstrap room id")
	}
	if !b.Room.Many {
		room = (room + int64(i)) & math.MaxInt64 // same numbering as in SGLang
	}
	out := &api.Bootstrap{Host: b.Host.At(i, ""), Port: b.Port.At(i, 0), Room: uint64(room)}
	if out.Host == "" && b.role == api.Decode {
		return nil, wire.Refuse("bootstrap_host", "is required: the address of the prefill server")
	}
	if out.Port == 0 {
		out.Port = wire.DefaultBootstrapPort
	}
	return out, nil
}

// Transferred counts one successful transfer of keys and values. Any goroutine may call it.
func (s *Server) Transferred(bytes int64, took time.Duration) {
	m := s.metrics
	ms, gbs := float64(took.Nanoseconds())/1e6, 0.0
	if took > 0 {
		gbs = float64(bytes) / float64(took.Nanoseconds())
	}
	m.transferMS.Observe(ms)
	m.transferMB.Observe(float64(bytes) / (1 << 20))
	m.transferGBs.Observe(gbs)
	m.lastMS.Store(math.Float64bits(ms))
	m.lastGBs.Store(math.Float64bits(gbs))
}

// disaggLoad is the disagg section of /v1/loads.
func (s *Server) disaggLoad(st *api.Stats) *wire.DisaggLoad {
	return &wire.DisaggLoad{
		Mode: cmp.Or(s.info.Role, "null"), Bootstrap: st.Bootstrap, Inflight: st.Inflight, Prealloc: st.Prealloc, Transfer: st.Transfer, Retracted: st.SetAside,
		SpeedGBs: math.Float64frombits(s.metrics.lastGBs.Load()), LatencyMS: math.Float64frombits(s.metrics.lastMS.Load()),
	}
}
