package kube

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite kubectl.json of testdata with kubectl")

// view is the output of kubectl config view --raw -o json.
type view struct {
	Clusters []struct {
		Name    string
		Cluster struct {
			Server   string
			Name     string `json:"tls-server-name"`
			Insecure bool   `json:"insecure-skip-tls-verify"`
			CA       []byte `json:"certificate-authority-data"`
			CAFile   string `json:"certificate-authority"`
			Proxy    string `json:"proxy-url"`
		}
	}
	Users []struct {
		Name string
		User struct {
			Token     string
			TokenFile string
			Username  string
			Password  string
			Cert      []byte   `json:"client-certificate-data"`
			Key       []byte   `json:"client-key-data"`
			CertFile  string   `json:"client-certificate"`
			KeyFile   string   `json:"client-key"`
			As        string   `json:"as"`
			AsGroups  []string `json:"as-groups"`
			Exec      *struct {
				APIVersion, Command, InstallHint, InteractiveMode string
				Args                                              []string
				Env                                               []struct{ Name, Value string }
				ProvideClusterInfo                                bool
			}
		}
	}
	Contexts []struct {
		Name    string
		Context struct{ Cluster, User, Namespace string }
	}
	Current string `json:"current-context"`
}

// config returns a context of kubectl's output. Paths in it are relative to dir.
func (v *view) config(name, dir string) *Config {
	path := func(p string) string {
		if p == "" || filepath.IsAbs(p) {
			return p
		}
		return filepath.Join(dir, p)
	}
	c := &Config{Name: name}
	var cluster, user string
	for _, x := range v.Contexts {
		if x.Name == name {
			c.Namespace, cluster, user = x.Context.Namespace, x.Context.Cluster, x.Context.User
		}
	}
	for _, x := range v.Clusters {
		if y := x.Cluster; x.Name == cluster {
			c.Cluster = Cluster{y.Server, y.Name, y.Insecure, y.CA, path(y.CAFile), y.Proxy}
		}
	}
	for _, x := range v.Users {
		if x.Name != user {
			continue
		}
		y := x.User
		c.User = User{y.Token, path(y.TokenFile), y.Username, y.Password, y.Cert, y.Key, path(y.CertFile), path(y.KeyFile), y.As, y.AsGroups, nil}
		if p := y.Exec; p != nil {
			c.User.Exec = &Plugin{APIVersion: p.APIVersion, Command: p.Command, Hint: p.InstallHint, Args: p.Args, ClusterInfo: p.ProvideClusterInfo, Always: p.InteractiveMode == "Always"}
			if strings.Contains(p.Command, "/") {
				c.User.Exec.Command = path(p.Command)
			}
			for _, e := range p.Env {
				c.User.Exec.Env = append(c.User.Exec.Env, e.Name+"="+e.Value)
			}
		}
	}
	return c
}

// TestConfig reads kubeconfig files as kubectl does. kubectl.json is kubectl's output; if kubectl is installed, it is
// made again.
func TestConfig(t *testing.T) {
	kubectl, missing := exec.LookPath("kubectl")
	here, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for dir, names := range map[string][]string{"one": {"config"}, "merged": {"absent", "first", "second"}, "json": {"config"}} {
		var files []string
		for _, f := range names {
			files = append(files, filepath.Join(here, dir, f))
		}
		golden := filepath.Join("testdata", dir, "kubectl.json")
		text, err := os.ReadFile(golden)
		if missing == nil {
			cmd := exec.Command(kubectl, "config", "view", "--raw", "-o", "json")
			cmd.Env = append(os.Environ(), "KUBECONFIG="+strings.Join(files, string(filepath.ListSeparator)))
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v", dir, err)
			}
			if *update {
				if err := os.WriteFile(golden, out, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			text = out
		}
		if err != nil && !*update {
			t.Fatal(err)
		}
		var want view
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		t.Setenv("KUBECONFIG", strings.Join(files, string(filepath.ListSeparator)))
		if current, err := Load(""); err != nil || current.Name != want.Current {
			t.Errorf("%s: the current context is %+v, %v, want %s", dir, current, err, want.Current)
		}
		for _, c := range want.Contexts {
			want := want.config(c.Name, filepath.Join(here, dir))
			if got, err := Load(c.Name); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, context %s: %v\ngot  %+v\nwant %+v", dir, c.Name, err, got, want)
			}
		}
	}
	if missing != nil {
		t.Log("kubectl is not installed: compared with its stored output")
	}
}

// TestConfigErrors checks the errors of kubeconfig files, which name the place.
func TestConfigErrors(t *testing.T) {
	const clusters = "clusters: [{name: c, cluster: {server: https://x}}]\n"
	for _, c := range []struct{ text, want string }{
		{"", "no current context"},
		{"current-context: a", `no context "a"`},
		{"contexts: [{context: {}}]", "config:1: an entry of contexts has no name"},
		{"a: [", "config:1:"},
		{"current-context: a\ncontexts: [{name: a, context: {cluster: x}}]", `config:2: context "a" has the cluster "x", which does not exist`},
		{clusters + "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]", `has the user "u", which does not exist`},
		{clusters + "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {auth-provider: {name: gcp}}}]", "config:4: auth-provider is not supported"},
		{clusters + "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {client-key-data: '%'}}]", "client-key-data is not base64"},
		{clusters + "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {exec: {command: x, apiVersion: v1}}}]", `apiVersion "v1": only`},
	} {
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("KUBECONFIG", file)
		if got, err := Load(""); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %+v, %v, want %s", c.text, got, err, c.want)
		}
	}
}

// TestInCluster reads the service account of a pod.
func TestInCluster(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "6443")
	if _, err := inCluster(dir); err == nil || !strings.Contains(err.Error(), "no service account") {
		t.Errorf("without an account: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "namespace"), []byte("serving\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := inCluster(dir)
	if err != nil || c.Cluster.Server != "https://[fd00::1]:6443" || c.Namespace != "serving" || c.User.TokenFile != filepath.Join(dir, "token") || c.Cluster.CAFile != filepath.Join(dir, "ca.crt") {
		t.Errorf("%+v, %v", c, err)
	}
}

// FuzzConfig: no kubeconfig causes a crash, and every error is one line.
func FuzzConfig(f *testing.F) {
	for _, name := range []string{"one/config", "merged/second", "json/config"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m := &merged{contexts: map[string]*entry{}, clusters: map[string]*entry{}, users: map[string]*entry{}}
		if err := m.add("file", text); err != nil {
			return
		}
		for name := range m.contexts {
			if c, err := m.context(name); err == nil && c == nil {
				t.Errorf("%q: neither a context nor an error", text)
			}
		}
	})
}
