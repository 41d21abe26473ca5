package diffusion

import "github.com/stepscope/stepscope/internal/base/tokenizer"

// Prompt gives the tokens of a prompt as the encoder wants them: one turn of a user, and the opening of the answer. More
// than maxTokens are cut off, as Diffusers does; cut is how many.
func Prompt(t *tokenizer.Tokenizer, text string) (tokens []int32, cut int, err error) {
	turn, err := t.Chat().Render([]tokenizer.Message{{Role: "user", Content: text}}, tokenizer.ChatOptions{})
	if err != nil {
		return nil, 0, err
	}
	all := t.Encode(turn, false)
	tokens = all[:min(len(all), maxTokens)]
	return tokens, len(all) - len(tokens), nil
}
