package batch

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/capture/signals"
)

// Server is a running server to which batches are sent.
type Server struct {
	*client.Server
	VLLM  bool           // the server speaks vLLM's API, not SGLang's
	Model string         // the server's name for the model
	Told  map[string]any // the server's server_info; vLLM has none
	Limits
	Out   io.Writer
	Pause time.Duration // between attempts to flush; default 2 s
}

// Limits are the capacity limits that a server reports. vLLM reports no limits.
type Limits struct {
	DP         int
	TP         int
	MaxRunning int // concurrent sequences per data-parallel rank
	Capacity   int // KV cache capacity in tokens, all data-parallel ranks together
	ContextLen int // 0: unknown
}

// patience is the maximum time for which a server may send nothing. SGLang's tool uses the same value.
const patience = 10 * time.Minute

// Look queries an SGLang server for its limits, or a vLLM server for the name of its model.
func (s *Server) Look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if s.VLLM {
		s.Limits = Limits{DP: 1, TP: 1, MaxRunning: math.MaxInt32, Capacity: math.MaxInt}
		var err error
		if s.Model, err = s.Server.Model(ctx); err != nil {
			return err
		}
		if s.Model == "" {
			return fmt.Errorf("%s serves no model", s.URL)
		}
		return nil
	}
	info, err := s.Info(ctx)
	if err != nil {
		return err
	}
	states := statesOf(info)
	if len(states) == 0 {
		return fmt.Errorf("%s/server_info has no internal_states: is it SGLang's?", s.URL)
	}
	s.DP, s.TP = max(1, number(states[0], "dp_size")), max(1, number(info, "tp_size"))
	s.MaxRunning = number(states[0], "effective_max_running_requests_per_dp")
	if s.MaxRunning <= 0 {
		return fmt.Errorf("%s/server_info does not tell effective_max_running_requests_per_dp", s.URL)
	}
	for _, state := range states {
		memory, _ := state["memory_usage"].(map[string]any)
		n := number(memory, "token_capacity")
		if n <= 0 { // some servers report no limit; SGLang's tool then assumes 1e9
			n = 1e9
		}
		s.Capacity += n
	}
	s.ContextLen = number(info, "context_length")
	s.Told = info
	return nil
}

func statesOf(info map[string]any) (out []map[string]any) {
	list, _ := info["internal_states"].([]any)
	for _, v := range list {
		if state, ok := v.(map[string]any); ok {
			out = append(out, state)
		}
	}
	return out
}

func number(from map[string]any, key string) int {
	v, _ := from[key].(float64)
	return int(v)
}

// Skip returns the reason why a case is skipped, in SGLang's words. If the case is run, Skip returns "". If several is
// set, a batch may have more sequences than the server runs at once, and only the concurrent sequences must fit in the
// KV cache. If the prompts have different lengths, prompt i has length lens[i % len(lens)].
func (s *Server) Skip(c Case, several bool, lens ...int) string {
	running, n := s.MaxRunning*s.DP, c.Batch
	if several {
		n = min(n, running)
	}
	need, longest := Case{n, c.Input, c.Output}.Tokens(), c.Input
	what := fmt.Sprintf("batch_size=%d * (input_len=%d + output_len=%d) = %d", n, c.Input, c.Output, need)
	if len(lens) > 0 {
		need, longest = n*c.Output, slices.Max(lens[:min(n, len(lens))])
		for i := range n {
			need += lens[i%len(lens)]
		}
		what = fmt.Sprintf("batch_size=%d input_len=%d output_len=%d: resident_tokens=%d", n, c.Input, c.Output, need)
	}
	text := ""
	switch {
	case !several && c.Batch > running:
		text = fmt.Sprintf("batch_size=%d > skip_max_running_requests_threshold=%d due to max running requests limit.", c.Batch, running)
	case need > s.Capacity:
		text = fmt.Sprintf("%s > skip_token_capacity_threshold=%d due to kv cache limit.", what, s.Capacity)
	case s.ContextLen > 0 && longest+c.Output > s.ContextLen:
		text = fmt.Sprintf("input_len=%d + output_len=%d = %d > context_length=%d.", longest, c.Output, longest+c.Output, s.ContextLen)
	default:
		return ""
	}
	bar := strings.Repeat("=", 8)
	return bar + "Skip benchmark " + text + bar
}

// flushes is the number of attempts to flush the cache. An attempt fails while the server is not idle.
const flushes = 3

// kind returns the kind of API that the server speaks.
func (s *Server) kind() servers.Kind {
	if s.VLLM {
		return servers.VLLM
	}
	return servers.SGLang
}

// flush empties the prefix cache.
func (s *Server) flush(ctx context.Context, h How) error {
	routes := s.kind().Row().Flush
	if !h.FlushStorage {
		routes = routes[:1]
	}
	for _, route := range routes {
		if err := s.flushBy(ctx, route); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) flushBy(ctx context.Context, route string) error {
	for try := 1; ; try++ {
		one, cancel := context.WithTimeout(ctx, patience)
		_, err := s.Text(one, http.MethodPost, route)
		cancel()
		if err == nil || try == flushes || ctx.Err() != nil {
			return s.kind().Row().FlushError(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(cmp.Or(s.Pause, 2*time.Second)):
		}
	}
}

// counters holds a server's counters of prompt tokens. A nil *counters means that the server does not expose these
// counters.
type counters struct{ cached, prompt float64 }

// metrics reads the server's counters and sums each counter over all label sets.
func (s *Server) metrics(ctx context.Context) *counters {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	text, err := s.Text(ctx, http.MethodGet, "/metrics")
	if err != nil {
		return nil
	}
	all, _ := signals.Parse(text)
	c := &counters{}
	if signals.Known(all.Cached) {
		c.cached = all.Cached
	}
	if signals.Known(all.Prompt) {
		c.prompt = all.Prompt
	}
	return c
}

// hitRate returns the fraction of the prompt tokens that were cached; nil: unknown.
func hitRate(before, after *counters) *float64 {
	if before == nil || after == nil || after.prompt <= before.prompt {
		return nil
	}
	return new((after.cached - before.cached) / (after.prompt - before.prompt))
}
