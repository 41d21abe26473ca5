package torch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/base/memory"
)

// worker describes a server behind a router, as reported by the router.
type worker struct{ url, role, via string }

// routerError means that a target is a router, whose workers are to be profiled.
type routerError struct {
	m       *member
	workers []worker // nil: the router does not name all of its workers
	named   []worker
}

// Error explains how to name the workers if the router does not.
func (e *routerError) Error() string {
	var flags []string
	for _, w := range e.named {
		flag := "--url"
		if w.role != "" {
			flag = "--" + w.role + "-url"
		}
		flags = append(flags, flag+" "+w.url)
	}
	if len(flags) == 0 {
		return fmt.Sprintf("%s: is a router, which has no profile routes and does not name its workers: give the URL of each, with --url or --prefill-url and --decode-url", e.m.URL)
	}
	return fmt.Sprintf("%s: is a router, which has no profile routes: profile its workers: %s", e.m.URL, strings.Join(flags, " "))
}

// balancer reads the list of workers from the /server_info of SGLang's mini balancer.
func (m *member) balancer(all map[string]json.RawMessage) *routerError {
	e := &routerError{m: m}
	nameless := false
	for _, role := range []string{api.Prefill, api.Decode} {
		var list []struct {
			Host string
			Port int
		}
		json.Unmarshal(all[role], &list)
		for _, w := range list {
			// A worker that listens on all addresses does not report a usable host name.
			if w.Host == "" || w.Host == "0.0.0.0" || w.Host == "::" || w.Port <= 0 {
				nameless = true
				continue
			}
			e.named = append(e.named, worker{url: fmt.Sprintf("http://%s:%d", w.Host, w.Port), role: role})
		}
	}
	if !nameless {
		e.workers = e.named
	}
	return e
}

// gateway queries a router for its workers. It supports stepscope's router, and the current and older routes of
// SGLang's model gateway. If the server is not a router, gateway returns nil.
func (m *member) gateway(ctx context.Context, patience time.Duration) *routerError {
	for _, route := range []string{"/workers", "/list_workers"} {
		r, err := m.ask(ctx, http.MethodGet, route, nil, patience)
		if err != nil || r.Status != http.StatusOK {
			continue
		}
		var list struct {
			Router  string
			URLs    []string
			Workers []struct {
				ID   string
				URL  string
				Type string `json:"worker_type"`
			}
		}
		if json.Unmarshal(r.Body, &list) != nil || list.URLs == nil && list.Workers == nil ||
			len(list.URLs)+len(list.Workers) > memory.MostRanks { // no router has so many workers
			continue
		}
		e := &routerError{m: m}
		for _, url := range list.URLs {
			e.named = append(e.named, worker{url: url})
		}
		for _, w := range list.Workers {
			own := worker{url: strings.TrimRight(w.URL, "/"), role: strings.ToLower(w.Type)}
			if own.role != api.Prefill && own.role != api.Decode {
				own.role = ""
			}
			if list.Router == "stepscope" {
				own.via = m.URL + "/workers/" + url.PathEscape(w.ID)
			}
			e.named = append(e.named, own)
		}
		e.workers = e.named
		return e
	}
	return nil
}

// connect creates a member for each target and identifies the server. A router is replaced by its workers.
func (s *Session) connect(ctx context.Context, targets []Target) error {
	for _, t := range targets {
		s.members = append(s.members, &member{Target: t, w: s.w, o: &s.o})
	}
	routers := make([]*routerError, len(s.members))
	index := map[*member]int{}
	for i, m := range s.members {
		index[m] = i
	}
	err := s.each(func(m *member) error {
		err := m.connect(ctx)
		if errors.As(err, &routers[index[m]]) && len(routers[index[m]].workers) > 0 {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(routers, func(e *routerError) bool { return e != nil }) {
		return nil
	}
	var all []Target
	var members []*member
	for i, m := range s.members {
		if routers[i] == nil {
			all, members = append(all, m.Target), append(members, m)
			continue
		}
		s.o.Log(fmt.Sprintf("%s: is a router for %d workers", m.URL, len(routers[i].workers)))
		for _, w := range routers[i].workers {
			own := &member{Target: Target{URL: w.url, Role: w.role, Header: m.Header, AdminKey: m.AdminKey}, w: s.w, o: &s.o, front: m.URL, via: w.via}
			all, members = append(all, own.Target), append(members, own)
		}
	}
	if all, err = named(all); err != nil {
		return err
	}
	for i, m := range members {
		m.Target = all[i]
	}
	s.members = members
	return s.eachUp(ctx, true, func(m *member) error {
		if m.front == "" {
			return nil
		}
		return m.reach(ctx)
	})
}

// reachPatience is the timeout of a direct request to a worker, if the worker's router can also forward requests to the
// worker.
const reachPatience = 5 * time.Second

// reach determines how to reach a worker behind a router: directly, or through the router if the router forwards
// requests.
func (m *member) reach(ctx context.Context) error {
	via := m.via
	m.via = ""
	err := errors.New("its address is valid only on its own host")
	if !strangeLoopback(ctx, m.URL, m.front) {
		var r *client.Reply
		if r, err = m.ask(ctx, http.MethodGet, "/server_info", nil, reachPatience); err == nil && r.Status == http.StatusServiceUnavailable {
			return m.notReady(r)
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if via == "" {
			flag := "--url"
			if m.Role != "" {
				flag = "--" + m.Role + "-url"
			}
			return &downError{m.URL, "cannot be reached from here", fmt.Sprintf("%s is a router: give the URL of each of its workers, as reachable from here, with %s: %v", m.front, flag, err), err}
		}
		m.via = via
		if _, late := m.ask(ctx, http.MethodGet, "/server_info", nil, reachPatience); late != nil && ctx.Err() == nil {
			return late // a further attempt by the caller's connect would wait even longer
		}
	}
	direct := err
	err = m.connect(ctx)
	if _, down := errors.AsType[*downError](err); down && errors.Is(direct, syscall.ECONNREFUSED) {
		return direct // direct is clearer than err and has the same cause
	}
	if err == nil && m.via != "" {
		m.o.Log(fmt.Sprintf("%s: is reached through its router", m.URL))
	}
	return err
}

// strangeLoopback reports whether a worker's URL is a loopback address although the router runs on another host. On
// this host, such a URL would lead to an unrelated server.
func strangeLoopback(ctx context.Context, worker, router string) bool {
	u, err := url.Parse(worker)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()) && !here(ctx, router)
}
