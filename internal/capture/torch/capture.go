// Package torch captures a profiling window on one or more servers and collects its files.
//
// [Prepare] identifies the servers (SGLang of any version, stepscope, vLLM). [Session.Arm] arms their profilers and
// returns. [Start] calls both. [Session.Collect] waits until the files of all ranks are complete, copies them from
// their location (package collect), and merges them. On any error, and when the context ends, all profilers that were
// started are stopped, so that no profiler continues to record.
//
// The requests to the servers are the same as those of SGLang's own client, sglang.profiler. Each window has a separate
// directory below the output directory. The directory is named by the time, and all trace files in the directory belong
// to the window.
package torch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/capture/collect"
	"github.com/stepscope/stepscope/trace"
)

// Target is a server or a router. If it is a router, the router's workers are recorded, each with the role that the
// router reports.
type Target struct {
	URL    string
	Role   string      // api.Prefill, api.Decode, or "" for a server that does both
	Name   string      // name of the server's directory if there are several servers; default: derived from the URL
	Header http.Header // sent with each request; contains keys
	// AdminKey is the bearer token for the profile routes if the server has a separate token for these routes. "":
	// requests to these routes carry the token in Header.
	AdminKey string
}

// headers returns the headers of a request to the path.
func (t *Target) headers(path string) http.Header {
	h := t.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	if t.AdminKey != "" && strings.Contains(path, "profile") {
		h.Set("Authorization", "Bearer "+t.AdminKey)
	}
	return h
}

// OutputDir returns the parent directory of windows: given if it is not "", otherwise SGLang's default.
func OutputDir(given string) string {
	return cmp.Or(given, os.Getenv(profilerDir), "/tmp")
}

const profilerDir = "SGLANG_TORCH_PROFILER_DIR"

// Window describes a recording. The zero value records CPU and GPU until [Session.Stop].
//
// OutputDir is the parent directory of windows. In it, {role} and {port} stand for the role and the port of a server. For vLLM it must be the directory that was given to vLLM at its start.
// "" means the directory that the server reports. If the server reports no directory, "" means SGLang's default.
type Window struct {
	OutputDir string `json:"output_dir"` // on the servers, absolute
	Prefix    string `json:"profile_prefix,omitempty"`
	ProfileID string `json:"profile_id,omitempty"` // "": servers generate an id; older servers always generate an id
	StartStep int64  `json:"start_step,omitempty"` // absolute forward count at which the window begins; 0: now
	NumSteps  int    `json:"num_steps,omitempty"`  // 0: until Stop
	// For is the time after which the caller stops a window without NumSteps; 0: unknown.
	For          time.Duration `json:"for,omitempty"`
	Activities   []string      `json:"activities"` // nil: CPU, GPU
	ByStage      bool          `json:"profile_by_stage,omitempty"`
	Stages       []string      `json:"profile_stages,omitempty"` // prefill, decode; nil: both
	WithStack    *bool         `json:"with_stack,omitempty"`     // nil: the server's default
	RecordShapes *bool         `json:"record_shapes,omitempty"`
	Merge        bool          `json:"merge_profiles,omitempty"` // the servers also merge the traces of their ranks
}

// Options configures a session. The zero value is ready to use.
type Options struct {
	Client *http.Client      // nil: the client of package client
	Fetch  *collect.Template // reads the servers' files through a command
	// Begin, if not nil, is called before servers are identified for a window.
	Begin   func(context.Context) error
	Timeout time.Duration // a window that is still open after this time is closed; default 5 min
	// Stall is the time after the last change at which files that have not arrived count as missing; default 60 s.
	Stall time.Duration
	Idle  time.Duration // a server without steps for this time counts as idle; default 5 s
	Probe bool          // send tiny requests to cause steps
	// Wait is the time that Arm waits for load on an idle server before Arm fails. 0: Arm arms the profiler at once,
	// with a warning.
	Wait time.Duration
	// LoadFollows means that the caller will send load as soon as the profiler is armed.
	LoadFollows bool
	// Pace is the time for which a server's counters are read to measure step times without the profiler. They are read
	// before arming and, if that was inconclusive, after the window. 0: off. Callers that send the load themselves have
	// better data and set Pace to 0.
	Pace time.Duration
	// Sessions is a private directory of the user in which open windows are recorded (see opened); "": open windows are
	// not recorded.
	Sessions  string
	Progress  *Progress         // receives the progress of each server; nil: none
	NoMerge   bool              // do not merge the ranks' files
	Budget    *collect.Budget   // limits the size of the collected files; nil: no limit
	Log       func(line string) // logs progress; called from any goroutine
	Now       func() time.Time
	firstWait time.Duration // first interval between listings of the files; grows to maxWait
	mostIdle  time.Duration // maximum time of a window without work; default idleMost
	// loneliness is the idle time after which the traces of a replica without requests are no longer awaited; default
	// replicaIdle.
	loneliness time.Duration
	slow       time.Duration // delay until an unanswered stop is reported
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		at    *time.Duration
		value time.Duration
	}{{&o.Timeout, 5 * time.Minute}, {&o.Stall, time.Minute}, {&o.Idle, 5 * time.Second}, {&o.firstWait, 100 * time.Millisecond}, {&o.mostIdle, idleMost}, {&o.loneliness, replicaIdle}} {
		if *d.at <= 0 {
			*d.at = d.value
		}
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Session is a window in progress.
type Session struct {
	ID      string // name of the window's directory
	w       Window
	o       Options
	members []*member
	down    []downServer // workers behind a router that are left out
	// endPrefills and prefillsFor are set by EndPrefills. Without it, the windows of prefill servers end after their steps.
	endPrefills bool
	prefillsFor time.Duration
}

// Dir returns the directory of the window on the first server.
func (s *Session) Dir() string { return path.Join(s.w.OutputDir, s.ID) }

// several reports whether each server has a directory of its own.
func (s *Session) several() bool { return len(s.members)+len(s.down) > 1 }

// member is a server of a session.
type member struct {
	Target
	front   string // URL of the server's router; "": none
	via     string // route of the router that forwards to this server; "": the server is reached directly
	w       Window
	o       *Options
	kind    Kind
	picture bool // the window is one request to a diffusion server
	info    Info
	raw     []byte // /server_info without secrets
	dir     string // directory of the server's files, on the server
	given   string // directory of windows that the caller gave, on the server
	// before holds the files that were in the directory before the window, because vLLM has one directory for all
	// windows.
	before    map[string]bool
	until     map[string]bool // files that were there after the window; nil: all
	steps     float64         // vLLM's count of steps at the start
	hasSteps  bool
	forwards  float64          // count of forward steps before the window; below 0: not counted
	mayRecord bool             // a window was started and is not known to have ended
	armed     time.Time        // time just before the start request; zero: not started
	closed    time.Time        // time at which all files were written, see Session.Affected; zero: unknown
	sizes     map[string]*seen // file sizes at closed; nil: unknown
	src       collect.Source   // source of the server's files; nil: not determined yet
	loads     []trace.Load     // samples of the server's queues; see the method sample
	contexts  trace.Contexts   // see watchContexts
	stretches []stretch        // stretches of decode steps before and after the window
	rest      func()           // ends the tiny requests; nil: none are sent
	notes     []string         // notes from the time before waiting for files
	idled     bool             // no step ran before waiting for files
	cut       string           // why the window of a prefill server was ended before it had all steps
	mu        sync.Mutex
}

// Check validates the window before any server is contacted.
func (w *Window) Check() error {
	for _, s := range w.Stages {
		if s != api.Prefill && s != api.Decode {
			return fmt.Errorf("stage %q: give prefill or decode", s)
		}
	}
	for _, a := range w.Activities {
		if !slices.Contains(Activities, a) {
			return fmt.Errorf("activity %q: give one or more of %s", a, strings.Join(Activities, ", "))
		}
	}
	switch {
	case w.Activities != nil && len(w.Activities) == 0:
		return fmt.Errorf("no activity to record: give one or more of %s", strings.Join(Activities, ", "))
	case w.NumSteps < 0 || w.StartStep < 0:
		return fmt.Errorf("%d steps from step %d: neither can be negative", w.NumSteps, w.StartStep)
	case w.ByStage && w.NumSteps == 0:
		return errors.New("a window by stage needs a number of steps: each stage ends after that many of its own steps")
	case w.ByStage && w.StartStep > 0:
		return errors.New("a window by stage cannot have a start step: each stage begins with its first step")
	case len(w.Stages) > 0 && !w.ByStage:
		return errors.New("stages apply only to windows by stage")
	case w.OutputDir != "" && !path.IsAbs(w.OutputDir):
		return fmt.Errorf("output directory %q: give an absolute one, as the server sees it", w.OutputDir)
	case !namePart.MatchString(w.Prefix), !namePart.MatchString(w.ProfileID):
		return fmt.Errorf("prefix %q, profile id %q: they become part of file names, use letters, digits and ._+=@,-", w.Prefix, w.ProfileID)
	}
	return nil
}

// Lean restricts the window to kernels and their launch calls, on all ranks. Of all windows, such a window slows a
// server the least. docs/servers.md lists the findings that it supports.
func (w *Window) Lean() {
	off := false
	w.Activities, w.WithStack, w.RecordShapes = []string{"GPU"}, &off, &off
}

// Activities lists the activities known to any server.
var Activities = []string{"CPU", "GPU", "MEM", "RPD", "CUDA_PROFILER", "XPU"}

var namePart = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._+=@,-]{0,127})?$`)

// Start calls Prepare and Arm.
func Start(ctx context.Context, targets []Target, w Window, o Options) (*Session, error) {
	s, err := Prepare(ctx, targets, w, o)
	if err == nil {
		err = s.Arm(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Prepare identifies the servers and determines the location of their files, without arming a profiler. Prepare omits
// workers behind a router that are down or have no profiler. The result of Collect describes the Problem of each omitted
// worker.
func Prepare(ctx context.Context, targets []Target, w Window, o Options) (*Session, error) {
	if err := w.Check(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	s := &Session{ID: api.PythonTime(o.Now()), w: w, o: o}
	targets, err := named(targets)
	if err == nil && o.Begin != nil {
		err = o.Begin(ctx)
	}
	if err != nil {
		return nil, err
	}
	for _, t := range targets {
		if o.Probe && t.Role != "" {
			return nil, fmt.Errorf("%s: tiny requests cannot be sent to a %s server without its router: give the URL of the router, or send load through it", t.URL, t.Role)
		}
	}
	if err := s.connect(ctx, targets); err != nil {
		return nil, err
	}
	for _, m := range s.members {
		m.given = strings.NewReplacer("{role}", m.Role, "{port}", strconv.Itoa(portOf(m.URL))).Replace(w.OutputDir)
		m.w.OutputDir = cmp.Or(m.given, m.info.Dir, OutputDir(""))
		m.dir = path.Join(m.w.OutputDir, s.ID)
		if s.several() {
			m.dir = path.Join(m.dir, m.Name)
		}
	}
	if err := s.eachUp(ctx, false, func(m *member) error { return m.place(ctx, m.given) }); err != nil {
		return nil, err
	}
	s.w.OutputDir = s.members[0].w.OutputDir
	return s, nil
}

// Arm starts the profilers of all servers concurrently and returns. If one profiler fails to start, all other profilers
// are stopped again.
func (s *Session) Arm(ctx context.Context) error {
	all := s.members
	for _, m := range all {
		m.doing(doingLook)
		m.sayStages()
		if s.o.Probe {
			m.keepBusy(ctx)
		}
	}
	err := s.await(ctx)
	if err == nil && s.w.StartStep == 0 { // with a start step, that step could pass during the wait
		err = s.each(func(m *member) error { m.watchPace(ctx); return nil })
	}
	if err == nil {
		err = s.eachUp(ctx, false, func(m *member) error { return m.start(ctx) })
	}
	for _, m := range all {
		if m.rest != nil && (err != nil || !slices.Contains(s.members, m)) {
			m.rest()
		}
	}
	if err != nil {
		if left := s.abort(ctx); left != nil {
			err = fmt.Errorf("%w; and %w", err, left)
		}
	}
	return err
}

// Activities returns the activities that the session records.
func (s *Session) Activities() []string { return s.w.activities() }

// each calls f for all servers concurrently. If calls fail, it returns one of the errors and mentions the number of
// further errors.
func (s *Session) each(f func(*member) error) error {
	errs := make([]error, len(s.members))
	var wg sync.WaitGroup
	for i, m := range s.members {
		wg.Go(func() { errs[i] = f(m) })
	}
	wg.Wait()
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return fmt.Errorf("%w (and errors of %d more servers)", errs[0], len(errs)-1)
}

// named returns the targets and sets the directory name of each target. It rejects duplicate servers.
func named(targets []Target) ([]Target, error) {
	if len(targets) == 0 {
		return nil, errors.New("no server to profile: give its URL")
	}
	out := slices.Clone(targets)
	urls, names := map[string]bool{}, map[string]bool{}
	for i := range out {
		t := &out[i]
		u, err := url.Parse(t.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("%q is not the URL of a server: give one such as http://localhost:30000", wire.WithoutUser(t.URL))
		}
		if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("the URL of %s has more than a host and a path: give API keys as headers", u.Host)
		}
		t.URL = strings.TrimRight(t.URL, "/")
		if urls[t.URL] {
			return nil, fmt.Errorf("%s is given twice", t.URL)
		}
		urls[t.URL] = true
		if t.Name == "" {
			t.Name = strings.Trim(notPlain.ReplaceAllString(u.Host+u.Path, "-"), "-")
		}
		if t.Role != "" && !strings.HasPrefix(t.Name, t.Role) {
			t.Name = t.Role + "-" + t.Name
		}
		if !namePart.MatchString(t.Name) || names[t.Name] {
			return nil, fmt.Errorf("the name %q of %s is used twice or cannot be a directory", t.Name, t.URL)
		}
		names[t.Name] = true
	}
	return out, nil
}

var notPlain = regexp.MustCompile(`[^A-Za-z0-9._]+`)

// CheckTargets validates the targets' URLs without contacting them.
func CheckTargets(targets []Target) error {
	_, err := named(targets)
	return err
}
