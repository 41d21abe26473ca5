// Package fakekube is an API server of Kubernetes for tests. It lists pods, prints their logs, runs commands in them and
// forwards connections to them. kubectl accepts it.
//
// A pod is a process of this host. Its commands run beside it, in the same directory. If the host allows it, the pod
// has the directory Mount to itself, so that its files are visible to no other process.
package fakekube

import (
	"cmp"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Token is the bearer token of all requests.
const Token = "fake-token"

// Mount is the directory that each pod has to itself.
const Mount = "/mnt"

// Cluster is an API server and its pods.
type Cluster struct {
	*httptest.Server
	// Kubelet, if not nil, answers streams of other protocols than Protocols. Without it, they are refused.
	Kubelet func(w http.ResponseWriter, r *http.Request, p *Pod)
	// Protocols are the websocket protocols that the API server answers itself, the preferred one first.
	Protocols []string

	mu       sync.Mutex
	denied   string
	pods     map[string]*Pod // by NAMESPACE/NAME
	commands []string        // that were run, POD: COMMAND
	rights   map[string]bool // that were used
	forwards int
	uids     int
}

// Pod is a pod.
type Pod struct {
	Name, Namespace, IP string
	Labels              map[string]string
	Container           string         // default: server
	Ports               map[string]int // of the container, by name
	Addr                string         // HOST:PORT to which every port of the pod leads
	Dir                 string         // working directory of commands
	PID                 int            // process whose mounts commands see; 0: those of this process
	Log                 func() string
	Phase               string // default: Running
	NotReady            bool
	restarts            int
	uid                 string
	gone                chan struct{} // closed when the pod's streams end
}

// New starts an API server that ends with the test.
func New(t testing.TB) *Cluster {
	c := &Cluster{pods: map[string]*Pod{}, rights: map[string]bool{}, Protocols: []string{"v5.channel.k8s.io", "v4.channel.k8s.io"}}
	c.Server = httptest.NewTLSServer(c.routes())
	t.Cleanup(c.Server.Close)
	return c
}

// Add adds a pod.
func (c *Cluster) Add(p *Pod) *Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uids++
	p.uid, p.gone = "uid-"+strconv.Itoa(c.uids), make(chan struct{})
	p.Namespace, p.Container, p.Phase = cmp.Or(p.Namespace, "default"), cmp.Or(p.Container, "server"), cmp.Or(p.Phase, "Running")
	c.pods[p.Namespace+"/"+p.Name] = p
	return p
}

// Delete deletes a pod and ends its streams.
func (c *Cluster) Delete(p *Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pods, p.Namespace+"/"+p.Name)
	close(p.gone)
}

// Restart counts a restart of a pod's container, which had too little memory.
func (c *Cluster) Restart(p *Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.restarts++
	close(p.gone)
	p.gone = make(chan struct{})
}

// Deny takes the right to a resource, such as pods/exec, from the user. All others are granted.
func (c *Cluster) Deny(resource string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denied = resource
}

// Commands returns the commands that were run, as POD: COMMAND.
func (c *Cluster) Commands() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.commands)
}

// Rights returns the rights that requests needed, as VERB RESOURCE.
func (c *Cluster) Rights() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.rights)
}

// Forwards returns the number of connections that were forwarded.
func (c *Cluster) Forwards() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.forwards
}

// CA returns the certificate of the API server as PEM.
func (c *Cluster) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw})
}

// Kubeconfig writes a kubeconfig file to dir and returns its path.
func (c *Cluster) Kubeconfig(t testing.TB, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "kubeconfig")
	ca := filepath.Join(dir, "ca.pem")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
contexts:
- name: test
  context: {cluster: test, user: test, namespace: default}
clusters:
- name: test
  cluster: {server: %q, certificate-authority: ca.pem}
users:
- name: test
  user: {token: %s}
`, c.URL, Token)
	for file, data := range map[string][]byte{path: []byte(text), ca: c.CA()} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// Isolated returns the command line that gives a command the directory dir as Mount, and whether this host allows it.
func Isolated(dir string) (prefix []string, ok bool) {
	prefix = []string{"unshare", "-m", "sh", "-c", `mount --bind "$0" ` + Mount + ` && exec "$@"`, dir}
	line := append(slices.Clone(prefix), "true")
	return prefix, exec.Command(line[0], line[1:]...).Run() == nil
}

func (c *Cluster) routes() http.Handler {
	mux := http.NewServeMux()
	object := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, v) }
	}
	mux.HandleFunc("GET /version", object(map[string]string{"major": "1", "minor": "36", "gitVersion": "v1.36.3"}))
	mux.HandleFunc("GET /api", object(map[string]any{"kind": "APIVersions", "versions": []string{"v1"}}))
	mux.HandleFunc("GET /apis", object(map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []string{}}))
	resources := []any{}
	for name, verbs := range map[string][]string{"pods": {"get", "list", "watch"}, "pods/log": {"get"}, "pods/exec": {"get", "create"}, "pods/portforward": {"get", "create"}} {
		resources = append(resources, map[string]any{"name": name, "singularName": "", "namespaced": true, "kind": "Pod", "verbs": verbs})
	}
	mux.HandleFunc("GET /api/v1", object(map[string]any{"kind": "APIResourceList", "groupVersion": "v1", "resources": resources}))
	const pods = "/api/v1/namespaces/{namespace}/pods"
	mux.HandleFunc("GET "+pods, c.list)
	mux.HandleFunc("GET "+pods+"/{name}", c.pod("pods", func(w http.ResponseWriter, _ *http.Request, p *Pod) {
		c.mu.Lock()
		defer c.mu.Unlock()
		reply(w, http.StatusOK, p.object())
	}))
	mux.HandleFunc("GET "+pods+"/{name}/log", c.pod("pods/log", func(w http.ResponseWriter, _ *http.Request, p *Pod) {
		fmt.Fprint(w, p.Log())
	}))
	for _, method := range []string{"GET ", "POST "} {
		mux.HandleFunc(method+pods+"/{name}/exec", c.pod("pods/exec", c.stream(c.exec)))
		mux.HandleFunc(method+pods+"/{name}/portforward", c.pod("pods/portforward", c.stream(c.forward)))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource: "+r.URL.Path)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+Token {
			refuse(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

// refuse answers with a Status object.
func refuse(w http.ResponseWriter, status int, reason, message string) {
	reply(w, status, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": status})
}

// pod returns the handler of a resource of a pod.
func (c *Cluster) pod(resource string, do func(http.ResponseWriter, *http.Request, *Pod)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		c.mu.Lock()
		verb := "get"
		if r.Method == http.MethodPost {
			verb = "create"
		}
		c.rights[verb+" "+resource] = true
		p, denied := c.pods[r.PathValue("namespace")+"/"+name], c.denied == resource
		c.mu.Unlock()
		switch {
		case denied:
			refuse(w, http.StatusForbidden, "Forbidden", fmt.Sprintf("pods %q is forbidden: User \"test\" cannot get resource %q", name, resource))
		case p == nil:
			refuse(w, http.StatusNotFound, "NotFound", fmt.Sprintf("pods %q not found", name))
		default:
			do(w, r, p)
		}
	}
}

// list lists pods, at most two on a page.
func (c *Cluster) list(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rights["list pods"] = true
	if c.denied == "pods" {
		refuse(w, http.StatusForbidden, "Forbidden", `pods is forbidden: User "test" cannot list resource "pods"`)
		return
	}
	var items []any
	for _, key := range slices.Sorted(maps.Keys(c.pods)) {
		p := c.pods[key]
		if p.Namespace == r.PathValue("namespace") && p.selected(r.FormValue("labelSelector"), r.FormValue("fieldSelector")) {
			items = append(items, p.object())
		}
	}
	const page = 2
	from, _ := strconv.Atoi(r.FormValue("continue"))
	meta := map[string]string{"resourceVersion": "1"}
	to := len(items)
	if to > from+page && r.FormValue("limit") != "" {
		to = from + page
		meta["continue"] = strconv.Itoa(to)
	}
	reply(w, http.StatusOK, map[string]any{"kind": "PodList", "apiVersion": "v1", "metadata": meta, "items": append([]any{}, items[from:to]...)})
}

// selected reports whether selectors of the form KEY=VALUE,… select the pod.
func (p *Pod) selected(labels, fields string) bool {
	for _, of := range []struct {
		selector string
		values   map[string]string
	}{{labels, p.Labels}, {fields, map[string]string{"status.podIP": p.IP, "status.phase": p.Phase}}} {
		for term := range strings.SplitSeq(of.selector, ",") {
			if key, value, _ := strings.Cut(term, "="); term != "" && of.values[key] != value {
				return false
			}
		}
	}
	return true
}

// object returns the Pod object.
func (p *Pod) object() map[string]any {
	var ports []any
	for _, name := range slices.Sorted(maps.Keys(p.Ports)) {
		ports = append(ports, map[string]any{"name": name, "containerPort": p.Ports[name], "protocol": "TCP"})
	}
	ready := "True"
	if p.NotReady || p.Phase != "Running" {
		ready = "False"
	}
	status := map[string]any{"name": p.Container, "ready": ready == "True", "restartCount": p.restarts, "state": map[string]any{"running": map[string]any{}}}
	if p.restarts > 0 {
		status["lastState"] = map[string]any{"terminated": map[string]any{"reason": "OOMKilled", "exitCode": 137}}
	}
	return map[string]any{
		"kind": "Pod", "apiVersion": "v1",
		"metadata": map[string]any{"name": p.Name, "namespace": p.Namespace, "uid": p.uid, "labels": p.Labels},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": p.Container, "ports": ports}}},
		"status": map[string]any{
			"phase": p.Phase, "podIP": p.IP, "conditions": []any{map[string]any{"type": "Ready", "status": ready}}, "containerStatuses": []any{status},
		},
	}
}
