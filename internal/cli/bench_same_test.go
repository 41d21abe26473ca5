package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// TestSameRequests: the flags of SGLang's client make the requests that it made of them (scripts/fixtures/load.py), body by
// body: the warm-up and the first request of each data set, turns of a conversation each for itself.
func TestSameRequests(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "internal/measure/workload/testdata/sglang/requests.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Cases []struct {
			Name, Tokenizer string
			Args            []string
			Runs            []struct {
				Seed   int64
				Bodies []any
			}
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all.Cases {
		for _, want := range c.Runs {
			if want.Bodies == nil {
				continue
			}
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel() // each rests for a second before its load
				var mu sync.Mutex
				var got []any
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodPost {
						io.WriteString(w, `{"data":[{"id":"m"}]}`)
						return
					}
					var body map[string]any
					if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
						t.Error(err)
					}
					delete(body, "rid") // names a request, as SGLang's client does not
					mu.Lock()
					got = append(got, beginning(body))
					mu.Unlock()
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", `{"text":" ok","meta_info":{"completion_tokens":1,"finish_reason":{"type":"length"}},`+
						`"choices":[{"text":" ok","delta":{"content":" ok"},"finish_reason":"length"}]}`)
				}))
				defer s.Close()
				args := []string{"bench", "serving", "--base-url", s.URL, "--seed", fmt.Sprint(want.Seed), "--max-concurrency", "1", "--no-store", "--disable-tqdm",
					"--output-file", filepath.Join(t.TempDir(), "out.jsonl"), "--tokenizer", filepath.Join(root, "internal/base/tokenizer/testdata", c.Tokenizer)}
				for _, a := range c.Args {
					switch {
					case strings.HasPrefix(a, "internal/"):
						a = filepath.Join(root, a)
					case a == "4" && args[len(args)-1] == "--request-rate":
						a = "1000"
					}
					args = append(args, a)
				}
				_, _, errs := run(t, t.Context(), args...)
				if len(got) < len(want.Bodies) {
					t.Fatalf("%d requests:\n%s", len(got), errs)
				}
				for i := range want.Bodies {
					g, w := got[i].(map[string]any), beginning(want.Bodies[i]).(map[string]any)
					if w["stream_options"] == nil { // asks for the server's count of tokens, which SGLang's client goes without
						delete(g, "stream_options")
					}
					if !reflect.DeepEqual(g, w) {
						t.Errorf("request %d:\n%v, want\n%v", i, g, w)
					}
				}
			})
		}
	}
}

// brief is a body with hashes for what is long in it. Of images the pixels are the same, which another test knows, and not
// the bytes that they are compressed to.
func beginning(v any) any {
	long := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "#" + hex.EncodeToString(sum[:])[:12]
	}
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if v[k] = beginning(v[k]); k == "url" {
				v[k] = "an image"
			}
		}
	case []any:
		if _, ids := append(v, nil)[0].(float64); ids {
			if len(v) > 20 {
				return long(strings.ReplaceAll(strings.Trim(fmt.Sprint(v), "[]"), " ", ","))
			}
			return v
		}
		for i := range v {
			v[i] = beginning(v[i])
		}
	case string:
		if len([]rune(v)) > 20 {
			return long(v)
		}
	}
	return v
}
