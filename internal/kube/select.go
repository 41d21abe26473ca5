package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Labels that LeaderWorkerSet gives to its pods.
const (
	lwsName   = "leaderworkerset.sigs.k8s.io/name"
	lwsGroup  = "leaderworkerset.sigs.k8s.io/group-index"
	lwsWorker = "leaderworkerset.sigs.k8s.io/worker-index"
)

// Selector selects pods and a port.
type Selector struct {
	Namespace string // "": that of the context
	Labels    string // label selector
	Port      int    // 0: chosen from the ports of the container
}

var (
	plainLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`) // no dots: a prefix of a label key has them
	lastPort   = regexp.MustCompile(`:([0-9]+)$`)
)

// ParseSelector parses [NS/]SELECTOR[:PORT]. Text before the first slash is a namespace if it has no dot, because label
// keys such as app.kubernetes.io/name have a slash, too.
func ParseSelector(text string) (Selector, error) {
	var s Selector
	if m := lastPort.FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseUint(m[1], 10, 16)
		if err != nil || n == 0 {
			return s, fmt.Errorf("%q: give a port from 1 to 65535", text)
		}
		s.Port, text = int(n), strings.TrimSuffix(text, m[0])
	}
	if namespace, rest, ok := strings.Cut(text, "/"); ok && plainLabel.MatchString(namespace) {
		s.Namespace, text = namespace, rest
	}
	if s.Labels = strings.TrimSpace(text); s.Labels == "" {
		return s, errors.New("no label selector: give one such as app=sglang")
	}
	return s, nil
}

// ParseLWS parses [NS/]NAME[:PORT], the name of a LeaderWorkerSet.
func ParseLWS(text string) (Selector, error) {
	s, err := ParseSelector(text)
	if err == nil && !plainLabel.MatchString(s.Labels) {
		err = fmt.Errorf("%q: give the name of a LeaderWorkerSet, as NAME or NAMESPACE/NAME", text)
	}
	s.Labels = lwsName + "=" + s.Labels
	return s, err
}

// pod is a Pod object.
type pod struct {
	Metadata struct {
		Name, Namespace, UID string
		Labels, Annotations  map[string]string
		DeletionTimestamp    *time.Time
	}
	Spec struct {
		Containers []container
	}
	Status struct {
		Phase, Reason, Message string
		Conditions             []struct{ Type, Status string }
		ContainerStatuses      []struct {
			Name         string
			RestartCount int
			State        struct {
				Waiting, Terminated *struct {
					Reason   string
					ExitCode int
				}
			}
			LastState struct {
				Terminated *struct {
					Reason   string
					ExitCode int
				}
			}
		}
	}
}

type container struct {
	Name  string
	Ports []struct {
		Name          string
		ContainerPort int
		Protocol      string
	}
}

func (p *pod) String() string { return p.Metadata.Namespace + "/" + p.Metadata.Name }

// unready returns the reason why a pod is not selected, or "".
func (p *pod) unready() string {
	for _, s := range p.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil && w.Reason != "" {
			return s.Name + " is waiting (" + w.Reason + ")"
		}
	}
	switch {
	case p.Metadata.DeletionTimestamp != nil:
		return "is being deleted"
	case p.Status.Phase != "Running":
		return "is " + cmp.Or(p.Status.Reason, p.Status.Phase, "in no phase")
	}
	for _, c := range p.Status.Conditions {
		if c.Type == "Ready" && c.Status == "True" {
			return ""
		}
	}
	return "is not Ready"
}

// role returns prefill or decode if one of them is the value of a label of the pod, and not the other.
func (p *pod) role() (role string) {
	for _, v := range p.Metadata.Labels {
		if v != "prefill" && v != "decode" {
			continue
		}
		if role != "" && role != v {
			return ""
		}
		role = v
	}
	return role
}

// pods lists the pods of a namespace that a query selects, by name.
func (c *Client) pods(ctx context.Context, namespace string, query url.Values) (pods []pod, err error) {
	query.Set("limit", "500")
	for {
		var page struct {
			Metadata struct{ Continue string }
			Items    []pod
		}
		if err := c.get(ctx, "/api/v1/namespaces/"+url.PathEscape(namespace)+"/pods", query, &page); err != nil {
			return nil, fmt.Errorf("pods of namespace %s: %w", namespace, err)
		}
		pods = append(pods, page.Items...)
		if page.Metadata.Continue == "" {
			break
		}
		query.Set("continue", page.Metadata.Continue)
	}
	sorts.By(pods, func(a, b pod) int { return strings.Compare(a.Metadata.Name, b.Metadata.Name) })
	return pods, nil
}

// Server is a server in one pod, or in the pods of a LeaderWorkerSet group.
type Server struct {
	Name string // of the pod that has the API
	URL  string // http://POD.NAMESPACE:PORT, for a client that uses Pods.Dial
	Role string // prefill, decode or ""
	port int
	pods []*member // the first one has the API
}

// member is a pod of a server.
type member struct {
	pod
	container string
	began     atomic.Pointer[began]
}

// began is the state of a pod when a window begins.
type began struct {
	uid      string
	restarts int // of the server's container
}

func (m *member) at() began { return *m.began.Load() }

// begin sets the state in which a window begins.
func (m *member) begin(now pod) {
	b := began{uid: now.Metadata.UID}
	for _, s := range now.Status.ContainerStatuses {
		if s.Name == m.container {
			b.restarts = s.RestartCount
		}
	}
	m.began.Store(&b)
}

// String describes the server: "serving/sglang-0, container server, port 30000".
func (s *Server) String() string {
	text := fmt.Sprintf("%s, container %s, port %d", &s.pods[0].pod, s.pods[0].container, s.port)
	if n := len(s.pods); n > 1 {
		text += fmt.Sprintf(", group of %d pods", n)
	}
	if s.Role != "" {
		text += ", " + s.Role
	}
	return text
}

// Select selects the servers in pods that are Running and Ready. container names their container; "": see
// [member.choose]. The result left describes the selected pods that are not ready. It is an error if no server is ready.
func (c *Client) Select(ctx context.Context, selectors []Selector, container string) (p *Pods, left []string, err error) {
	p = &Pods{client: c, hosts: map[string]*Server{}}
	for _, s := range selectors {
		s.Namespace = cmp.Or(s.Namespace, c.Namespace)
		pods, err := c.pods(ctx, s.Namespace, url.Values{"labelSelector": {s.Labels}})
		if err != nil {
			return nil, nil, err
		}
		if len(pods) == 0 {
			return nil, nil, fmt.Errorf("no pod in namespace %s has the labels %s", s.Namespace, s.Labels)
		}
		groups := map[string][]*member{}
		var order []string
		for i := range pods {
			m := &member{pod: pods[i]}
			key := m.Metadata.Name
			if group, ok := m.Metadata.Labels[lwsGroup]; ok && m.Metadata.Labels[lwsName] != "" {
				key = m.Metadata.Labels[lwsName] + "/" + group
			}
			if groups[key] == nil {
				order = append(order, key)
			}
			groups[key] = append(groups[key], m)
		}
		before := len(p.Servers)
		for _, key := range order {
			server, why, err := newServer(groups[key], s.Port, container)
			switch {
			case err != nil:
				return nil, nil, err
			case why != nil:
				left = append(left, why...)
			case p.hosts[server.host()] == nil: // else two selectors select the pod
				p.hosts[server.host()] = server
				p.Servers = append(p.Servers, server)
			}
		}
		if len(p.Servers) == before && len(left) > 0 {
			return nil, nil, fmt.Errorf("no pod of %s/%s is Running and Ready: %s", s.Namespace, s.Labels, strings.Join(left, "; "))
		}
	}
	return p, left, nil
}

// newServer returns the server in the pods of a group, or the reasons why it is left out.
func newServer(pods []*member, port int, container string) (s *Server, left []string, err error) {
	for _, m := range pods {
		if why := m.unready(); why != "" {
			left = append(left, m.String()+" "+why)
		}
	}
	if left != nil {
		for _, m := range pods {
			if m.unready() == "" {
				left = append(left, m.String()+" belongs to the same group")
			}
		}
		return nil, left, nil
	}
	index := func(m *member) int {
		n, err := strconv.Atoi(m.Metadata.Labels[lwsWorker])
		if err != nil {
			return 0 // a pod of no group
		}
		return n
	}
	sorts.Stable(pods, func(a, b *member) int { return cmp.Compare(index(a), index(b)) })
	if lead := pods[0]; index(lead) != 0 {
		return nil, []string{fmt.Sprintf("%s has no worker 0 in its group", lead)}, nil
	}
	s = &Server{Name: pods[0].Metadata.Name, Role: pods[0].role(), pods: pods}
	for i, m := range pods {
		n, err := m.choose(container, port, i == 0)
		if err != nil {
			return nil, nil, err
		}
		if i == 0 {
			s.port = n
		}
	}
	s.URL = "http://" + s.host() + ":" + strconv.Itoa(s.port)
	return s, nil, nil
}

func (s *Server) host() string {
	return s.pods[0].Metadata.Name + "." + s.pods[0].Metadata.Namespace
}

// choose sets the container and returns the port of its server: that of the port called http, else 30000 or 8000. The
// container is the one called name, else that of the annotation kubectl.kubernetes.io/default-container, else the one
// with the port, else the first. If the pod needs no port, choose does not look for one.
func (m *member) choose(name string, port int, needs bool) (int, error) {
	all := m.Spec.Containers
	if name = cmp.Or(name, m.Metadata.Annotations["kubectl.kubernetes.io/default-container"]); name != "" {
		i := slices.IndexFunc(all, func(c container) bool { return c.Name == name })
		if i < 0 {
			return 0, fmt.Errorf("pod %s has no container %q: %s", m, name, strings.Join(names(all), ", "))
		}
		all = all[i : i+1]
	}
	if len(all) == 0 {
		return 0, fmt.Errorf("pod %s has no container", m)
	}
	m.container = all[0].Name
	found, best, has := port, 0, []string(nil)
	for _, c := range all {
		for _, p := range c.Ports {
			if p.Protocol != "" && p.Protocol != "TCP" {
				continue
			}
			has = append(has, strings.TrimPrefix(fmt.Sprintf("%s=%d", p.Name, p.ContainerPort), "="))
			if rank := rankOf(p.Name, p.ContainerPort, port); rank > best {
				best, found, m.container = rank, p.ContainerPort, c.Name
			}
		}
	}
	m.begin(m.pod)
	if found == 0 && needs {
		return 0, fmt.Errorf("pod %s: none of its ports (%s) is called http or is 30000 or 8000: add the server's port to the selector, as :PORT", m, cmp.Or(strings.Join(has, ", "), "it declares none"))
	}
	return found, nil
}

// rankOf ranks a port of a container, if the user gave a port or 0. 0: it is not the server's.
func rankOf(name string, n, given int) int {
	switch {
	case given != 0:
		if n == given {
			return 1
		}
	case name == "http":
		return 3
	case n == 30000:
		return 2
	case n == 8000:
		return 1
	}
	return 0
}

func names(all []container) (out []string) {
	for _, c := range all {
		out = append(out, c.Name)
	}
	return out
}
