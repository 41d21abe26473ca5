package diffusion

import "github.com/stepscope/stepscope/internal/base/tokenizer"

// Prompt tokenizes a prompt for the encoder: one user turn and the opening of the answer. Like Diffusers, Prompt
// truncates the result to maxTokens. cut is the number of removed tokens.
func Prompt(t *tokenizer.Tokenizer, text string) (tokens []int32, cut int, err error) {
	turn, err := t.Chat().Render([]tokenizer.Message{{Role: "user", Content: text}}, tokenizer.ChatOptions{})
	if err != nil {
		return nil, 0, err
	}
	all := t.Encode(turn, false)
	tokens = all[:min(len(all), maxTokens)]
	return tokens, len(all) - len(tokens), nil
}
