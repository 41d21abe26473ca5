package tokenizer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Chat templates are Jinja programs. This file implements four families of templates in Go and recognises a family by
// the contents of the template. The families cover Llama 3 to 3.3 and Qwen 2 to 3, with tool calls in the history but
// without tool descriptions. For a model with any other template, chats are rendered as plain ChatML, and a note
// reports that.
//
// Sources: chat_template in tokenizer_config.json of Meta-Llama-3-8B-Instruct, Llama-3.1-8B-Instruct,
// Llama-3.2-1B-Instruct, Qwen2-7B-Instruct, Qwen2.5-7B-Instruct, Qwen3-8B, Qwen3-30B-A3B-Thinking-2507.

// Message is one turn of a conversation.
type Message struct {
	Role      string // system, user, assistant or any other role of the model
	Content   string
	Reasoning string // assistant: reasoning that is not part of Content; only Qwen 3 renders it
	Calls     []Call // assistant: tool calls; the result of each is a message with the role tool
}

// Call is a tool call. Arguments is JSON.
type Call struct{ Name, Arguments string }

// ChatOptions are the rendering options of a request.
type ChatOptions struct {
	NoPrompt   bool   // whether to leave out the opening of the assistant's turn at the end
	NoThinking bool   // enable_thinking=false: whether the prompt for Qwen 3 contains an empty thought
	Date       string // date in Llama 3.1's header; "": the template's default, "26 Jul 2024"
}

// Chat renders conversations.
type Chat struct {
	family string
	bos    string
	system string // ChatML: default system message
	opened bool   // whether the prompt opens the thought, as for Qwen 3 models that always think
	tools  bool   // ChatML: whether to render tool calls and their results
	note   string
}

// Names of the families, as returned by [Chat.Family].
const (
	llama3  = "llama3"
	llama31 = "llama3.1"
	chatML  = "chatml"
	qwen3   = "qwen3"
)

// defaultSystem matches the default system message in a Qwen 2 template.
var defaultSystem = regexp.MustCompile(`<\|im_start\|>system(?:\\n|\n)([^'"{}<|]+)<\|im_end\|>`)

func newChat(template, bos string) *Chat {
	has := func(s string) bool { return strings.Contains(template, s) }
	switch {
	case template == "":
		return &Chat{family: chatML, tools: true, note: "the model has no chat template: chats are rendered as ChatML"}
	case has("<|start_header_id|>") && has("<|eot_id|>"):
		if has("Cutting Knowledge Date") {
			return &Chat{family: llama31, bos: bos}
		}
		return &Chat{family: llama3, bos: bos}
	case has("<|im_start|>") && has("<|im_end|>"):
		c := &Chat{family: chatML, tools: has("<tool_response>")}
		if has("</think>") {
			c.family = qwen3
			c.opened = has(`<|im_start|>assistant\n<think>\n'`) && !has("enable_thinking")
		}
		if m := defaultSystem.FindStringSubmatch(template); m != nil {
			c.system = m[1]
		}
		return c
	}
	return &Chat{family: chatML, tools: true, note: "the model's chat template is not one of Llama 3 or Qwen: chats are rendered as ChatML"}
}

// Family returns the family in use: llama3, llama3.1, chatml or qwen3.
func (c *Chat) Family() string { return c.family }

// Render returns the text of a conversation, up to the point where the assistant continues. The text includes BOS if
// the template writes one, so encode it without adding special tokens. As with the original templates, a message that
// spells out special tokens can fake turns.
func (c *Chat) Render(messages []Message, opts ChatOptions) (string, error) {
	if len(messages) == 0 {
		return "", fmt.Errorf("chat: no messages: give at least one")
	}
	for i, m := range messages {
		switch {
		case m.Role == "":
			return "", fmt.Errorf("chat: messages[%d] has no role", i)
		case c.family == llama31 && len(m.Calls) > 1:
			return "", fmt.Errorf("chat: messages[%d]: the chat template of Llama 3.1 allows one tool call per message", i)
		}
	}
	var b strings.Builder
	switch c.family {
	case llama3, llama31:
		c.llama(&b, messages, opts)
	default:
		c.chatML(&b, messages, opts)
	}
	return b.String(), nil
}

func (c *Chat) llama(b *strings.Builder, messages []Message, opts ChatOptions) {
	turn := func(role, content string) {
		b.WriteString("<|start_header_id|>" + role + "<|end_header_id|>\n\n" + content + "<|eot_id|>")
	}
	b.WriteString(c.bos)
	if c.family == llama31 {
		system := ""
		if messages[0].Role == "system" {
			system = strings.TrimSpace(messages[0].Content)
			messages = messages[1:]
		}
		date := cmp.Or(opts.Date, "26 Jul 2024")
		turn("system", "Cutting Knowledge Date: December 2023\nToday Date: "+date+"\n\n"+system)
	}
	for _, m := range messages {
		switch {
		case c.family == llama31 && len(m.Calls) > 0:
			turn(m.Role, `{"name": "`+m.Calls[0].Name+`", "parameters": `+m.Calls[0].Arguments+"}")
		case c.family == llama31 && m.Role == "tool": // the template also writes a string as JSON
			turn("ipython", python(m.Content))
		default:
			turn(m.Role, strings.TrimSpace(m.Content))
		}
	}
	if !opts.NoPrompt {
		b.WriteString("<|start_header_id|>assistant<|end_header_id|>\n\n")
	}
}

func (c *Chat) chatML(b *strings.Builder, messages []Message, opts ChatOptions) {
	turn := func(role, content string) {
		b.WriteString("<|im_start|>" + role + "\n" + content + "<|im_end|>\n")
	}
	if c.system != "" && messages[0].Role != "system" {
		turn("system", c.system)
	}
	// Qwen 3's template keeps only the thoughts after the last question of the user.
	question := len(messages) - 1
	for i, m := range messages {
		answer := strings.HasPrefix(m.Content, "<tool_response>") && strings.HasSuffix(m.Content, "</tool_response>")
		if m.Role == "user" && !answer {
			question = i
		}
	}
	for i, m := range messages {
		content := m.Content
		if c.family == qwen3 && m.Role == "assistant" {
			thought := m.Reasoning
			if thought == "" {
				thought, content = splitThought(content)
			}
			if i > question && (thought != "" || i == len(messages)-1) {
				content = "<think>\n" + strings.Trim(thought, "\n") + "\n</think>\n\n" + strings.TrimLeft(content, "\n")
			}
		}
		switch {
		case c.tools && m.Role == "tool": // consecutive tool results form one user turn
			if i == 0 || messages[i-1].Role != "tool" {
				b.WriteString("<|im_start|>user")
			}
			b.WriteString("\n<tool_response>\n" + content + "\n</tool_response>")
			if i == len(messages)-1 || messages[i+1].Role != "tool" {
				b.WriteString("<|im_end|>\n")
			}
		case c.tools && len(m.Calls) > 0:
			b.WriteString("<|im_start|>" + m.Role)
			if content != "" || c.family == qwen3 {
				b.WriteString("\n" + content)
			}
			for j, call := range m.Calls {
				if j > 0 || content != "" || c.family != qwen3 {
					b.WriteString("\n")
				}
				b.WriteString("<tool_call>\n{\"name\": \"" + call.Name + `", "arguments": ` + call.Arguments + "}\n</tool_call>")
			}
			b.WriteString("<|im_end|>\n")
		default:
			turn(m.Role, content)
		}
	}
	if opts.NoPrompt {
		return
	}
	b.WriteString("<|im_start|>assistant\n")
	switch {
	case c.opened:
		b.WriteString("<think>\n")
	case c.family == qwen3 && opts.NoThinking:
		b.WriteString("<think>\n\n</think>\n\n")
	}
}

// python returns s as JSON, in the format of Python's json.dumps with ensure_ascii off.
func python(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(s) // encoding a string never fails
	return strings.TrimSuffix(b.String(), "\n")
}

// splitThought separates the thought in an assistant's message from the rest of the message.
func splitThought(content string) (thought, rest string) {
	first := strings.Index(content, "</think>")
	if first < 0 {
		return "", content
	}
	thought = strings.TrimRight(content[:first], "\n")
	if i := strings.LastIndex(thought, "<think>"); i >= 0 {
		thought = thought[i+len("<think>"):]
	}
	rest = content[strings.LastIndex(content, "</think>")+len("</think>"):]
	return strings.TrimLeft(thought, "\n"), strings.TrimLeft(rest, "\n")
}
