// Package ci is for continuous integration. It starts the builds to be compared, publishes the result to the system that
// runs the job, and keeps one comment with the report on a pull request (GitHub) or merge request (GitLab).
package ci

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/stepscope/stepscope/internal/api/client"
)

// Forge is a place for comments on one change.
type Forge struct {
	server *client.Server
	list   string // path of the comments
	edit   func(id int64) (method, path string)
	most   int // maximum number of characters of a comment
}

// GitHub's and GitLab's limits of a comment, in characters.
const (
	githubMost = 65_536
	gitlabMost = 1_000_000
)

// GitHub returns the comments of pull request number of repo ("owner/name"). api is such as https://api.github.com.
// Source: GitHub REST API, "Issue comments".
func GitHub(api, repo string, number int, token string) (*Forge, error) {
	owner, name, ok := strings.Cut(repo, "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("repository %q: want owner/name", repo)
	}
	s, err := client.New(api, http.Header{
		"Authorization": {"Bearer " + token}, "Accept": {"application/vnd.github+json"}, "X-Github-Api-Version": {"2022-11-28"},
	})
	if err != nil {
		return nil, err
	}
	issues := "/repos/" + url.PathEscape(owner) + "/" + url.PathEscape(name) + "/issues"
	return &Forge{server: s, list: fmt.Sprintf("%s/%d/comments", issues, number), most: githubMost, edit: func(id int64) (string, string) {
		return http.MethodPatch, fmt.Sprintf("%s/comments/%d", issues, id)
	}}, nil
}

// GitLab returns the notes of merge request number of a project, which is its id or its path. api is such as
// https://gitlab.com/api/v4. Source: GitLab REST API, "Notes".
func GitLab(api, project string, number int, token string) (*Forge, error) {
	s, err := client.New(api, http.Header{"Private-Token": {token}})
	if err != nil {
		return nil, err
	}
	if project == "" {
		return nil, fmt.Errorf("the project is missing")
	}
	notes := fmt.Sprintf("/projects/%s/merge_requests/%d/notes", url.PathEscape(project), number)
	return &Forge{server: s, list: notes, most: gitlabMost, edit: func(id int64) (string, string) {
		return http.MethodPut, fmt.Sprintf("%s/%d", notes, id)
	}}, nil
}

// Forbidden is the error for a token that may not write comments.
type Forbidden struct{ reason string }

func (f *Forbidden) Error() string { return "the token may not write comments: " + f.reason }

// mark returns the first line of the comment that a key identifies.
func mark(key string) string { return "<!-- stepscope:" + key + " -->" }

// Put writes the comment that key identifies, or edits it if the change already has it. If text exceeds the limit of
// a comment, Put cuts it at the end of a line and adds more, which says where the rest is. A *Forbidden means that the
// token may not write.
func (f *Forge) Put(ctx context.Context, key, text, more string) (edited bool, err error) {
	text = mark(key) + "\n" + text
	if utf8.RuneCountInString(text) > f.most {
		text = cut(text, f.most-utf8.RuneCountInString(more)-2) + "\n\n" + more
	}
	body, err := json.Marshal(map[string]string{"body": text})
	if err != nil {
		return false, err
	}
	id, err := f.find(ctx, mark(key))
	if err != nil {
		return false, err
	}
	method, path := http.MethodPost, f.list
	if id != 0 {
		method, path = f.edit(id)
	}
	_, err = f.ask(ctx, method, path, body)
	return id != 0, err
}

// perPage is the number of comments in one reply, mostPages the number of replies that are searched.
const perPage, mostPages = 100, 50

// find returns the id of the oldest comment that begins with the mark, or 0.
func (f *Forge) find(ctx context.Context, mark string) (int64, error) {
	for page := range mostPages {
		query := fmt.Sprintf("?per_page=%d&page=%d", perPage, page+1)
		if f.most == gitlabMost {
			query += "&sort=asc&order_by=created_at"
		}
		text, err := f.ask(ctx, http.MethodGet, f.list+query, nil)
		if err != nil {
			return 0, err
		}
		var list []struct {
			ID   int64  `json:"id"`
			Body string `json:"body"`
		}
		if err := json.Unmarshal(text, &list); err != nil {
			return 0, fmt.Errorf("GET %s%s: the reply is no list of comments", f.server.URL, f.list)
		}
		for _, c := range list {
			if first, _, _ := strings.Cut(c.Body, "\n"); strings.TrimSpace(first) == mark {
				return c.ID, nil
			}
		}
		if len(list) < perPage {
			break
		}
	}
	return 0, nil
}

// ask sends a request and returns the body of the reply.
func (f *Forge) ask(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	what := method + " " + f.server.URL + path
	reply, err := f.server.Ask(ctx, method, path, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if reply.Status/100 == 2 {
		return reply.Body, nil
	}
	reason := fmt.Sprintf("%s: %d %s", what, reply.Status, cmp.Or(message(reply.Body), http.StatusText(reply.Status)))
	if method != http.MethodGet && (reply.Status == http.StatusForbidden || reply.Status == http.StatusNotFound) || reply.Status == http.StatusForbidden {
		return nil, &Forbidden{reason}
	}
	return nil, fmt.Errorf("%s", reason)
}

// message returns the message of an error reply.
func message(body []byte) string {
	var m struct {
		Message any `json:"message"`
	}
	if json.Unmarshal(body, &m) != nil || m.Message == nil {
		return ""
	}
	return strings.Join(strings.Fields(fmt.Sprint(m.Message)), " ")
}

// cut returns the first n characters of text, without its last line if that line is not whole.
func cut(text string, n int) string {
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	text = string(r[:max(n, 0)])
	if i := strings.LastIndexByte(text, '\n'); i > 0 {
		text = text[:i]
	}
	return text
}
