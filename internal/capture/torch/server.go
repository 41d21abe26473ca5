package torch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/memory"
)

// Kind is the program that a server runs.
type Kind = servers.Kind

// Info holds the properties that a server reports. A size of 0 means that the size is unknown.
type Info struct {
	Version     string `json:"version,omitempty"`
	TP          int    `json:"tp_size,omitempty"`
	DP          int    `json:"dp_size,omitempty"`
	PP          int    `json:"pp_size,omitempty"`
	EP          int    `json:"ep_size,omitempty"`
	DPAttention bool   `json:"enable_dp_attention,omitempty"` // DP ranks are part of the TP ranks
	Nodes       int    `json:"nnodes,omitempty"`
	V2          bool   `json:"profile_v2,omitempty"`   // the server is known to run with SGLANG_PROFILE_V2
	Dir         string `json:"profiler_dir,omitempty"` // default directory of windows, if reported
}

// String describes the server: "SGLang 0.5.6, TP 2 x DP 2".
func (m *member) String() string {
	text := string(m.kind)
	if m.kind == servers.Unknown {
		text = "an unknown kind of server"
	} else if m.kind == servers.OpenAI {
		text = "an OpenAI-compatible server"
	}
	if m.info.Version != "" {
		text += " " + m.info.Version
	}
	var sizes []string
	for _, d := range []struct {
		name string
		n    int
	}{{"TP", m.info.TP}, {"DP", m.info.DP}, {"PP", m.info.PP}, {"EP", m.info.EP}} {
		if d.n > 1 || d.n == 1 && d.name == "TP" {
			sizes = append(sizes, fmt.Sprintf("%s %d", d.name, d.n))
		}
	}
	if len(sizes) > 0 {
		text += ", " + strings.Join(sizes, " x ")
	}
	return text
}

const askPatience = 30 * time.Second // timeout of a simple request

// reasonOf returns, in one line, the reason for a failure that a reply gives.
func reasonOf(r *client.Reply) string {
	line := r.Reason()
	if strings.HasPrefix(line, "<") || len(line) > 300 { // a proxy's HTML page
		line = strings.TrimSpace(line[:min(len(line), 300)])
	}
	return strings.TrimSuffix(line, ".")
}

// server returns the client for requests to a route.
func (m *member) server(path string) *client.Server {
	return &client.Server{URL: m.base(), Header: m.headers(path), HTTP: m.o.Client}
}

// ask sends one request. The total time of the request is limited by patience.
func (m *member) ask(ctx context.Context, method, path string, body []byte, patience time.Duration) (*client.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := m.server(path).Ask(ctx, method, path, body)
	switch {
	case err != nil:
		return nil, m.unreachable(err)
	case r.Status/100 == 3 && r.Foreign != "":
		return nil, fmt.Errorf("%s: %s", m.URL, r.Foreign)
	case r.Status == http.StatusUnauthorized:
		return nil, fmt.Errorf("%s: %s requires an API key (401): give --api-key KEY, and --admin-api-key KEY if the server has one, or --header Authorization='Bearer KEY'", m.URL, path)
	case r.Status == http.StatusForbidden && path != "/start_profile":
		return nil, fmt.Errorf("%s: refuses %s (403 %s): if it requires a key, give --api-key KEY or --header NAME=VALUE", m.URL, path, reasonOf(r))
	}
	return r, nil
}

// askFor requests a JSON document and decodes it into the argument into. It returns false if the server has no such
// document.
func (m *member) askFor(ctx context.Context, path string, into any) bool {
	r, err := m.ask(ctx, http.MethodGet, path, nil, askPatience)
	return err == nil && r.Status == http.StatusOK && json.Unmarshal(r.Body, into) == nil
}

// base returns the base URL of requests to the server.
func (m *member) base() string {
	if m.via != "" {
		return m.via
	}
	return m.URL
}

// unreachable explains in one line why there was no reply.
func (m *member) unreachable(err error) error {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		m.record(false) // the server has ended
		return &downError{m.URL, "no server answers there (connection refused)", "start it, or correct the URL", err}
	case errors.Is(err, client.ErrEnded):
		m.record(false)
		return &downError{m.URL, err.Error(), "", err}
	case errors.Is(err, context.DeadlineExceeded):
		return &downError{m.URL, "does not answer in time", "", context.DeadlineExceeded}
	case errors.Is(err, context.Canceled):
		return err
	}
	return &downError{m.URL, fmt.Sprintf("cannot be reached (%v)", err), "", err}
}

// notReady is the error for a server that answers 503.
func (m *member) notReady(r *client.Reply) error {
	return &downError{m.URL, fmt.Sprintf("is not ready (503 %s)", reasonOf(r)), "try again when it has started", nil}
}

// connect identifies the server.
func (m *member) connect(ctx context.Context) error {
	err := m.identify(ctx)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		// A router may be waiting for one of its workers.
		if e := m.gateway(ctx, reachPatience); e != nil {
			return e
		}
	}
	return err
}

func (m *member) identify(ctx context.Context) error {
	m.kind = servers.Unknown
	found, err := servers.Identify(ctx, m.get)
	if err != nil {
		return err
	}
	m.kind = found.Kind
	if m.kind != servers.Stepscope {
		// A gateway answers /server_info with the reply of one of its workers.
		if e := m.gateway(ctx, askPatience); e != nil {
			return e
		}
	}
	switch m.kind {
	case servers.SGLang, servers.Stepscope:
		err = m.learn(found.Info)
		if found.Kind == servers.Stepscope {
			m.info.Dir = found.Dir
		}
	case servers.VLLM:
		m.info.Version = found.Version
	default:
		// SGLang's mini balancer answers with the data of its workers.
		var all map[string]json.RawMessage
		if json.Unmarshal(found.Info, &all) == nil && all[api.Prefill] != nil && all[api.Decode] != nil {
			return m.balancer(all)
		}
	}
	m.o.Log(fmt.Sprintf("%s: %s", m.URL, m))
	return err
}

// get requests a route for the identification of the server.
func (m *member) get(ctx context.Context, route string) (*client.Reply, error) {
	r, err := m.ask(ctx, http.MethodGet, route, nil, askPatience)
	if err != nil || !slices.Contains(client.InfoRoutes, route) {
		return r, err
	}
	switch r.Status {
	case http.StatusServiceUnavailable:
		return nil, m.notReady(r)
	case http.StatusBadGateway, http.StatusGatewayTimeout: // reported by a proxy in front of the server
		return nil, &downError{m.URL, fmt.Sprintf("does not answer (%d %s)", r.Status, reasonOf(r)), "", nil}
	}
	return r, nil
}

// learn parses /server_info of SGLang and stepscope.
func (m *member) learn(body []byte) error {
	if err := json.Unmarshal(body, &m.info); err != nil {
		// Decode the values separately, so that one malformed value does not hide the others.
		var all map[string]json.RawMessage
		json.Unmarshal(body, &all)
		for name, at := range map[string]any{
			"version": &m.info.Version, "tp_size": &m.info.TP, "dp_size": &m.info.DP, "pp_size": &m.info.PP, "ep_size": &m.info.EP,
			"enable_dp_attention": &m.info.DPAttention, "nnodes": &m.info.Nodes,
		} {
			if all[name] != nil {
				json.Unmarshal(all[name], at)
			}
		}
	}
	var states struct {
		States json.RawMessage `json:"internal_states"`
	}
	json.Unmarshal(body, &states)
	m.info.V2, m.info.Dir = environment(states.States)
	for _, n := range []*int{&m.info.TP, &m.info.DP, &m.info.PP, &m.info.EP} {
		*n = max(*n, 1)
	}
	if err := m.checkSizes(); err != nil {
		return err
	}
	var told any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	d.Decode(&told)
	m.raw, _ = json.Marshal(wire.WithoutSecrets(told)) // cannot fail: told is parsed JSON
	return nil
}

// environment returns whether SGLang's newer profiler is on, and the default directory for windows. Servers report
// these two settings only if they were started with SGLANG_EXPOSE_OWN_ENV_VARS.
func environment(states json.RawMessage) (v2 bool, dir string) {
	var list []struct {
		Env struct {
			V2  string `json:"SGLANG_PROFILE_V2"`
			Dir string `json:"SGLANG_TORCH_PROFILER_DIR"`
		} `json:"env_vars"`
	}
	if json.Unmarshal(states, &list) != nil || len(list) == 0 {
		return false, ""
	}
	if dir = list[0].Env.Dir; !path.IsAbs(dir) {
		dir = ""
	}
	on := strings.ToLower(list[0].Env.V2)
	return on == "1" || on == "true" || on == "yes" || on == "y", dir
}

// checkSizes returns an error if the server claims more than memory.MostRanks ranks.
func (m *member) checkSizes() error {
	i := &m.info
	for _, n := range []int{i.TP, i.PP, i.EP, i.DP} {
		if n > memory.MostRanks {
			return fmt.Errorf("%s: reports a parallel size of %d; the most is %d", m.URL, n, memory.MostRanks)
		}
	}
	all := max(i.TP, 1) * max(i.PP, 1)
	if !i.DPAttention {
		all *= max(i.DP, 1)
	}
	if all > memory.MostRanks {
		return fmt.Errorf("%s: reports %d ranks (TP %d, DP %d, PP %d); the most is %d", m.URL, all, i.TP, i.DP, i.PP, memory.MostRanks)
	}
	return nil
}
