package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/stepscope/stepscope/internal/api/client"
)

// Pods are the selected servers.
type Pods struct {
	Servers []*Server
	client  *Client
	mu      sync.Mutex
	hosts   map[string]*Server // by POD.NAMESPACE, and by the IP address of a pod
}

// Dial opens a connection to the port of an address whose host is that of a [Server]'s URL, or the IP address of a pod
// in the namespace of one. A router names its workers by such addresses.
func (p *Pods) Dial(ctx context.Context, _, addr string) (net.Conn, error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, err
	}
	s, err := p.find(ctx, host)
	if err != nil {
		return nil, err
	}
	lead := s.pods[0]
	c, err := p.client.forward(ctx, lead.Metadata.Namespace, lead.Metadata.Name, int(port))
	if err != nil {
		return nil, p.cause(ctx, lead, err)
	}
	return c, nil
}

// Listen opens a port of this host that leads to a server, for clients that need a socket. It returns the URL and a
// function that closes the port and its connections.
func (p *Pods) Listen(s *Server) (at string, end func(), err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for {
			here, err := ln.Accept()
			if err != nil {
				return // the port was closed
			}
			go func() {
				defer here.Close()
				there, err := p.Dial(ctx, "tcp", strings.TrimPrefix(s.URL, "http://"))
				if err != nil {
					return // the client sees a connection that was closed
				}
				defer there.Close()
				defer context.AfterFunc(ctx, func() { there.Close() })()
				go func() {
					_, _ = io.Copy(there, here) // the end of either direction ends both
					there.Close()
				}()
				_, _ = io.Copy(here, there)
			}()
		}
	}()
	return "http://" + ln.Addr().String(), func() { cancel(); ln.Close() }, nil
}

// find returns the server of a host.
func (p *Pods) find(ctx context.Context, host string) (*Server, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.hosts[host]; s != nil {
		return s, nil
	}
	if net.ParseIP(host) == nil {
		return nil, fmt.Errorf("%s is none of the selected pods", host)
	}
	seen := map[string]bool{}
	for _, s := range p.Servers {
		namespace := s.pods[0].Metadata.Namespace
		if seen[namespace] {
			continue
		}
		seen[namespace] = true
		pods, err := p.client.pods(ctx, namespace, url.Values{"fieldSelector": {"status.podIP=" + host + ",status.phase=Running"}})
		if err != nil {
			return nil, err
		}
		if len(pods) == 0 {
			continue
		}
		m := &member{pod: pods[0]}
		if _, err := m.choose("", 0, false); err != nil {
			return nil, err
		}
		p.hosts[host] = &Server{Name: m.Metadata.Name, pods: []*member{m}}
		return p.hosts[host], nil
	}
	return nil, fmt.Errorf("no pod in the namespaces of the selected pods has the address %s", host)
}

// Exec runs a command in the pods of a server. If all is set, it runs the command in each of them, and succeeds if one
// of them does. Otherwise it ends with the first pod in which the command succeeds.
func (p *Pods) Exec(ctx context.Context, host string, all bool, command []string, out, errs io.Writer) error {
	s, err := p.find(ctx, host)
	if err != nil {
		return err
	}
	var failed error
	done := false
	for _, m := range s.pods {
		err := p.run(ctx, m, command, out, errs)
		_, exited := errors.AsType[*ExitError](err)
		switch {
		case err == nil && !all:
			return nil
		case err == nil:
			done = true
		case !exited:
			return err
		default:
			failed = err
		}
	}
	if done {
		return nil
	}
	return failed
}

// run runs a command in a pod that is still the one selected.
func (p *Pods) run(ctx context.Context, m *member, command []string, out, errs io.Writer) error {
	if err := p.same(ctx, m); err != nil {
		return err
	}
	err := p.client.exec(ctx, m.Metadata.Namespace, m.Metadata.Name, m.container, command, out, errs)
	if _, exited := errors.AsType[*ExitError](err); err == nil || exited || ctx.Err() != nil {
		return err
	}
	return p.cause(ctx, m, err)
}

// cause returns the state of the pod, if that explains an error.
func (p *Pods) cause(ctx context.Context, m *member, err error) error {
	if changed := p.same(ctx, m); changed != nil && ctx.Err() == nil {
		return changed
	}
	return fmt.Errorf("pod %s: %w", m, err)
}

// Begin takes the state of the pods of now as the one in which a window begins. It forgets earlier restarts, and that a
// StatefulSet replaced a pod.
func (p *Pods) Begin(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.hosts {
		for _, m := range s.pods {
			now := pod{}
			err := p.client.get(ctx, podPath(m.Metadata.Namespace, m.Metadata.Name), nil, &now)
			if r, ok := errors.AsType[*Refused](err); ok && r.Status == http.StatusNotFound {
				continue // an error of the server follows
			}
			if err != nil {
				return fmt.Errorf("pod %s: %w", m, err)
			}
			m.begin(now)
		}
	}
	return nil
}

// same returns an error if the pod is gone, was replaced by one with the same name, or restarted its container. The
// error then wraps [client.ErrEnded].
func (p *Pods) same(ctx context.Context, m *member) error {
	var now pod
	err := p.client.get(ctx, podPath(m.Metadata.Namespace, m.Metadata.Name), nil, &now)
	ended := func(why string) error { return fmt.Errorf("pod %s %s: %w", m, why, client.ErrEnded) }
	if r, ok := errors.AsType[*Refused](err); ok && r.Status == http.StatusNotFound {
		return ended("was deleted")
	}
	switch {
	case err != nil:
		return fmt.Errorf("pod %s: %w", m, err)
	case now.Metadata.UID != m.at().uid:
		return ended("was deleted, and another pod has its name")
	case now.Status.Phase == "Failed" || now.Status.Phase == "Succeeded":
		return ended(strings.TrimSpace("has ended: " + now.Status.Reason + " " + now.Status.Message))
	}
	restarts := m.at().restarts
	for _, s := range now.Status.ContainerStatuses {
		if s.Name != m.container || s.RestartCount == restarts {
			continue
		}
		why := "restarted its container " + s.Name
		if t := s.LastState.Terminated; t != nil {
			why += fmt.Sprintf(" (%s, exit code %d)", t.Reason, t.ExitCode)
		}
		return ended(why)
	}
	return nil
}
