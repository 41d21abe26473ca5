package torch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/capture/collect"
)

// startRequest is the body of /start_profile as SGLang's clients send it: integers
// as strings, which servers of all ages take, and a null prefix.
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
	if n, _ := m.told(); n > 0 {
		r.NumSteps = strconv.Itoa(n)
	}
	if m.w.StartStep > 0 {
		r.StartStep = strconv.FormatInt(m.w.StartStep, 10)
	}
	if m.w.Prefix != "" {
		r.ProfilePrefix = &m.w.Prefix
	}
	body, _ := json.Marshal(r) // strings and flags only
	return body
}

func (w *Window) activities() []string {
	if w.Activities == nil {
		return []string{"CPU", "GPU"}
	}
	return w.Activities
}

// place settles where the files will be, and notes which are there already where
// windows share a directory.
func (m *member) place(ctx context.Context) error {
	if m.kind == VLLM {
		m.dir = m.w.OutputDir
	}
	src, err := m.source()
	if err != nil {
		return err
	}
	if m.kind == VLLM || m.o.Fetch != nil && m.kind != Stepscope {
		// Also to learn now, not at the end, that a command does not work.
		files, err := src.List(ctx)
		if err != nil {
			return fmt.Errorf("%s: its directory cannot be listed: %w", m.URL, err)
		}
		m.before = map[string]bool{}
		for _, f := range files {
			m.before[f.Name] = true
		}
	}
	m.src = src
	if m.kind == VLLM {
		steps, ok := m.vllmSteps(ctx)
		m.steps, m.hasSteps = steps, ok
	}
	if m.kind != Stepscope && m.o.Fetch == nil && !here(ctx, m.URL) {
		m.o.Log(fmt.Sprintf("%s: is another host: its files appear here only if %s is on storage that both share; if not, give --fetch, as in --fetch 'ssh {host} cat {path}'", m.URL, m.dir))
	}
	return nil
}

// source is where the server's files are read.
func (m *member) source() (collect.Source, error) {
	switch {
	case m.src != nil:
		return m.src, nil
	case m.kind == Stepscope:
		return &collect.HTTP{Server: m.server("/profile_files"), Dir: m.dir}, nil
	case m.o.Fetch != nil:
		u, err := url.Parse(m.URL)
		if err != nil {
			return nil, err
		}
		c := &collect.Command{Template: m.o.Fetch, Host: u.Hostname(), Port: u.Port(), Name: m.Name, Dir: m.dir}
		return c, c.Check()
	}
	return collect.Dir(m.dir), nil
}

// here tells whether a URL leads to this host.
func here(ctx context.Context, server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	if name, err := os.Hostname(); err == nil && strings.EqualFold(name, u.Hostname()) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, u.Hostname())
	if err != nil {
		return false
	}
	own, _ := net.InterfaceAddrs()
	for _, ip := range ips {
		if ip.IP.IsLoopback() || ip.IP.IsUnspecified() {
			return true
		}
		for _, a := range own {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip.IP) {
				return true
			}
		}
	}
	return false
}

// start arms the profiler.
func (m *member) start(ctx context.Context) error {
	var body []byte
	if m.kind != VLLM {
		body = m.startRequest()
	}
	// From here on it may record, whatever becomes of the reply.
	m.record(true)
	m.touch(time.Now())
	r, err := m.ask(ctx, http.MethodPost, "/start_profile", body, askPatience)
	if err != nil {
		return err
	}
	if r.Status/100 == 2 {
		return nil
	}
	m.record(false)
	m.touch(time.Time{})
	return m.refusedStart(ctx, r)
}

// refusedStart says why a window was not started, and what to do.
func (m *member) refusedStart(ctx context.Context, r *client.Reply) error {
	text := reasonOf(r)
	switch {
	case strings.Contains(text, "already in progress"), r.Status == http.StatusConflict:
		return fmt.Errorf("%s: a profile is being recorded there already: wait for it, or end it with: stepscope profile stop --url %s", m.URL, m.URL)
	case m.via != "" && (r.Status == http.StatusBadGateway || r.Status == http.StatusServiceUnavailable):
		return &downError{m.URL, fmt.Sprintf("does not answer (%d %s)", r.Status, text), "", nil}
	case r.Status == http.StatusNotFound && m.kind == VLLM:
		return fmt.Errorf("%s: vLLM has profile routes only when it was started with --profiler-config '{\"profiler\":\"torch\",\"torch_profiler_dir\":\"DIR\"}' (before 0.13: with VLLM_TORCH_PROFILER_DIR=DIR)", m.URL)
	case r.Status == http.StatusNotFound:
		return fmt.Errorf("%s: has no /start_profile (404): if it is a router, give the URL of each worker; else it is no SGLang or vLLM server", m.URL)
	case r.Status == http.StatusInternalServerError && m.kind == SGLang:
		return fmt.Errorf("%s: refused to start (500 %s): SGLang says why in its log only; mostly a profile is being recorded already, which ends with: stepscope profile stop --url %s", m.URL, text, m.URL)
	case strings.Contains(text, "output_dir"):
		return fmt.Errorf("%s: cannot write to %s (%d %s): give another --output-dir", m.URL, m.dir, r.Status, text)
	}
	return fmt.Errorf("%s: refused to start a profile: %d %s", m.URL, r.Status, text)
}

func (m *member) record(may bool) {
	m.mu.Lock()
	m.mayRecord = may
	m.mu.Unlock()
}

// recording tells whether the server may still record.
func (m *member) recording() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mayRecord
}

// ending is what a server answered to a stop.
type ending int

const (
	wasOpen ending = iota // the window ended now
	wasIdle               // it had ended before, or had not begun
)

// writePatience bounds a stop. SGLang answers when the traces are written, which
// has taken minutes.
const writePatience = 30 * time.Minute

// stop ends the window. That it is not open is no error.
func (m *member) stop(ctx context.Context) (ending, error) {
	end, err := m.stopBy(ctx, "/stop_profile")
	if errors.Is(err, errNoStop) {
		// The name in SGLang's older guides, which some servers have.
		end, err = m.stopBy(ctx, "/end_profile")
	}
	if err == nil {
		m.record(false)
		m.written(time.Now())
	}
	return end, err
}

var errNoStop = errors.New("it has no route /stop_profile")

func (m *member) stopBy(ctx context.Context, route string) (ending, error) {
	r, err := m.ask(ctx, http.MethodPost, route, nil, writePatience)
	if err != nil {
		return wasOpen, fmt.Errorf("the profiler may still record: %w", err)
	}
	text := reasonOf(r)
	switch {
	case r.Status/100 == 2:
		return wasOpen, nil
	case r.Status == http.StatusConflict, strings.Contains(text, strings.TrimSuffix(api.ErrProfileIdle.Error(), ".")):
		return wasIdle, nil
	case r.Status == http.StatusInternalServerError && m.kind == SGLang && (text == "" || strings.Contains(text, "Internal Server Error")):
		return wasIdle, nil // SGLang gives the reason to its log alone
	case r.Status == http.StatusNotFound:
		return wasOpen, fmt.Errorf("%s: %w", m.URL, errNoStop)
	}
	return wasOpen, fmt.Errorf("%s: refused to stop its profile, which may still record: %d %s", m.URL, r.Status, text)
}

// disarm undoes a start that waits for its step. SGLang cannot cancel one, but a
// plain start takes its place, and that can be stopped.
func (m *member) disarm(ctx context.Context) error {
	r := startRequest{OutputDir: m.dir, Activities: []string{"CPU"}}
	body, _ := json.Marshal(r)
	if _, err := m.ask(ctx, http.MethodPost, "/start_profile", body, askPatience); err != nil {
		return err
	}
	_, err := m.stop(ctx)
	return err
}

// StopAll ends whatever the servers record, whoever started it. The map tells
// which had something open; those behind a router are in it under their own URLs, but
// those that are down are not: their URLs are apart.
func StopAll(ctx context.Context, targets []Target, o Options) (open map[string]bool, down []string, err error) {
	targets, err = named(targets)
	if err != nil {
		return nil, nil, err
	}
	s := &Session{o: o.withDefaults()}
	if err := s.connect(ctx, targets); err != nil {
		return nil, nil, err
	}
	open = map[string]bool{}
	var mu sync.Mutex
	err = s.each(func(m *member) error {
		end, err := m.stop(ctx)
		mu.Lock()
		defer mu.Unlock()
		open[m.URL] = err == nil && end == wasOpen
		return err
	})
	for _, d := range s.down {
		down = append(down, d.URL)
	}
	return open, down, err
}
