package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestForeignServer: every verb that calls a server says what it is in one line when it is none for LLMs.
func TestForeignServer(t *testing.T) {
	homes(t)
	t.Chdir(t.TempDir())
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "nginx/1.22.1")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<hr><center>nginx</center></body></html>\r\n")
	}))
	defer hs.Close()
	for _, args := range []string{
		"send", "profile --wait 0", "bench serving --dataset-name random-ids --num-prompts 2", "bench one-batch-server --skip-warmup",
		"bench diffusion --dataset random --num-prompts 1",
	} {
		status, out, errs := run(t, t.Context(), append(strings.Fields(args), "--url", hs.URL)...)
		if status != exitFailed || strings.Count(errs, "this is nginx, not an LLM server") != 1 || strings.Contains(errs, "<html>") {
			t.Errorf("%s: status %d\n%s%s", args, status, out, errs)
		}
	}
}
