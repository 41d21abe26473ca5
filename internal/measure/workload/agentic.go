package workload

import (
	"context"
	"encoding/json"
)

// agenticOutputLen is the approximate length of an agent's reply.
const agenticOutputLen = 220

// agentic reads recorded conversations of agents in file order. A turn contains only the messages that are new in this
// turn. The recorded replies are omitted, because the server generates new replies.
func (b *builder) agentic(ctx context.Context) ([]Request, error) {
	rows, err := b.open("conversations", `a trace {"conversations":[[{"messages":[…],"prompt_tokens":…},…],…]}`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	output := agenticOutputLen
	if b.FixedOutputLen > 0 {
		output = b.FixedOutputLen
	}
	var out []Request
	var uncounted []int
	var chats []json.RawMessage
	for k := 0; k < len(rows.at) && len(out) < b.limit(len(rows.at)); k++ {
		i := (k + b.Offset) % len(rows.at)
		var turns []struct {
			Messages json.RawMessage `json:"messages"`
			Tokens   int             `json:"prompt_tokens"`
		}
		if ok, err := rows.read(i, &turns); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		var rounds []Round
		for _, t := range turns {
			if b.AgenticMaxTurns > 0 && len(rounds) == b.AgenticMaxTurns {
				break
			}
			if messages, err := messageList(t.Messages); err == nil {
				rounds = append(rounds, Round{Messages: messages, PromptLen: max(t.Tokens, 0), OutputLen: output})
			}
		}
		if len(rounds) == 0 {
			rows.skip(i, "no turn has messages")
			continue
		}
		if rounds[0].PromptLen == 0 {
			uncounted, chats = append(uncounted, len(out)), append(chats, rounds[0].Messages)
		}
		out = append(out, Request{Messages: rounds[0].Messages, Rounds: rounds, OutputLen: output})
	}
	lens, err := b.chatLens(ctx, chats)
	if err != nil {
		return nil, err
	}
	for k, i := range uncounted {
		out[i].Rounds[0].PromptLen = lens[k]
	}
	for i := range out {
		out[i].PromptLen = out[i].Rounds[0].PromptLen
		out[i].TextLen = out[i].PromptLen
	}
	b.shorter(len(out))
	return out, rows.finish(b, len(out))
}
