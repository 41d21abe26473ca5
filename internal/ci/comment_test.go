package ci

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// forge is a fake of both APIs: it has notes, and takes writes.
type forge struct {
	t      *testing.T
	prefix string // of the list
	update string // method and path prefix of edits
	header string // of the token
	bodies []string
}

func (f *forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if got := r.Header.Get(f.header); !strings.HasSuffix(got, "secret") {
		f.t.Errorf("%s: %q", f.header, got)
	}
	var in struct{ Body string }
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			f.t.Error(err)
		}
	}
	var id int
	path := r.URL.EscapedPath()
	switch {
	case r.Method == http.MethodPost && path == f.prefix:
		f.bodies = append(f.bodies, in.Body)
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodGet && path == f.prefix:
		var page int
		fmt.Sscan(r.URL.Query().Get("page"), &page)
		list := []map[string]any{}
		for i := (page - 1) * perPage; i < min(page*perPage, len(f.bodies)); i++ {
			list = append(list, map[string]any{"id": i + 1, "body": f.bodies[i]})
		}
		json.NewEncoder(w).Encode(list)
	default:
		if _, err := fmt.Sscanf(r.Method+" "+path, f.update, &id); err != nil || id < 1 || id > len(f.bodies) {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"message": "404 Not found"}`)
			return
		}
		f.bodies[id-1] = in.Body
	}
}

// TestPut: a change gets one comment a key, on both forges, however many comments it has.
func TestPut(t *testing.T) {
	for _, c := range []struct {
		name, prefix, update, header string
		open                         func(api string) (*Forge, error)
	}{
		{"GitHub", "/repos/octo/engine/issues/7/comments", "PATCH /repos/octo/engine/issues/comments/%d", "Authorization", func(api string) (*Forge, error) { return GitHub(api, "octo/engine", 7, "secret") }},
		{"GitLab", "/projects/group%2Fengine/merge_requests/7/notes", "PUT /projects/group%%2Fengine/merge_requests/7/notes/%d", "Private-Token", func(api string) (*Forge, error) { return GitLab(api, "group/engine", 7, "secret") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &forge{t: t, prefix: c.prefix, update: c.update, header: c.header}
			for i := range 2*perPage + 3 {
				f.bodies = append(f.bodies, fmt.Sprintf("note %d quotes <!-- stepscope:gate -->", i))
			}
			before := len(f.bodies)
			s := httptest.NewServer(f)
			defer s.Close()
			at, err := c.open(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			for i, step := range []struct {
				key, text string
				edited    bool
				more      int
			}{{"gate", "one", false, 1}, {"gate", "two", true, 1}, {"prefill", "three", false, 2}, {"gate", "four", true, 2}} {
				edited, err := at.Put(t.Context(), step.key, step.text, "more")
				if err != nil || edited != step.edited || len(f.bodies) != before+step.more {
					t.Fatalf("step %d: edited %v, %d comments more, %v", i, edited, len(f.bodies)-before, err)
				}
			}
			if got := f.bodies[before:]; got[0] != "<!-- stepscope:gate -->\nfour" || got[1] != "<!-- stepscope:prefill -->\nthree" {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestPutCut: a report that exceeds the limit of a comment ends with a whole line and the place of the rest.
func TestPutCut(t *testing.T) {
	f := &forge{t: t, prefix: "/repos/a/b/issues/1/comments", header: "Authorization"}
	s := httptest.NewServer(f)
	defer s.Close()
	at, err := GitHub(s.URL, "a/b", 1, "secret")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := at.Put(t.Context(), "gate", strings.Repeat("a line of the report – with µ\n", 4000), "the rest: URL"); err != nil {
		t.Fatal(err)
	}
	n := utf8.RuneCountInString(f.bodies[0])
	if n > githubMost || n < githubMost-100 || !strings.HasSuffix(f.bodies[0], "with µ\n\nthe rest: URL") {
		t.Errorf("%d characters, end %q", n, f.bodies[0][len(f.bodies[0])-60:])
	}
}

// TestPutRefused: a token that may only read is told from other errors; a missing page of comments is not.
func TestPutRefused(t *testing.T) {
	for _, c := range []struct {
		get, write int
		forbidden  bool
		want       string
	}{
		{200, 403, true, "403 Resource not accessible by integration"},
		{403, 200, true, "403"},
		{404, 200, false, "404"},
		{401, 200, false, "401"},
		{200, 500, false, "500"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			status := c.write
			if r.Method == http.MethodGet {
				status = c.get
			}
			w.WriteHeader(status)
			if status == 200 {
				io.WriteString(w, "[]")
				return
			}
			io.WriteString(w, `{"message": "Resource not accessible by integration"}`)
		}))
		at, err := GitHub(s.URL, "a/b", 1, "secret")
		if err != nil {
			t.Fatal(err)
		}
		_, err = at.Put(t.Context(), "gate", "text", "")
		_, forbidden := errors.AsType[*Forbidden](err)
		if err == nil || forbidden != c.forbidden || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d, %d: %v", c.get, c.write, err)
		}
		s.Close()
	}
}

// TestHere reads the environments of both systems.
func TestHere(t *testing.T) {
	event := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(event, []byte(`{"pull_request": {"number": 12}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  map[string]string
		want Place
	}{
		{map[string]string{}, Place{API: "https://api.github.com"}},
		{map[string]string{"GITHUB_API_URL": "https://ghe/api/v3", "GITHUB_REPOSITORY": "a/b", "GITHUB_SERVER_URL": "https://ghe", "GITHUB_RUN_ID": "5", "GITHUB_EVENT_PATH": event},
			Place{API: "https://ghe/api/v3", Repo: "a/b", Change: 12, Job: "https://ghe/a/b/actions/runs/5"}},
		{map[string]string{"GITHUB_REPOSITORY": "a/b", "GITHUB_EVENT_PATH": event + ".missing"}, Place{API: "https://api.github.com", Repo: "a/b"}},
		{map[string]string{"GITLAB_CI": "true", "CI_API_V4_URL": "https://lab/api/v4", "CI_PROJECT_ID": "9", "CI_MERGE_REQUEST_IID": "3", "CI_JOB_URL": "https://lab/j"},
			Place{GitLab: true, API: "https://lab/api/v4", Repo: "9", Change: 3, Job: "https://lab/j"}},
	} {
		if got := Here(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.env, got, c.want)
		}
	}
}
