package kube

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/internal/base/yamltree"
)

// Config is a context of a kubeconfig, with its cluster and user.
type Config struct {
	Name, Namespace string
	Cluster         Cluster
	User            User
}

// Cluster is a cluster of a kubeconfig.
type Cluster struct {
	Server        string
	TLSServerName string // name in the certificate, if it is not that of Server
	Insecure      bool   // do not verify the certificate
	CA            []byte // PEM; nil: those of the system
	CAFile        string
	ProxyURL      string
}

// User is a user of a kubeconfig.
type User struct {
	Token, TokenFile  string // the file is read again, because tokens in it are renewed
	Name, Password    string // basic authentication
	Cert, Key         []byte // PEM
	CertFile, KeyFile string
	As                string // user to impersonate
	AsGroups          []string
	Exec              *Plugin // program that supplies credentials
}

// Plugin is the command of an exec plugin (client.authentication.k8s.io).
type Plugin struct {
	APIVersion, Command, Hint string
	Args                      []string
	Env                       []string // NAME=VALUE
	ClusterInfo               bool     // whether the command receives the cluster
	Always                    bool     // whether the command needs a terminal
}

// mount is the directory of a pod's own credentials.
const mount = "/var/run/secrets/kubernetes.io/serviceaccount"

// Load returns the context called name, or the current one if name is "". It reads the files of KUBECONFIG, else
// ~/.kube/config. If neither exists and this process runs in a pod, it uses the pod's service account.
func Load(name string) (*Config, error) {
	var files []string
	for _, f := range filepath.SplitList(os.Getenv("KUBECONFIG")) {
		if f != "" {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		home, err := os.UserHomeDir()
		if err == nil {
			files = []string{filepath.Join(home, ".kube", "config")}
		}
	}
	all, err := read(files)
	if err != nil {
		return nil, err
	}
	if len(all.contexts) == 0 && name == "" && os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return inCluster(mount)
	}
	return all.context(name)
}

// inCluster returns the context of the pod in which this process runs.
func inCluster(dir string) (*Config, error) {
	namespace, err := os.ReadFile(filepath.Join(dir, "namespace"))
	if err != nil {
		return nil, fmt.Errorf("this pod has no service account, and there is no kubeconfig: %w", err)
	}
	host := os.Getenv("KUBERNETES_SERVICE_HOST")
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return &Config{
		Name: "in this cluster", Namespace: strings.TrimSpace(string(namespace)),
		Cluster: Cluster{Server: "https://" + host + ":" + cmp.Or(os.Getenv("KUBERNETES_SERVICE_PORT"), "443"), CAFile: filepath.Join(dir, "ca.crt")},
		User:    User{TokenFile: filepath.Join(dir, "token")},
	}, nil
}

// merged holds the entries of several kubeconfig files. Of entries with the same name, that of the first file counts.
type merged struct {
	files    []string
	current  string
	contexts map[string]*entry
	clusters map[string]*entry
	users    map[string]*entry
}

// entry is a named entry of a kubeconfig file.
type entry struct {
	fields map[string]*yamltree.Node
	dir    string // of the file; relative paths begin there
	place  string // FILE:LINE, for errors
}

// read reads and merges files. It skips files that do not exist.
func read(files []string) (*merged, error) {
	m := &merged{files: files, contexts: map[string]*entry{}, clusters: map[string]*entry{}, users: map[string]*entry{}}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = m.add(file, text)
		}
		if err != nil {
			return nil, fmt.Errorf("kubeconfig %w", err)
		}
	}
	return m, nil
}

// add adds the entries of a file.
func (m *merged) add(file string, text []byte) error {
	tree, problems := yamltree.Parse(text)
	if len(problems) > 0 {
		return fmt.Errorf("%s:%w", file, problems[0])
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	fields := fieldsOf(tree)
	m.current = cmp.Or(m.current, textOf(fields["current-context"]))
	for _, kind := range []struct {
		list, field string
		into        map[string]*entry
	}{{"contexts", "context", m.contexts}, {"clusters", "cluster", m.clusters}, {"users", "user", m.users}} {
		list := fields[kind.list]
		if list == nil {
			continue
		}
		for _, item := range list.Items {
			named := fieldsOf(item)
			name := textOf(named["name"])
			if name == "" {
				return fmt.Errorf("%s:%d: an entry of %s has no name", file, item.Line, kind.list)
			}
			if kind.into[name] == nil {
				kind.into[name] = &entry{fieldsOf(named[kind.field]), filepath.Dir(file), fmt.Sprintf("%s:%d", file, item.Line)}
			}
		}
	}
	return nil
}

// fieldsOf returns the entries of a map. Other nodes have none.
func fieldsOf(n *yamltree.Node) map[string]*yamltree.Node {
	out := map[string]*yamltree.Node{}
	if n != nil {
		for _, e := range n.Entries {
			out[e.Key] = e.Value
		}
	}
	return out
}

// textOf returns the text of a scalar as it is written.
func textOf(n *yamltree.Node) string {
	if n == nil || n.Kind == yamltree.Null {
		return ""
	}
	return n.Source
}

func (e *entry) text(name string) string { return textOf(e.fields[name]) }

func (e *entry) texts(name string) (out []string) {
	if n := e.fields[name]; n != nil {
		for _, item := range n.Items {
			out = append(out, textOf(item))
		}
	}
	return out
}

func (e *entry) is(name string) bool {
	n := e.fields[name]
	return n != nil && n.Bool
}

// path returns a path, which is relative to the directory of the file.
func (e *entry) path(name string) string {
	p := e.text(name)
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(e.dir, p)
}

// data returns the value of a field in base64.
func (e *entry) data(name string) ([]byte, error) {
	text := strings.Join(strings.Fields(e.text(name)), "")
	if text == "" {
		return nil, nil
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %s is not base64", e.place, name)
	}
	return data, nil
}

// context returns a context with its cluster and user.
func (m *merged) context(name string) (*Config, error) {
	if name = cmp.Or(name, m.current); name == "" {
		return nil, fmt.Errorf("no current context in %s: give --context, or set KUBECONFIG", strings.Join(m.files, ", "))
	}
	c := m.contexts[name]
	if c == nil {
		return nil, fmt.Errorf("no context %q in %s: kubectl config get-contexts lists them", name, strings.Join(m.files, ", "))
	}
	out := &Config{Name: name, Namespace: c.text("namespace")}
	cluster := m.clusters[c.text("cluster")]
	if cluster == nil {
		return nil, fmt.Errorf("kubeconfig %s: context %q has the cluster %q, which does not exist", c.place, name, c.text("cluster"))
	}
	err := cluster.cluster(&out.Cluster)
	if user := c.text("user"); err == nil && user != "" {
		u := m.users[user]
		if u == nil {
			return nil, fmt.Errorf("kubeconfig %s: context %q has the user %q, which does not exist", c.place, name, user)
		}
		err = u.user(&out.User)
	}
	return out, err
}

func (e *entry) cluster(c *Cluster) (err error) {
	*c = Cluster{
		Server: e.text("server"), TLSServerName: e.text("tls-server-name"), Insecure: e.is("insecure-skip-tls-verify"),
		CAFile: e.path("certificate-authority"), ProxyURL: e.text("proxy-url"),
	}
	c.CA, err = e.data("certificate-authority-data")
	return err
}

func (e *entry) user(u *User) (err error) {
	*u = User{
		Token: e.text("token"), TokenFile: e.path("tokenFile"), Name: e.text("username"), Password: e.text("password"),
		CertFile: e.path("client-certificate"), KeyFile: e.path("client-key"), As: e.text("as"), AsGroups: e.texts("as-groups"),
	}
	if u.Cert, err = e.data("client-certificate-data"); err != nil {
		return err
	}
	if u.Key, err = e.data("client-key-data"); err != nil {
		return err
	}
	for _, name := range []string{"auth-provider", "as-uid", "as-user-extra"} {
		if e.fields[name] != nil {
			return fmt.Errorf("kubeconfig %s: %s is not supported: use a token, a certificate or an exec plugin", e.place, name)
		}
	}
	if n := e.fields["exec"]; n != nil && n.Kind == yamltree.Map {
		u.Exec, err = (&entry{fieldsOf(n), e.dir, fmt.Sprintf("%s, exec in line %d", e.place, n.Line)}).plugin()
	}
	return err
}

func (e *entry) plugin() (*Plugin, error) {
	p := &Plugin{
		APIVersion: e.text("apiVersion"), Command: e.text("command"), Hint: e.text("installHint"), Args: e.texts("args"),
		ClusterInfo: e.is("provideClusterInfo"), Always: e.text("interactiveMode") == "Always",
	}
	if p.Command == "" {
		return nil, fmt.Errorf("kubeconfig %s: no command", e.place)
	}
	if strings.ContainsRune(p.Command, filepath.Separator) {
		p.Command = e.path("command")
	}
	if p.APIVersion != execGroup+"v1" && p.APIVersion != execGroup+"v1beta1" {
		return nil, fmt.Errorf("kubeconfig %s: apiVersion %q: only %sv1 and v1beta1 are supported", e.place, p.APIVersion, execGroup)
	}
	if env := e.fields["env"]; env != nil {
		for _, item := range env.Items {
			pair := fieldsOf(item)
			p.Env = append(p.Env, textOf(pair["name"])+"="+textOf(pair["value"]))
		}
	}
	return p, nil
}
