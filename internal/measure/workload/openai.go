package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// openaiDefaultLen is the output length of a request that does not specify an output length.
const openaiDefaultLen = 256

// openai reads recorded chat requests in file order. It copies the additional keys of a row to the request body, except
// for keys that the client sets itself.
func (b *builder) openai(ctx context.Context) ([]Request, error) {
	rows, err := b.open("", `a file of yours with one chat request, {"messages":[…],"max_tokens":…}, in each line`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Request
	var chats []json.RawMessage
	var tools []string
	var withTools []int
	for i := 0; i < len(rows.at) && len(out) < b.limit(len(rows.at)); i++ {
		var row map[string]json.RawMessage
		if ok, err := rows.read(i, &row); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		messages, err := messageList(row["messages"])
		if err != nil {
			rows.skip(i, "%v", err)
			continue
		}
		r := Request{Messages: messages, OutputLen: openaiDefaultLen}
		if raw := row["max_tokens"]; raw != nil {
			if err := json.Unmarshal(raw, &r.OutputLen); err != nil || r.OutputLen < 0 {
				rows.skip(i, "max_tokens is not a count")
				continue
			}
		}
		if b.FixedOutputLen > 0 {
			r.OutputLen = b.FixedOutputLen
		}
		for _, key := range []string{"messages", "model", "max_tokens", "max_completion_tokens"} {
			delete(row, key)
		}
		if len(row) > 0 {
			r.Extra = row
		}
		if t, ok := row["tools"]; ok {
			tools, withTools = append(tools, string(t)), append(withTools, len(out))
		}
		chats, out = append(chats, messages), append(out, r)
	}
	lens, err := b.chatLens(ctx, chats)
	if err != nil {
		return nil, err
	}
	more, err := b.tok.Encode(ctx, tools, true)
	if err != nil {
		return nil, err
	}
	for k, i := range withTools {
		lens[i] += len(more[k])
	}
	for i := range out {
		out[i].PromptLen, out[i].TextLen = lens[i], lens[i]
	}
	b.shorter(len(out))
	return out, rows.finish(b, len(out))
}

// messageList returns an error unless messages is a non-empty list.
func messageList(raw json.RawMessage) (json.RawMessage, error) {
	var list []struct{ Role string }
	if err := json.Unmarshal(orNull(raw), &list); err != nil {
		return nil, fmt.Errorf("messages: %s", wire.JSONCause(err))
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("there are no messages")
	}
	return raw, nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// chatLens counts the tokens of conversations as the model sees them. For a conversation that the chat template
// rejects, it counts the tokens of the plain text.
func (b *builder) chatLens(ctx context.Context, chats []json.RawMessage) ([]int, error) {
	tok, ok := b.tok.(ChatTokenizer)
	lens := make([]int, len(chats))
	if ok {
		if made, err := tok.Chats(ctx, chats, false); err == nil {
			for i, m := range made {
				lens[i] = m.Len
			}
			return lens, nil
		}
	}
	plain, why := 0, ""
	for i, chat := range chats {
		if ok {
			made, err := tok.Chats(ctx, chats[i:i+1], false)
			if err == nil {
				lens[i] = made[0].Len
				continue
			}
			why = err.Error()
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ids, err := b.tok.Encode(ctx, []string{plainChat(chat)}, true)
		if err != nil {
			return nil, err
		}
		lens[i] = len(ids[0])
		plain++
	}
	if plain > 0 && ok {
		b.note("%d of %d conversations are counted without the chat template: %s", plain, len(chats), why)
	}
	return lens, nil
}

// plainChat returns a conversation as text.
func plainChat(chat json.RawMessage) string {
	messages, err := parseMessages(chat)
	if err != nil {
		return string(chat)
	}
	lines := make([]string, len(messages))
	for i, m := range messages {
		lines[i] = m.Role + ": " + m.Content
	}
	return strings.Join(lines, "\n")
}

// marshalled returns conversations as JSON.
func marshalled(chats [][]message) []json.RawMessage {
	raw := make([]json.RawMessage, len(chats))
	for i, c := range chats {
		raw[i], _ = json.Marshal(c) // strings always marshal
	}
	return raw
}
