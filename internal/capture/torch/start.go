package torch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/capture/collect"
)

// startRequest is the body of /start_profile in the form that SGLang's clients send. Integers are written as strings,
// which servers of all versions accept. The prefix may be null.
type startRequest struct {
	OutputDir      string   `json:"output_dir"`
	NumSteps       string   `json:"num_steps,omitempty"`
	Activities     []string `json:"activities"`
	ProfileByStage bool     `json:"profile_by_stage"`
	MergeProfiles  bool     `json:"merge_profiles"`
	ProfilePrefix  *string  `json:"profile_prefix"`
	StartStep      string   `json:"start_step,omitempty"`
	ProfileStages  []string `json:"profile_stages,omitempty"`
	ProfileID      string   `json:"profile_id,omitempty"`
	WithStack      *bool    `json:"with_stack,omitempty"`
	RecordShapes   *bool    `json:"record_shapes,omitempty"`
}

func (m *member) startRequest() []byte {
	r := startRequest{
		OutputDir: m.dir, Activities: m.w.activities(), ProfileByStage: m.w.ByStage, MergeProfiles: m.w.Merge, ProfileStages: m.w.Stages,
		ProfileID: m.w.ProfileID, WithStack: m.w.WithStack, RecordShapes: m.w.RecordShapes,
	}
	if n := m.bound(); n > 0 {
		r.NumSteps = strconv.Itoa(n)
	}
	if m.w.StartStep > 0 {
		r.StartStep = strconv.FormatInt(m.w.StartStep, 10)
	}
	if m.w.Prefix != "" {
		r.ProfilePrefix = &m.w.Prefix
	}
	body, _ := json.Marshal(r) // cannot fail: r has only strings and booleans
	return body
}

func (w *Window) activities() []string {
	if w.Activities == nil {
		return []string{"CPU", "GPU"}
	}
	return w.Activities
}

// place determines the location of the files. If windows share a directory, place also lists the files that are already
// in that directory. The argument given is the directory that the caller specified.
func (m *member) place(ctx context.Context, given string) error {
	if err := m.checkProfiler(ctx); err != nil {
		return err
	}
	if m.profile().OwnDir {
		if err := m.vllmPlace(ctx, given); err != nil {
			return err
		}
		m.w.OutputDir = m.dir
	}
	src, err := m.source()
	if err != nil {
		return err
	}
	if m.profile().OwnDir || m.byCommand() {
		// This listing also detects a broken command before the window rather than after it.
		files, err := src.List(ctx)
		if err != nil && m.profile().Files && ctx.Err() == nil { // such as an image without ls
			m.o.Log(fmt.Sprintf("%s: no command can list its directory, so its files come by HTTP: %v", m.URL, err))
			src, err = m.ownFiles(), nil
		}
		if err != nil {
			return fmt.Errorf("%s: its directory cannot be listed: %w", m.URL, err)
		}
		m.before = map[string]bool{}
		for _, f := range files {
			m.before[f.Name] = true
		}
	}
	m.src = src
	if !m.profile().Files && m.o.Fetch == nil && !here(ctx, m.URL) {
		m.o.Log(fmt.Sprintf("%s: is on another host: its files appear here only if %s is on storage that both hosts share; if not, give --fetch, such as --fetch 'ssh {host} cat {path}'", m.URL, m.dir))
	}
	return nil
}

// source returns the source of the server's files.
func (m *member) source() (collect.Source, error) {
	switch {
	case m.src != nil:
		return m.src, nil
	case m.profile().Files && !m.byCommand():
		return m.ownFiles(), nil
	case m.o.Fetch != nil:
		c := m.command(m.dir)
		return c, c.Check()
	}
	return collect.Dir(m.dir), nil
}

// command returns a directory on the server's host as the source of files that a command reads.
func (m *member) command(dir string) *collect.Command {
	c := &collect.Command{Template: m.o.Fetch, Name: m.Name, Dir: dir}
	if u, err := url.Parse(m.URL); err == nil { // named has checked it
		c.Host, c.Port = u.Hostname(), u.Port()
	}
	return c
}

// byCommand reports whether a command reads the server's files.
func (m *member) byCommand() bool {
	return m.o.Fetch != nil && (!m.profile().Files || m.o.Fetch.Inside())
}

// ownFiles returns the source of a server that serves its files.
func (m *member) ownFiles() collect.Source {
	return &collect.HTTP{Server: m.server("/profile_files"), Dir: m.dir}
}

// here reports whether a URL refers to this host.
func here(ctx context.Context, server string) bool {
	is, err := client.Here(ctx, server)
	return is && err == nil
}

// start arms the profiler.
func (m *member) start(ctx context.Context) error {
	var body []byte
	if !m.profile().Ends {
		m.steps, m.hasSteps = m.countedSteps(ctx)
	} else {
		body = m.startRequest()
	}
	if err := m.noteOpen(ctx); err != nil {
		return err
	}
	m.sayUnbounded()
	m.doing(doingArm)
	m.countFrom(ctx)
	if m.w.StartStep == 0 { // else the window begins later
		m.lookContexts(ctx, m.reader())
	}
	// From now on the server may be recording, even if the reply is lost.
	m.record(true)
	m.touch(time.Now())
	r, err := m.ask(ctx, http.MethodPost, "/start_profile", body, askPatience)
	if err != nil {
		return err
	}
	if r.Status/100 == 2 && r.Foreign == "" {
		m.doing(doingRecord)
		return nil
	}
	m.record(false)
	m.touch(time.Time{})
	return m.refusedStart(ctx, r)
}

// refusedStart explains why a window was not started and suggests a remedy.
func (m *member) refusedStart(ctx context.Context, r *client.Reply) error {
	text := reasonOf(r)
	switch {
	case r.Foreign != "":
		return fmt.Errorf("%s: %s", m.URL, r.Foreign)
	case strings.Contains(text, "already in progress"), r.Status == http.StatusConflict:
		return fmt.Errorf("%s: a profile is already being recorded there: wait for it, or end it with: stepscope profile stop --url %s", m.URL, m.URL)
	case m.via != "" && (r.Status == http.StatusBadGateway || r.Status == http.StatusServiceUnavailable):
		return &downError{m.URL, fmt.Sprintf("does not answer (%d %s)", r.Status, text), "", nil}
	case r.Status == http.StatusNotFound && m.kind.Row().Advice.Profiler != "":
		return m.noProfiler()
	case r.Status == http.StatusNotFound:
		return fmt.Errorf("%s: has no /start_profile (404): if it is a router, give the URL of each worker; otherwise it is not an SGLang or vLLM server", m.URL)
	case r.Status == http.StatusInternalServerError && m.profile().Silent:
		return fmt.Errorf("%s: refused to start (500 %s): %s gives the reason only in its log; usually a profile is already being recorded, which you can end with: stepscope profile stop --url %s", m.URL, text, m.kind, m.URL)
	case strings.Contains(text, "output_dir"):
		return fmt.Errorf("%s: cannot write to %s (%d %s): give another --output-dir", m.URL, m.dir, r.Status, text)
	}
	return fmt.Errorf("%s: refused to start a profile: %d %s", m.URL, r.Status, text)
}

// noProfiler is the error for a server that was started without its profiler.
func (m *member) noProfiler() error {
	return fmt.Errorf("%s: %s has profile routes only when it was started with %s", m.URL, m.kind, m.kind.Row().Advice.Profiler)
}

// checkProfiler returns an error if the server was started without its profiler. It requests the start route by GET,
// which a server with that route refuses without effect (405).
func (m *member) checkProfiler(ctx context.Context) error {
	if m.kind.Row().Advice.Profiler == "" {
		return nil
	}
	r, err := m.ask(ctx, http.MethodGet, "/start_profile", nil, askPatience)
	if err == nil && r.Status == http.StatusNotFound {
		err = m.noProfiler()
	}
	return err
}

func (m *member) record(may bool) {
	m.mu.Lock()
	m.mayRecord = may
	m.mu.Unlock()
	if !may {
		m.noteClosed()
		m.doing(doingOver)
	}
}

// recording reports whether the server may still be recording.
func (m *member) recording() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mayRecord
}
