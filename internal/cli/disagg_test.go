package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var outputIDs = regexp.MustCompile(`"output_ids":(\[[^]]*\])`)

// TestDisagg: a prefill and a decode server, each a process, give the greedy tokens of
// one; their traces tell who did what, and what went from one to the other.
func TestDisagg(t *testing.T) {
	t.Parallel()
	p := startWorker(t, "--disaggregation-mode", "prefill", "--disaggregation-bootstrap-port", "0", "--tp-size", "2")
	d := startWorker(t, "--disaggregation-mode", "decode", "--tp-size", "2")
	one := startWorker(t, "--tp-size", "2")
	if status, text := call(t, "GET", d.url+"/server_info", ""); status != 200 || !strings.Contains(text, `"disaggregation_mode":"decode"`) {
		t.Errorf("%d %s", status, text)
	}
	dirs := []string{t.TempDir(), t.TempDir()}
	for i, w := range []*worker{p, d} {
		if status, text := call(t, "POST", w.url+"/start_profile", fmt.Sprintf(`{"output_dir":%q}`, dirs[i])); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
	}
	var texts []string
	for i := range 8 {
		texts = append(texts, fmt.Sprintf("%q", strings.Repeat("word ", 20+30*i)+"end"))
	}
	for k, text := range []string{texts[3], "[" + strings.Join(texts, ",") + "]"} {
		body := `"text":` + text + `,"sampling_params":{"temperature":0,"max_new_tokens":64,"ignore_eos":true}`
		_, alone := call(t, "POST", one.url+"/generate", "{"+body+"}")
		if k == 0 {
			body = `"rid":"100%,sure",` + body // has what stands between ids
		}
		status, got := pair(p, d, p.port, body, nil)
		want := fmt.Sprint(outputIDs.FindAllString(alone, -1))
		if status != 200 || fmt.Sprint(outputIDs.FindAllString(got, -1)) != want || !strings.Contains(got, `"completion_tokens":64`) {
			t.Errorf("%d\none server  %s\ntwo servers %v", status, want, outputIDs.FindAllString(got, -1))
		}
	}
	var moved [2]map[string]int64
	for i, w := range []*worker{p, d} {
		if status, text := call(t, "POST", w.url+"/stop_profile", ""); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		status, out, errs := run(t, t.Context(), "analyze", dirs[i], "--json")
		if status != exitOK {
			t.Fatalf("%d %s", status, errs)
		}
		var r struct {
			Steps []struct {
				Kind string `json:"kind"`
			} `json:"steps"`
			Findings []struct{ Title string } `json:"findings"`
		}
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Findings { // no call launches transfers
			if strings.Contains(f.Title, "no recorded launch") {
				t.Errorf("finds %q", f.Title)
			}
		}
		kinds := map[string]int{}
		for _, s := range r.Steps {
			kinds[s.Kind]++
		}
		want := []string{"prefill", "decode"}[i]
		if len(kinds) != 1 || kinds[want] == 0 {
			t.Errorf("the %s worker's steps are %v", want, kinds)
		}
		var ids map[string]bool
		moved[i], ids = transferred(t, dirs[i], []string{"kv_send layer=", "kv_recv layer="}[i])
		if !ids["100%25%2Csure"] {
			t.Errorf("copies are of the requests %v", ids)
		}
	}
	if len(moved[0]) < 2 || fmt.Sprint(moved[0]) != fmt.Sprint(moved[1]) {
		t.Errorf("bytes of each layer: sent %v, received %v", moved[0], moved[1])
	}
	p.free()
	d.free()
}

// transferred sums the bytes of copies whose names begin so, by what follows, and gives
// the requests that they are of.
func transferred(t *testing.T, dir, prefix string) (out map[string]int64, ids map[string]bool) {
	t.Helper()
	out, ids = map[string]int64{}, map[string]bool{}
	files, _ := filepath.Glob(filepath.Join(dir, "*.trace.json.gz"))
	for _, name := range files {
		trace := readTrace[struct {
			TraceEvents []struct {
				Cat, Name string
				Args      struct {
					Bytes int64
					Rids  string
				}
			}
		}](t, name)
		for _, e := range trace.TraceEvents {
			if layer, ok := strings.CutPrefix(e.Name, prefix); ok && e.Cat == "gpu_memcpy" {
				out[layer] += e.Args.Bytes
				ids[e.Args.Rids] = true
			}
		}
	}
	return out, ids
}
