package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
)

// explanation is what analyze --json says of several servers.
type explanation struct {
	Servers []struct {
		Name, Window, Role, URL string
		Idle                    bool
		Report                  *result.Report
	}
	PD      *result.PD
	Windows []struct {
		Window string
		PD     *result.PD
	}
}

// TestIdleServer: a server that had nothing to do is no loss, unless none had.
func TestIdleServer(t *testing.T) {
	t.Parallel()
	pages := t.TempDir()
	busy, idle := startWorker(t), startWorker(t)
	for _, c := range []struct {
		name   string
		asked  bool
		status int // of profile
	}{{"one", true, exitOK}, {"both", false, exitIncomplete}} {
		t.Run(c.name, func(t *testing.T) {
			home, dir := t.TempDir(), t.TempDir()
			urls := []string{"--url", busy.url, "--url", idle.url, "--run-dir", home}
			if status, out, errs := run(t, t.Context(), append([]string{"profile", "start", "--num-steps", "0", "-o", dir}, urls...)...); status != exitOK {
				t.Fatalf("status %d\n%s%s", status, out, errs)
			}
			if c.asked {
				call(t, "POST", busy.url+"/generate", `{"text":"one two","sampling_params":{"max_new_tokens":4,"ignore_eos":true}}`)
			}
			status, out, errs := run(t, t.Context(), append([]string{"profile", "stop", dir}, urls...)...)
			if status != c.status || strings.Contains(errs, "nothing to analyse") || strings.Contains(errs, "was there traffic?") == c.asked {
				t.Errorf("profile: status %d\n%s%s", status, out, errs)
			}
			if !strings.Contains(out, "\n\nidle: no step and no GPU work in the ") {
				t.Error(out)
			}
			status, out, errs = run(t, t.Context(), "analyze", "last", "--run-dir", home, "--json", "--html", filepath.Join(pages, "all.html"))
			if !c.asked {
				if status != exitFailed || !strings.Contains(errs, "no server had work while it was recorded: was there traffic?") {
					t.Errorf("analyze: status %d\n%s", status, errs)
				}
				return
			}
			var got explanation
			if err := json.Unmarshal([]byte(out), &got); err != nil || status != exitOK || len(got.Servers) != 2 {
				t.Fatalf("analyze: status %d, %v\n%s", status, err, errs)
			}
			for _, s := range got.Servers {
				if was := s.URL == idle.url; s.Idle != was || (s.Report == nil) != was {
					t.Errorf("%+v", s)
				}
			}
			if pages := glob(t, pages, "all*.html"); len(pages) != 1 {
				t.Errorf("pages %q", pages)
			}
		})
	}
}

// TestWindowsOfServers: prefill and decode servers that were recorded several times are
// one system in each window, not several.
func TestWindowsOfServers(t *testing.T) {
	t.Parallel()
	home, pages := t.TempDir(), t.TempDir()
	s := startSystem(t, 1, nil)
	if status, out, errs := run(t, t.Context(), "bench", "one-batch-server", "--base-url", s.router.url, "--batch-size", "1", "2", "--input-len", "20", "--output-len", "8",
		"--profile", "--profile-steps", "2", "--profile-output-dir", t.TempDir(), "--result-filename", filepath.Join(t.TempDir(), "r.jsonl"), "--run-dir", home); status != exitOK && status != exitIncomplete {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	_, out, errs := run(t, t.Context(), "analyze", "last", "--run-dir", home, "--json", "--html", filepath.Join(pages, "all.html"))
	var got explanation
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Servers) != 4 || len(got.Windows) != 2 || got.PD != nil {
		t.Fatalf("%v\n%s\n%s", err, out, errs)
	}
	for i, w := range got.Windows {
		if want := fmt.Sprintf("batch%d_input20_output8", i+1); w.Window != want || len(w.PD.Prefill.Servers) != 1 || len(w.PD.Decode.Servers) != 1 {
			t.Errorf("%s: %+v", w.Window, w.PD)
		}
	}
	// A page of each server in each window, and one of each window.
	if pages := glob(t, pages, "all*.html"); len(pages) != 6 {
		t.Errorf("pages %q", pages)
	}
	_, out, _ = run(t, t.Context(), "analyze", "last", "--run-dir", home)
	for _, head := range []string{"batch1_input20_output8\n\nPrefill-decode disaggregation\n", "\nbatch2_input20_output8\n\nPrefill-decode disaggregation\n", "prefill batch2_input20_output8 " + s.prefill[0].url} {
		if !strings.Contains(out, head) {
			t.Errorf("no %q in\n%s", head, out)
		}
	}
}
