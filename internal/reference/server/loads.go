package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
)

var loadSections = []string{"core", "memory", "spec", "lora", "disagg", "queues", "all"}

// loads is GET /v1/loads?dp_rank=&include=&format=.
func (s *Server) loads(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	defer func() { s.metrics.loads.Observe(time.Since(began).Seconds()) }()
	query := r.URL.Query()
	include := map[string]bool{"all": true}
	if v := query.Get("include"); v != "" {
		include = map[string]bool{}
		for part := range strings.SplitSeq(v, ",") {
			part = strings.TrimSpace(part)
			if !slices.Contains(loadSections, part) {
				s.refuse(w, dialectGeneral, wire.Refuse("include", "unknown section %q, want some of %s", part, strings.Join(loadSections, ", ")))
				return
			}
			include[part] = true
		}
	}
	rank := -1
	if v := query.Get("dp_rank"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			s.refuse(w, dialectGeneral, wire.Refuse("dp_rank", "want a rank, got %q", v))
			return
		}
		rank = n
	}
	now := s.o.Now()
	out := wire.Loads{
		Timestamp: now.UTC().Format("2006-01-02T15:04:05.000000-07:00"), Version: s.o.Version, Accelerator: s.info.Accelerator,
		NumAccelerators: max(1, s.info.TP) * max(1, s.info.PP), Loads: []wire.Load{},
	}
	for _, st := range s.engine.Stats() {
		if rank >= 0 && st.DPRank != rank {
			continue
		}
		out.Loads = append(out.Loads, s.load(&st, now, include))
	}
	if query.Get("format") == "prometheus" {
		s.loadGauges(w, out.Loads)
		return
	}
	s.reply(w, out)
}

func (s *Server) load(st *api.Stats, now time.Time, include map[string]bool) wire.Load {
	l := wire.Load{
		Timestamp:            float64(now.UnixMicro()) / 1e6,
		DPRank:               st.DPRank,
		NumRunningReqs:       st.Running,
		NumWaitingReqs:       st.Waiting,
		NumWaitingTokens:     st.WaitingTokens,
		NumUsedTokens:        st.UsedTokens,
		NumTotalTokens:       st.UsedTokens + st.WaitingTokens,
		NumActiveTokens:      st.UsedTokens + st.WaitingTokens - int(math.Round(st.Preallocated*float64(st.Capacity))),
		NumPreallocReady:     int(math.Round(st.ToAllocate * float64(st.Capacity))),
		MaxTotalNumTokens:    s.info.TokenCapacity,
		MaxRunningRequests:   s.info.MaxRunningRequests,
		TokenUsage:           s.tokenUsage(st),
		GenThroughput:        st.GenThroughput,
		CacheHitRate:         st.CacheHitRate,
		Utilization:          st.Utilization,
		PrefillUncachedTotal: st.ComputedTokens,
		PrefillBusyMicros:    st.PrefillBusy.Microseconds(),
	}
	if include["all"] || include["memory"] {
		l.Memory = &wire.MemoryLoad{
			WeightGB: gib(s.info.WeightBytes), KVCacheGB: gib(s.info.KVBytes), GraphGB: gib(s.info.GraphBytes), TokenCapacity: s.info.TokenCapacity,
		}
	}
	if include["all"] || include["disagg"] {
		l.Disagg = s.disaggLoad(st)
	}
	if include["all"] || include["queues"] {
		l.Queues = &wire.QueuesLoad{Waiting: st.Waiting, Retracted: st.Retracted, PreallocReady: st.Prealloc}
	}
	return l
}

// loadGauges writes every number of the loads as a gauge sglang_KEY{dp_rank="n"}.
func (s *Server) loadGauges(w http.ResponseWriter, loads []wire.Load) {
	byName := map[string]string{}
	var names []string
	add := func(name string, rank int, v float64) {
		if _, had := byName[name]; !had {
			names = append(names, name)
		}
		byName[name] += fmt.Sprintf("%s{dp_rank=\"%d\"} %s\n", name, rank, strconv.FormatFloat(v, 'g', -1, 64))
	}
	short := map[string]string{"disaggregation": "disagg", "speculative": "spec"}
	for _, l := range loads {
		text, _ := json.Marshal(l)
		var fields map[string]any
		json.Unmarshal(text, &fields)
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			switch v := fields[key].(type) {
			case float64:
				if key != "dp_rank" {
					add("sglang_"+key, l.DPRank, v)
				}
			case map[string]any:
				prefix := key
				if p := short[key]; p != "" {
					prefix = p
				}
				for _, sub := range slices.Sorted(maps.Keys(v)) {
					if x, ok := v[sub].(float64); ok {
						add("sglang_"+prefix+"_"+sub, l.DPRank, x)
					}
				}
			}
		}
	}
	var out strings.Builder
	for _, name := range names {
		out.WriteString("# TYPE " + name + " gauge\n" + byName[name])
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Write([]byte(out.String()))
}

// oldLoad is the deprecated GET /get_load.
func (s *Server) oldLoad(w http.ResponseWriter, _ *http.Request) {
	out := []wire.OldLoad{}
	for _, st := range s.engine.Stats() {
		out = append(out, wire.OldLoad{
			DPRank: st.DPRank, NumReqs: st.Running + st.Waiting, NumWaitingReqs: st.Waiting,
			NumTokens: st.UsedTokens + st.WaitingTokens, NumPendingTokens: st.WaitingTokens,
			Time: s.o.Now().Sub(s.created).Seconds(),
		})
	}
	s.reply(w, out)
}
