package diffusion

import "github.com/stepscope/stepscope/internal/engine/tokenizer"

// Prompt gives the tokens of a prompt as the encoder wants them: one turn of a user, and the opening of the answer. More
// than MaxTokens are cut off.
func Prompt(t *tokenizer.Tokenizer, text string) ([]int32, error) {
	turn, err := t.Chat().Render([]tokenizer.Message{{Role: "user", Content: text}}, tokenizer.ChatOptions{})
	if err != nil {
		return nil, err
	}
	ids := t.Encode(turn, false)
	return ids[:min(len(ids), MaxTokens)], nil
}
