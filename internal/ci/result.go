package ci

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Result is the result of a gate.
type Result struct {
	Format  int      `json:"format"`  // 1, see docs/formats/gate.md
	Status  int      `json:"status"`  // 0 passed, 1 failed, 2 usage, 3 not judged, 4 regression
	Verdict string   `json:"verdict"` // one line
	Report  string   `json:"report"`  // path of the report, Markdown
	Page    string   `json:"page"`    // path of the report, HTML; "": there is none
	Base    []string `json:"base"`    // ids of the runs of the base
	New     []string `json:"new"`     // ids of the runs of the new build
}

// Run returns the id of the newest run of the new build, or "".
func (r *Result) Run() string {
	if len(r.New) == 0 {
		return ""
	}
	return r.New[len(r.New)-1]
}

// Publish writes the result to the files that GITHUB_OUTPUT and GITHUB_STEP_SUMMARY name, if they are set. Each may be up
// to 1 MiB, so that a longer report is cut.
func (r *Result) Publish(report string) error {
	var out strings.Builder
	for _, o := range [][2]string{{"status", strconv.Itoa(r.Status)}, {"verdict", oneLine(r.Verdict)}, {"report", oneLine(r.Report)}, {"page", oneLine(r.Page)}, {"run", oneLine(r.Run())}} {
		fmt.Fprintf(&out, "%s=%s\n", o[0], o[1])
	}
	if err := appendTo(os.Getenv("GITHUB_OUTPUT"), out.String()); err != nil {
		return err
	}
	return appendTo(os.Getenv("GITHUB_STEP_SUMMARY"), cut(report, 1<<18)+"\n") // at most four bytes a character
}

// oneLine replaces line breaks, which would begin another output.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// appendTo appends text to the file. "" names no file.
func appendTo(path, text string) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// Place is where the job runs, from the environment of GitHub Actions or GitLab CI.
type Place struct {
	GitLab bool
	API    string
	Repo   string // owner/name, or the project of GitLab
	Change int    // number of the pull request or merge request; 0: the job belongs to none
	Job    string // URL of the job's page, with its artifacts
}

// Here reads the environment.
func Here(getenv func(string) string) (p Place) {
	if getenv("GITLAB_CI") != "" {
		p = Place{GitLab: true, API: getenv("CI_API_V4_URL"), Repo: getenv("CI_PROJECT_ID"), Job: getenv("CI_JOB_URL")}
		p.Change, _ = strconv.Atoi(getenv("CI_MERGE_REQUEST_IID"))
		return p
	}
	p = Place{API: getenv("GITHUB_API_URL"), Repo: getenv("GITHUB_REPOSITORY")}
	if p.API == "" {
		p.API = "https://api.github.com"
	}
	if run := getenv("GITHUB_RUN_ID"); run != "" {
		p.Job = getenv("GITHUB_SERVER_URL") + "/" + p.Repo + "/actions/runs/" + run
	}
	var event struct {
		PullRequest struct {
			Number int
		} `json:"pull_request"`
	}
	if text, err := os.ReadFile(getenv("GITHUB_EVENT_PATH")); err == nil && json.Unmarshal(text, &event) == nil {
		p.Change = event.PullRequest.Number
	}
	return p
}
