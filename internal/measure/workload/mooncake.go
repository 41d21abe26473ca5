package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// mooncakeFiles are the traces of https://github.com/kvcache-ai/Mooncake.
var mooncakeFiles = map[string]string{
	"mooncake":     "FAST25-release/arxiv-trace/mooncake_trace.jsonl",
	"conversation": "FAST25-release/traces/conversation_trace.jsonl",
	"synthetic":    "FAST25-release/traces/synthetic_trace.jsonl",
	"toolagent":    "FAST25-release/traces/toolagent_trace.jsonl",
}

const (
	mooncakeQuestion  = "Tell me a story based on this context."
	mooncakeBlock     = 128 // filler words after each hash id
	mooncakeMostIDs   = 1 << 16
	mooncakeOutputLen = 256
	mooncakeAtOnce    = 32 // sessions
)

// mooncakeRow is a line of a trace. As in SGLang, the input_length of a line is ignored: the hash ids determine the
// length of the prompt.
type mooncakeRow struct {
	Timestamp *float64 `json:"timestamp"` // ms
	HashIDs   []int64  `json:"hash_ids"`
	OutputLen *int     `json:"output_length"`
}

// mooncake reads the first rows of a trace in order of time. Equal hash ids give equal text, so prompts share the same
// prefixes as in the trace. All rounds of a session are sent at the time of the session. A later round contains made-up
// replies to the earlier rounds.
func (b *builder) mooncake(ctx context.Context) ([]Request, error) {
	file, ok := mooncakeFiles[b.MooncakeWorkload]
	if !ok {
		return nil, fmt.Errorf("unknown --mooncake-workload %q: give mooncake, conversation, synthetic or toolagent", b.MooncakeWorkload)
	}
	if err := count("--mooncake-num-rounds", b.MooncakeRounds); err != nil {
		return nil, err
	}
	rows, err := b.open("", file+" of https://github.com/kvcache-ai/Mooncake")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var trace []mooncakeRow
	for i := 0; i < len(rows.at) && len(trace) < b.limit(len(rows.at)); i++ {
		var row mooncakeRow
		if ok, err := rows.read(i, &row); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		switch {
		case row.Timestamp == nil || math.Abs(*row.Timestamp) > 1e12:
			rows.skip(i, "timestamp is not a time in ms")
		case row.OutputLen != nil && (*row.OutputLen < 0 || *row.OutputLen > most):
			rows.skip(i, "output_length %d is not from 0 to %d", *row.OutputLen, most)
		case len(row.HashIDs) > mooncakeMostIDs:
			rows.skip(i, "%d hash_ids: at most %d", len(row.HashIDs), mooncakeMostIDs)
		default:
			trace = append(trace, row)
		}
	}
	sorts.Stable(trace, func(a, b mooncakeRow) int { return cmp.Compare(*a.Timestamp, *b.Timestamp) })
	var out []Request
	for some := range slices.Chunk(trace, mooncakeAtOnce) {
		var chats [][]message
		for _, row := range some {
			r := Request{OutputLen: mooncakeOutputLen, At: time.Duration(math.Round((*row.Timestamp - *trace[0].Timestamp) * 1e6))}
			if row.OutputLen != nil {
				r.OutputLen = *row.OutputLen
			}
			for _, chat := range session(row.HashIDs, r.OutputLen, b.MooncakeRounds) {
				chats, out = append(chats, chat), append(out, r)
			}
		}
		prompts, err := b.rendered(ctx, chats)
		if errors.Is(err, errNoTemplate) {
			err = nil
			for _, raw := range marshalled(chats) {
				prompts = append(prompts, RenderedChat{Text: plainChat(raw)})
			}
		}
		if err != nil {
			return nil, err
		}
		for i, prompt := range prompts {
			out[len(out)-len(prompts)+i].Prompt = prompt.Text
		}
	}
	if err := b.measure(ctx, out); err != nil {
		return nil, err
	}
	b.shorter(len(trace))
	return out, rows.finish(b, len(out))
}

// session returns the messages that are sent in each round of a session.
func session(hashes []int64, output, rounds int) [][]message {
	filler := strings.TrimSuffix(strings.Repeat("hi ", mooncakeBlock), " ")
	var question strings.Builder
	for _, h := range hashes {
		question.WriteString(strconv.FormatInt(h, 10) + filler)
	}
	question.WriteString(mooncakeQuestion)
	var history []message
	chats := make([][]message, rounds)
	for i := range chats {
		if i > 0 {
			history = append(history, message{"assistant", strings.TrimSuffix(strings.Repeat("story ", output), " ")})
		}
		history = append(history, message{"user", fmt.Sprintf("Round %d: %s", i+1, question.String())})
		chats[i] = slices.Clone(history)
	}
	return chats
}
