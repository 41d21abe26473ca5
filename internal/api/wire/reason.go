package wire

import (
	"encoding/json"
	"strings"
)

// Reason is what a short reply of a server says, in one line: the message of its JSON,
// as SGLang, OpenAI, vLLM and FastAPI place it, else the beginning of its text.
func Reason(body []byte) string {
	var e struct {
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &e) == nil {
		var inner struct{ Message string }
		var plain string
		json.Unmarshal(e.Error, &inner)
		json.Unmarshal(e.Error, &plain)
		for _, s := range []string{e.Message, e.Detail, inner.Message, plain} {
			if s != "" {
				return s
			}
		}
	}
	return strings.Join(strings.Fields(string(body[:min(len(body), 2000)])), " ")
}
