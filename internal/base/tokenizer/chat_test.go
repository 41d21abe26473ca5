package tokenizer

import (
	"strings"
	"testing"
)

// The marks of the families' templates; their other content does not matter.
const (
	markLlama3  = `<|start_header_id|> <|eot_id|>`
	markLlama31 = markLlama3 + ` Cutting Knowledge Date`
	markQwen2   = `{{- '<|im_start|>system\nYou are Qwen.<|im_end|>\n' }}`
	markQwen3   = `'<|im_start|>assistant\n' <|im_end|> '</think>' enable_thinking`
	markTools   = markQwen2 + ` <tool_response>`
	markTools3  = markQwen3 + ` <tool_response>`
	markThink   = `{{- '<|im_start|>assistant\n<think>\n' }} <|im_end|> '</think>'`
)

func TestChat(t *testing.T) {
	system, hi, hello := Message{Role: "system", Content: "Be brief. "}, Message{Role: "user", Content: " Hi\n"}, Message{Role: "assistant", Content: "Hello"}
	thought := Message{Role: "assistant", Content: "<think>\nhm\n</think>\n\nHello"}
	call := Call{"find", `{"city": "Köln", "n": [1, 2]}`}
	calls, found := Message{Role: "assistant", Calls: []Call{call, call}}, Message{Role: "tool", Content: "12 \"°C\""}
	called := Message{Role: "assistant", Calls: []Call{call}}
	const form = "<tool_call>\n{\"name\": \"find\", \"arguments\": {\"city\": \"Köln\", \"n\": [1, 2]}}\n</tool_call>"
	tests := []struct {
		name, template string
		messages       []Message
		opts           ChatOptions
		want           string
	}{
		{"llama 3", markLlama3, []Message{system, hi, hello, hi}, ChatOptions{},
			"<B><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>" +
				"<|start_header_id|>assistant<|end_header_id|>\n\nHello<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>" +
				"<|start_header_id|>assistant<|end_header_id|>\n\n"},
		{"llama 3, no prompt", markLlama3, []Message{hi}, ChatOptions{NoPrompt: true},
			"<B><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"},
		{"llama 3.1", markLlama31, []Message{system, hi}, ChatOptions{},
			"<B><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\nBe brief.<|eot_id|>" +
				"<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
		{"llama 3.1, date", markLlama31, []Message{hi}, ChatOptions{Date: "01 Feb 2025", NoPrompt: true},
			"<B><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\nToday Date: 01 Feb 2025\n\n<|eot_id|>" +
				"<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"},
		{"qwen 2, its system message", markQwen2, []Message{hi}, ChatOptions{},
			"<|im_start|>system\nYou are Qwen.<|im_end|>\n<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\n"},
		{"qwen 2, the user's", markQwen2, []Message{system, hi}, ChatOptions{},
			"<|im_start|>system\nBe brief. <|im_end|>\n<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\n"},
		{"qwen 3, thoughts of old turns go", markQwen3, []Message{hi, thought, hi}, ChatOptions{},
			"<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\n"},
		{"qwen 3, the last one's stays", markQwen3, []Message{hi, thought}, ChatOptions{NoPrompt: true},
			"<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\n<think>\nhm\n</think>\n\nHello<|im_end|>\n"},
		{"qwen 3, thought apart", markQwen3, []Message{hi, {Role: "assistant", Content: "Hello", Reasoning: "hm"}}, ChatOptions{NoPrompt: true},
			"<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\n<think>\nhm\n</think>\n\nHello<|im_end|>\n"},
		{"qwen 3, not thinking", markQwen3, []Message{hi}, ChatOptions{NoThinking: true},
			"<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"},
		{"qwen 3, thinking only", markThink, []Message{hi}, ChatOptions{},
			"<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\n<think>\n"},
		{"no template", "", []Message{hi}, ChatOptions{NoThinking: true},
			"<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\n"},
		// Tool calls in a history, as the templates of Llama-3.1-8B-Instruct, Qwen2.5-7B-Instruct and Qwen3-8B render
		// them.
		{"llama 3.1, a call", markLlama31, []Message{hi, called, found}, ChatOptions{NoPrompt: true},
			"<B><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|>" +
				"<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n" +
				"{\"name\": \"find\", \"parameters\": {\"city\": \"Köln\", \"n\": [1, 2]}}<|eot_id|>" +
				"<|start_header_id|>ipython<|end_header_id|>\n\n\"12 \\\"°C\\\"\"<|eot_id|>"},
		{"llama 3 has no form for them", markLlama3, []Message{hi, calls, found}, ChatOptions{NoPrompt: true},
			"<B><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<|eot_id|>" +
				"<|start_header_id|>tool<|end_header_id|>\n\n12 \"°C\"<|eot_id|>"},
		{"qwen 2.5, two calls", markTools, []Message{system, hi, calls, found, found}, ChatOptions{},
			"<|im_start|>system\nBe brief. <|im_end|>\n<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\n" + form + "\n" + form + "<|im_end|>\n" +
				"<|im_start|>user\n<tool_response>\n12 \"°C\"\n</tool_response>\n<tool_response>\n12 \"°C\"\n</tool_response><|im_end|>\n<|im_start|>assistant\n"},
		{"qwen 3, a call with words before", markTools3, []Message{hi, {Role: "assistant", Content: "Let me see.", Calls: []Call{call}}, found}, ChatOptions{},
			"<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\nLet me see.\n" + form + "<|im_end|>\n" +
				"<|im_start|>user\n<tool_response>\n12 \"°C\"\n</tool_response><|im_end|>\n<|im_start|>assistant\n"},
		{"qwen 3, two calls", markTools3, []Message{hi, calls, found}, ChatOptions{NoPrompt: true},
			"<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\n" + form + "\n" + form + "<|im_end|>\n" +
				"<|im_start|>user\n<tool_response>\n12 \"°C\"\n</tool_response><|im_end|>\n"},
		{"qwen 2 has no form for them", `<|im_start|> <|im_end|>`, []Message{found}, ChatOptions{NoPrompt: true}, "<|im_start|>tool\n12 \"°C\"<|im_end|>\n"},
	}
	for _, tt := range tests {
		got, err := newChat(tt.template, "<B>").Render(tt.messages, tt.opts)
		if err != nil || got != tt.want {
			t.Errorf("%s: %v\n got %q\nwant %q", tt.name, err, got, tt.want)
		}
	}
	for want, messages := range map[string][]Message{
		"no messages":             nil,
		"messages[1] has no role": {hi, {}},
		"messages[0]: the chat template of Llama 3.1 allows one tool call per message": {calls},
	} {
		if _, err := newChat(markLlama31, "").Render(messages, ChatOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want …%s…", err, want)
		}
	}
}

// TestChatIsOneBOS: a rendered chat encodes to its own tokens, with a single BOS.
func TestChatIsOneBOS(t *testing.T) {
	tok := load(t, "llama3")
	text, err := tok.Chat().Render([]Message{{Role: "user", Content: "Hi"}}, ChatOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ids := tok.Encode(text, false)
	head, _ := tok.ID("<|start_header_id|>")
	if ids[0] != tok.BOS() || ids[1] != head {
		t.Errorf("%q begins %v, want BOS %d and header %d", text, ids[:2], tok.BOS(), head)
	}
}
