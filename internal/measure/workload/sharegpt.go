package workload

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/stepscope/stepscope/internal/base/jsonscan"
)

const shareGPTFile = "ShareGPT_V3_unfiltered_cleaned_split.json"

const shareGPT = shareGPTFile + ", from the Hugging Face data set anon8231489123/ShareGPT_Vicuna_unfiltered"

// assistantSuffix always remains at the end of a prompt. A suffix given by the user is inserted before assistantSuffix.
const assistantSuffix = "Assistant:"

// dialogue is a row of the data sets sharegpt and custom. A row has one of the two keys below.
type dialogue struct {
	Conversations []turn `json:"conversations"`
	Conversation  []turn `json:"conversation"`
	Image         any    `json:"image"`
}

type turn struct {
	Content *string `json:"content"`
	Value   *string `json:"value"`
}

func (t turn) text() string {
	switch {
	case t.Content != nil:
		return *t.Content
	case t.Value != nil:
		return *t.Value
	}
	return ""
}

// turns returns the texts of the first two turns. If there are fewer than two turns, ok is false.
func (d *dialogue) turns() (prompt, reply string, ok bool) {
	list := d.Conversations
	if list == nil {
		list = d.Conversation
	}
	if len(list) < 2 {
		return "", "", false
	}
	return list[0].text(), list[1].text(), true
}

// sharegpt reads the first two turns of conversations in random order. The first turn is the prompt. The length of the
// second turn is the output length.
func (b *builder) sharegpt(ctx context.Context) ([]Request, error) {
	wanted := shareGPT
	if b.Dataset == "custom" {
		wanted = `a file of yours with one {"conversations":[{"content":…},{"content":…}]} in each line`
	}
	if b.Dataset == "sharegpt" {
		b.findShareGPT()
	}
	rows, err := b.open("", wanted)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Request
	order, err := b.dialogueOrder(rows)
	if err != nil {
		return nil, err
	}
	images, n := 0, b.limit(len(order))
	for len(order) > 0 && len(out) < n {
		var prompts, replies []string
		for len(order) > 0 && len(prompts) < min(n-len(out), fitBatch) {
			var d dialogue
			ok, err := rows.read(order[0], &d)
			if err != nil {
				return nil, err
			}
			order = order[1:]
			if prompt, reply, enough := d.turns(); ok && enough {
				if d.Image != nil {
					images++
				}
				prompts, replies = append(prompts, b.withSuffix(prompt)), append(replies, reply)
			}
		}
		made, err := b.dialogues(ctx, prompts, replies)
		if err != nil {
			return nil, err
		}
		out = append(out, made...)
	}
	if images > 0 {
		b.note("%s: %d rows have an image, which is not sent", b.Path, images)
	}
	b.shorter(len(out))
	return out, rows.finish(b, len(out))
}

// findShareGPT sets the path to ShareGPT's file in the cache of the Hugging Face hub, unless the user gave a path.
func (b *builder) findShareGPT() {
	if b.Path == "" {
		if b.Path = hubShareGPT(os.Getenv); b.Path != "" {
			b.note("no --dataset-path: ShareGPT is read from the cache of the Hugging Face hub, %s", b.Path)
		}
	}
}

// dialogueOrder returns the order of the rows that have at least two turns. Rows that are not JSON are skipped and
// counted.
func (b *builder) dialogueOrder(rows *records) ([]int, error) {
	var long []int
	for i := range rows.at {
		raw, err := rows.raw(i)
		if err != nil {
			return nil, err
		}
		if turnsIn(raw) >= 2 && (b.Dataset != "custom" || json.Valid(raw)) {
			long = append(long, i)
			continue
		}
		var d dialogue // the row has fewer than two turns, or it is not JSON
		if _, err := rows.read(i, &d); err != nil {
			return nil, err
		}
	}
	rows.looked = len(rows.at)
	order := b.order(len(long))
	for i, k := range order {
		order[i] = long[k]
	}
	return order, nil
}

// turnsIn counts the turns of a row without decoding it.
func turnsIn(raw []byte) int {
	long, short, has := 0, 0, false
	s := jsonscan.New(raw)
	for k := range s.Object {
		n := &short
		switch string(k) {
		case "conversations":
			n, has = &long, s.Peek() == '['
		case "conversation":
		default:
			s.Skip()
			continue
		}
		*n = 0
		for range s.List {
			*n++
			s.Skip()
		}
	}
	if has {
		return long
	}
	return short
}

// dialogues makes requests from prompts and their replies. It drops prompts and replies that are too short or too long.
func (b *builder) dialogues(ctx context.Context, prompts, replies []string) ([]Request, error) {
	var err error
	if b.ChatTemplate {
		if prompts, err = b.templated(ctx, prompts); err != nil {
			return nil, err
		}
	}
	in, err := b.tok.Encode(ctx, prompts, true)
	if err != nil {
		return nil, err
	}
	// SGLang includes BOS in the reply's length.
	reply := make([][]int32, len(replies))
	if b.FixedOutputLen == 0 {
		if reply, err = b.tok.Encode(ctx, replies, true); err != nil {
			return nil, err
		}
	}
	var out []Request
	for i, prompt := range prompts {
		n, m := len(in[i]), b.FixedOutputLen
		m = cmp.Or(m, len(reply[i]))
		if n < 2 || m < 2 || b.ContextLen > 0 && n+m > b.ContextLen {
			continue
		}
		out = append(out, textRequest(prompt, n, m))
	}
	return out, nil
}

func textRequest(prompt string, n, output int) Request {
	return Request{Prompt: prompt, PromptLen: n, TextLen: n, OutputLen: output}
}

func (b *builder) withSuffix(prompt string) string {
	if b.Suffix == "" {
		return prompt
	}
	return strings.TrimSuffix(prompt, assistantSuffix) + b.Suffix + assistantSuffix
}

// message is one turn of a generated conversation.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// asked makes a conversation of one turn from each prompt.
func asked(prompts []string) [][]message {
	chats := make([][]message, len(prompts))
	for i, p := range prompts {
		chats[i] = []message{{"user", p}}
	}
	return chats
}

// templated renders each prompt as a conversation of one turn, and removes the BOS that the chat template adds.
func (b *builder) templated(ctx context.Context, prompts []string) ([]string, error) {
	made, err := b.rendered(ctx, asked(prompts))
	if err != nil {
		return nil, err
	}
	around, err := specials(ctx, b.tok)
	if err != nil {
		return nil, err
	}
	bos, err := b.tok.Decode(ctx, [][]int32{around.before}, false)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(made))
	for i, m := range made {
		out[i] = m.Text
		if bos[0] != "" { // the server adds BOS again
			out[i] = strings.ReplaceAll(m.Text, bos[0], "")
		}
	}
	return out, nil
}

var errNoTemplate = errors.New("there is no chat template: give a model directory as --tokenizer")

// rendered applies the chat template to conversations.
func (b *builder) rendered(ctx context.Context, chats [][]message) ([]RenderedChat, error) {
	tok, ok := b.tok.(ChatTokenizer)
	if !ok {
		return nil, errNoTemplate
	}
	made, err := tok.Chats(ctx, marshalled(chats), true)
	if err != nil {
		return nil, fmt.Errorf("chat template: %w", err)
	}
	return made, nil
}
