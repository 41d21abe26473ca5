package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/stepscope/stepscope/internal/ci"
)

// ciCommentCmd is "ci comment".
type ciCommentCmd struct {
	Report   string `arg:"" optional:"" default:"stepscope-ci/report.md" placeholder:"FILE" help:"The report, Markdown; - reads stdin (default: ${default})."`
	Repo     string `name:"repo" placeholder:"OWNER/NAME" help:"The repository; for GitLab the id or path of the project (default: that of the job)."`
	PR       int    `name:"pr" aliases:"mr" placeholder:"N" help:"The pull request or merge request (default: that of the job)."`
	API      string `name:"api" placeholder:"URL" help:"The API (default: that of the job, or https://api.github.com)."`
	GitLab   bool   `name:"gitlab" help:"The API is GitLab's (default: if the job runs in GitLab CI)."`
	TokenEnv string `name:"token-env" placeholder:"NAME" help:"Environment variable that holds the token (default: GITHUB_TOKEN, or GITLAB_TOKEN)."`
	Key      string `name:"key" default:"gate" placeholder:"TEXT" help:"Which comment to edit, if a change has several gates (default: ${default})."`
	Link     string `name:"link" placeholder:"URL" help:"Where the whole report is, for a report that exceeds the limit of a comment (default: the page of the job)."`
	Optional bool   `name:"optional" help:"No pull request, or a token that may not write comments, is no error."`
}

// Help returns the end of the verb's help text.
func (c *ciCommentCmd) Help() string {
	return `Examples:
  stepscope ci comment --key decode
  stepscope ci comment report.md --repo octo/engine --pr 12 --token-env GITHUB_TOKEN
  stepscope ci comment --gitlab --repo 4711 --pr 3

The first comment that begins with <!-- stepscope:KEY --> is edited; without one, a
comment is written. GitHub's token needs "permissions: pull-requests: write".
Pull requests of forks have a token that may only read: with --optional there is
no comment then. GitLab needs a project access token with the scope api, since a
job's own token may not write notes.`
}

// reportMost limits the report that is read, bytes.
const reportMost = 16 << 20

// Run writes or edits the comment.
func (c *ciCommentCmd) Run(ctx context.Context, e *env) error {
	at := ci.Here(os.Getenv)
	if c.GitLab && !at.GitLab {
		at = ci.Place{GitLab: true, API: "https://gitlab.com/api/v4"}
	}
	for _, v := range []struct {
		given string
		at    *string
	}{{c.API, &at.API}, {c.Repo, &at.Repo}, {c.Link, &at.Job}} {
		if v.given != "" {
			*v.at = v.given
		}
	}
	if c.PR != 0 {
		at.Change = c.PR
	}
	if c.PR < 0 {
		return usagef("--pr %d: give the number of a pull request", c.PR)
	}
	if at.Change == 0 {
		if c.Optional {
			e.Line("ci comment: the job belongs to no pull request: no comment")
			return nil
		}
		return usagef("which pull request? the job belongs to none: give --pr")
	}
	forge, token := ci.GitHub, "GITHUB_TOKEN"
	if at.GitLab {
		forge, token = ci.GitLab, "GITLAB_TOKEN"
	}
	if c.TokenEnv != "" {
		token = c.TokenEnv
	}
	if !plainKey(c.Key) {
		return usagef("--key %q: use letters, digits, - . _ and /", c.Key)
	}
	text, err := c.text(e)
	if err != nil {
		return err
	}
	key := os.Getenv(token)
	if key == "" {
		return c.unwritten(e, usagef("the environment variable %s holds no token (--token-env names another)", token))
	}
	f, err := forge(at.API, at.Repo, at.Change, key)
	if err != nil {
		return usageError{err}
	}
	more := "_The report is cut here._"
	if at.Job != "" {
		more = "_The report is cut here; the whole report: " + at.Job + "_"
	}
	edited, err := f.Put(ctx, c.Key, text, more)
	if forbidden, ok := errors.AsType[*ci.Forbidden](err); ok {
		return c.unwritten(e, fmt.Errorf("%w (GitHub: permissions: pull-requests: write; GitLab: a token with the scope api)", forbidden))
	}
	if err != nil {
		return err
	}
	did := "written"
	if edited {
		did = "edited"
	}
	e.Line(fmt.Sprintf("ci comment: %s at %s, number %d", did, at.Repo, at.Change))
	return nil
}

// unwritten returns the reason why there is no comment, or only reports it if comments are optional.
func (c *ciCommentCmd) unwritten(e *env, why error) error {
	if !c.Optional {
		return why
	}
	e.Warn("no comment: %v", why)
	return nil
}

// text reads the report.
func (c *ciCommentCmd) text(e *env) (string, error) {
	in := e.stdin
	if c.Report != "-" {
		f, err := os.Open(c.Report)
		if err != nil {
			return "", fmt.Errorf("%w; ci gate writes it", err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, reportMost))
	return string(text), err
}

// plainKey reports whether a key can stand in the mark of a comment.
func plainKey(key string) bool {
	for _, r := range key {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.', r == '_', r == '/':
		default:
			return false
		}
	}
	return key != ""
}
