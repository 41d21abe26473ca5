package launch_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/reference/server"
)

// TestMistakes checks that invalid requests are client errors, not server failures.
func TestMistakes(t *testing.T) {
	e := load(t, func(a *launch.ModelArgs) { a.Overrides = `{"vocab_size": 261}` })
	hs := httptest.NewServer(server.New(e, server.Options{}).Handler())
	defer hs.Close()
	all := make([]string, 261)
	for i := range all {
		all[i] = fmt.Sprint(i)
	}
	stops := func(ids []string) string { return `"stop_token_ids":[` + strings.Join(ids, ",") + `]` }
	for _, c := range []struct {
		params string
		status int
	}{
		{`"logit_bias":{"5":1e308}`, 400},
		{`"logit_bias":{"5":-1e308}`, 400},
		{`"logit_bias":{"5":1e400}`, 400},
		{`"logit_bias":{"5":1e9,"6":-1e9},"temperature":1e-6`, 200},
		{`"repetition_penalty":1e-300`, 400},
		{`"repetition_penalty":1e-6,"temperature":1e-6`, 200},
		{`"min_new_tokens":2,"ignore_eos":true,` + stops(all), 400},
		{`"min_new_tokens":2,` + stops(all), 400},
		{`"min_new_tokens":2,` + stops(all[:200]), 200},
		{stops(all), 200},
		{`"temperature":1e308`, 200},
		{`"temperature":1e308,"min_new_tokens":2`, 200},
		{`"temperature":1e-300`, 200},
		{`"temperature":1e400`, 400},
		{`"top_p":1e-300,"min_p":1`, 200},
		{`"frequency_penalty":-2,"presence_penalty":-2,"temperature":1e308`, 200},
		{`"top_k":1e300`, 400},
		{`"sampling_seed":1e300`, 400},
		{`"max_new_tokens":1e300`, 400},
	} {
		body := `{"text":"abc","sampling_params":{` + c.params + `}}`
		if !strings.Contains(c.params, "max_new_tokens") {
			body = strings.Replace(body, `_params":{`, `_params":{"max_new_tokens":4,`, 1)
		}
		res, err := http.Post(hs.URL+"/generate", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != c.status {
			t.Errorf("%.90s: %d %s, want %d", c.params, res.StatusCode, text, c.status)
		}
	}
}
