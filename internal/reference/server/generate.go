package server

import (
	"fmt"
	"net/http"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/httpguard"
)

// generate is POST and PUT /generate.
func (s *Server) generate(w http.ResponseWriter, r *http.Request) {
	var req wire.GenerateRequest
	b := s.begin(w, r, dialectNative, &req, func() ([]*spec, error) { return s.generateSpecs(&req) }, &req.Stream)
	if b == nil {
		return
	}
	list := req.IsBatch() || len(b.seqs) > 1
	if req.Stream {
		s.stream(w, r, b, dialectNative, &nativeStream{list: list, incremental: s.o.IncrementalOutput})
		return
	}
	done := s.whole(w, r, b, dialectNative)
	if done == nil {
		return
	}
	var out []byte
	if list {
		out = append(out, '[')
	}
	for i := range done {
		u := &done[i]
		if i > 0 {
			out = append(out, ',')
		}
		out = wire.AppendGenerated(out, u.text, u.ids, u.meta(false), -1)
	}
	if list {
		out = append(out, ']')
	}
	httpguard.WriteJSON(w, http.StatusOK, out)
}

// generateSpecs returns the sequences of a request: sample j of prompt i has index i·n+j.
func (s *Server) generateSpecs(req *wire.GenerateRequest) ([]*spec, error) {
	if err := checkExtra(req.Extra); err != nil {
		return nil, err
	}
	dp, err := s.dpRank(req.DPRank)
	if err != nil {
		return nil, err
	}
	meetings, err := s.meetings(req.Extra, req.Batch())
	if err != nil {
		return nil, err
	}
	var def wire.SamplingParams
	def.MaxNewTokens = new(wire.DefaultMaxNewTokens)
	n := 0
	var out []*spec
	for i := range req.Batch() {
		params := req.SamplingParams.At(i, def)
		switch k := pick(params.N, 1); {
		case n == 0:
			n = k
		case k != n:
			return nil, wire.Refuse("sampling_params", "n must be the same for the whole batch, got %d and %d", n, k)
		}
		if err := s.checkTotal(req.Batch(), n); err != nil {
			return nil, err
		}
		ids, field, err := s.generateInput(req, i)
		if err != nil {
			return nil, err
		}
		meet, err := meetings.at(i)
		if err != nil {
			return nil, err
		}
		start := req.LogprobStartLen.At(i, -1)
		if start < -1 || start > len(ids) {
			return nil, wire.Refuse("logprob_start_len", "must be in [-1, %d], got %d", len(ids), start)
		}
		top := req.TopLogprobsNum.At(i, 0)
		if err := s.checkTop("top_logprobs_num", top); err != nil {
			return nil, err
		}
		more, err := s.samples(spec{
			textLogprob: req.TextInLogprobs,
			req: &api.Request{
				Input:         ids,
				ReturnLogprob: req.ReturnLogprob.At(i, false),
				LogprobStart:  start,
				TopLogprobs:   top,
				DPRank:        dp,
				Bootstrap:     meet,
				Priority:      req.Priority,
			},
		}, &params, s.rid(req, i), n)
		if err != nil {
			return nil, wire.Within(field, err)
		}
		out = append(out, more...)
	}
	return out, nil
}

// generateInput returns the tokens of prompt i, and the field name for errors in its sampling parameters.
func (s *Server) generateInput(req *wire.GenerateRequest, i int) (ids []int32, params string, err error) {
	params = "sampling_params"
	if req.SamplingParams.Many {
		params = fmt.Sprintf("sampling_params[%d]", i)
	}
	if !req.Text.IsZero() {
		ids, err = s.encode("text", req.Text.Values[i], true)
		return ids, params, err
	}
	ids = req.InputIDs.Values[i]
	return ids, params, s.checkIDs("input_ids", ids)
}

// rid returns the id of prompt i. As in SGLang, a single id for a batch is the prefix of the ids of all prompts.
func (s *Server) rid(req *wire.GenerateRequest, i int) string {
	id := req.RID.At(i, "")
	switch {
	case id == "":
		return s.o.NewID()
	case !req.RID.Many && req.IsBatch():
		return fmt.Sprintf("%s_%d", id, i)
	}
	return id
}

// nativeStream writes the events of /generate.
type nativeStream struct {
	list        bool
	incremental bool
}

func (n *nativeStream) events(dst []byte, u *update) []byte {
	text, ids := u.text, u.ids
	if n.incremental {
		text = text[u.prev.text:]
		ids = ids[u.prev.ids:]
		if len(ids) > 0 && ids[0] == ',' {
			ids = ids[1:]
		}
	}
	index := -1
	if n.list {
		index = u.q.index
	}
	dst = wire.AppendGenerated(append(dst, "data: "...), text, ids, u.meta(n.incremental), index)
	return append(dst, "\n\n"...)
}

func (n *nativeStream) end(dst []byte) []byte { return dst }
