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

// recorded holds the replies of real servers by kind and directory. testdata/*/README.txt has their releases and dates.
var recorded = map[servers.Kind]map[string]servertest.Evidence{
	servers.SGLang: {"sglang": {
		Loads: []string{"Prefill batch", "Decode batch"},
		Missing: map[string]string{
			"scheduler_stage_seconds_total": "since 0.5.23", "num_aborted_requests_total": "only after a request was aborted",
		},
	}},
	servers.VLLM: {
		"vllm-0.26": {Loads: []string{"Avg prompt throughput"}},
		"vllm": {
			Loads: []string{"Avg prompt throughput"},
			Missing: map[string]string{
				"spec_decode_num_drafts_total": "only with speculative decoding", "spec_decode_num_draft_tokens_total": "only with speculative decoding",
				"spec_decode_num_accepted_tokens_total": "only with speculative decoding", servers.AcceptedPositions + "_total": "only with speculative decoding",
			},
		},
	},
	servers.OpenAI:  {"openai": {}},
	servers.Unknown: {"none": {}},
}

// TestConform holds each row against recorded replies. The row of stepscope is held against a running server in
// internal/cli.
func TestConform(t *testing.T) {
	for i := range servers.Table {
		row := &servers.Table[i]
		if row.Kind == servers.Stepscope {
			servertest.Consistent(t, row)
			continue
		}
		if len(recorded[row.Kind]) == 0 {
			t.Errorf("%s: no replies are recorded", row.Kind)
		}
		for dir, evidence := range recorded[row.Kind] {
			t.Run(dir, func(t *testing.T) { conform(t, row, dir, evidence) })
		}
	}
}

func conform(t *testing.T, row *servers.Row, dir string, evidence servertest.Evidence) {
	at := filepath.Join("testdata", dir)
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
	evidence.URL = server.URL
	if row.Line != nil {
		log, err := os.ReadFile(filepath.Join(at, "log.txt"))
		if err != nil {
			t.Fatal(err)
		}
		evidence.Log = string(log)
	}
	servertest.Conform(t, row, evidence)
}
