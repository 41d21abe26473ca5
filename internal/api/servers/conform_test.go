package servers_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/testing/servertest"
)

// recorded holds the replies of real servers by kind. testdata/*/README.txt has their releases and dates.
var recorded = map[servers.Kind]struct {
	dir      string
	evidence servertest.Evidence
}{
	servers.SGLang: {"sglang", servertest.Evidence{
		Loads:   []string{"Prefill batch", "Decode batch"},
		Missing: map[string]string{"scheduler_stage_seconds_total": "since 0.5.23"},
	}},
	servers.VLLM: {"vllm", servertest.Evidence{
		Loads: []string{"Avg prompt throughput"},
		Missing: map[string]string{
			"spec_decode_num_drafts_total": "only with speculative decoding", "spec_decode_num_draft_tokens_total": "only with speculative decoding",
			"spec_decode_num_accepted_tokens_total": "only with speculative decoding", servers.AcceptedPositions + "_total": "only with speculative decoding",
		},
	}},
	servers.OpenAI:  {"openai", servertest.Evidence{}},
	servers.Unknown: {"none", servertest.Evidence{}},
}

// TestConform holds each row against recorded replies. The row of stepscope is held against a running server in
// internal/cli.
func TestConform(t *testing.T) {
	for i := range servers.Table {
		row := &servers.Table[i]
		t.Run(string(row.Kind), func(t *testing.T) {
			r, ok := recorded[row.Kind]
			if !ok {
				if row.Kind != servers.Stepscope {
					t.Fatal("no replies are recorded")
				}
				servertest.Consistent(t, row)
				return
			}
			at := filepath.Join("testdata", r.dir)
			routes := map[string]string{
				"/server_info": "server_info.json", "/version": "version.json", "/v1/models": "models.json", "/metrics": "metrics.txt",
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				if body, err := os.ReadFile(filepath.Join(at, routes[q.URL.Path])); err == nil {
					w.Write(body)
				} else {
					http.NotFound(w, q)
				}
			}))
			defer server.Close()
			r.evidence.URL = server.URL
			if row.Line != nil {
				log, err := os.ReadFile(filepath.Join(at, "log.txt"))
				if err != nil {
					t.Fatal(err)
				}
				r.evidence.Log = string(log)
			}
			servertest.Conform(t, row, r.evidence)
		})
	}
}
