package kube

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// execGroup is the API group of exec plugins, with a slash.
const execGroup = "client.authentication.k8s.io/"

const (
	pluginLimit = 2 * time.Minute  // for one run of an exec plugin
	renewBefore = 10 * time.Second // before credentials expire
)

// auth authenticates requests to an API server.
type auth struct {
	user    *User
	cluster *Cluster

	mu   sync.Mutex
	held *credential // of the exec plugin; nil: none yet
}

// credential is the status of an ExecCredential.
type credential struct {
	Token   string     `json:"token"`
	Cert    string     `json:"clientCertificateData"`
	Key     string     `json:"clientKeyData"`
	Expires *time.Time `json:"expirationTimestamp"`
}

// transport returns a transport of HTTP/1.1, which websockets need.
func (a *auth) transport() (*http.Transport, error) {
	c := a.cluster
	proxy := http.ProxyFromEnvironment
	if c.ProxyURL != "" {
		u, err := url.Parse(c.ProxyURL)
		if err != nil || u.Host == "" {
			return nil, errors.New("proxy-url is not a URL")
		}
		proxy = http.ProxyURL(u)
	}
	secure := &tls.Config{ServerName: c.TLSServerName, InsecureSkipVerify: c.Insecure, NextProtos: []string{"http/1.1"}, GetClientCertificate: a.certificate}
	ca, err := pemOf(c.CA, c.CAFile)
	if err != nil {
		return nil, err
	}
	if ca != nil {
		secure.RootCAs = x509.NewCertPool()
		if !secure.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("the certificate authority of the cluster is not PEM")
		}
	}
	return &http.Transport{
		Proxy: proxy, TLSClientConfig: secure, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: answerLimit,
		IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 1 << 20,
	}, nil
}

// pemOf returns data, or the content of file if there is no data.
func pemOf(data []byte, file string) ([]byte, error) {
	if data != nil || file == "" {
		return data, nil
	}
	return os.ReadFile(file)
}

// certificate returns the client's certificate, or an empty one.
func (a *auth) certificate(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	cert, err := pemOf(a.user.Cert, a.user.CertFile)
	if err != nil {
		return nil, err
	}
	key, err := pemOf(a.user.Key, a.user.KeyFile)
	if err != nil {
		return nil, err
	}
	if a.user.Exec != nil {
		c, err := a.credential(info.Context())
		if err != nil {
			return nil, err
		}
		cert, key = []byte(c.Cert), []byte(c.Key)
	}
	if len(cert) == 0 {
		return &tls.Certificate{}, nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	return &pair, err
}

// sign adds the user's credentials to the header of a request.
func (a *auth) sign(ctx context.Context, h http.Header) error {
	u := a.user
	token := u.Token
	switch {
	case u.TokenFile != "":
		text, err := os.ReadFile(u.TokenFile)
		if err != nil {
			return fmt.Errorf("the token of the kubeconfig's user: %w", err)
		}
		token = strings.TrimSpace(string(text))
	case u.Exec != nil:
		c, err := a.credential(ctx)
		if err != nil {
			return err
		}
		token = cmp.Or(c.Token, token)
	}
	switch {
	case token != "":
		h.Set("Authorization", "Bearer "+token)
	case u.Name != "":
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Name+":"+u.Password)))
	}
	if u.As != "" {
		h.Set("Impersonate-User", u.As)
	}
	for _, g := range u.AsGroups {
		h.Add("Impersonate-Group", g)
	}
	return nil
}

// renew forgets the credentials of an exec plugin. It reports whether there were any.
func (a *auth) renew() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	had := a.held != nil
	a.held = nil
	return had
}

// credential returns the credentials of the exec plugin. It runs the plugin again when they expire.
func (a *auth) credential(ctx context.Context) (*credential, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.held; c != nil && (c.Expires == nil || time.Until(*c.Expires) > renewBefore) {
		return c, nil
	}
	c, err := a.user.Exec.run(ctx, a.cluster)
	if err != nil {
		return nil, err
	}
	a.held = c
	return c, nil
}

// run runs the plugin and parses its output.
func (p *Plugin) run(ctx context.Context, c *Cluster) (*credential, error) {
	if p.Always {
		return nil, fmt.Errorf("the kubeconfig's plugin %s needs a terminal (interactiveMode Always), which stepscope does not give it", p.Command)
	}
	ctx, cancel := context.WithTimeout(ctx, pluginLimit)
	defer cancel()
	info, err := p.info(c)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, p.Command, p.Args...)
	cmd.Env = append(append(os.Environ(), p.Env...), "KUBERNETES_EXEC_INFO="+info)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = limited(&out), limited(&errs), time.Second
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(errs.String())
		if errors.Is(err, exec.ErrNotFound) && p.Hint != "" {
			said = p.Hint
		}
		return nil, fmt.Errorf("the kubeconfig's plugin %s: %w: %s", p.Command, err, strings.Join(strings.Fields(said), " "))
	}
	var reply struct {
		APIVersion string
		Kind       string
		Status     *credential
	}
	if err := json.Unmarshal(out.Bytes(), &reply); err != nil || reply.Kind != "ExecCredential" || reply.Status == nil {
		return nil, fmt.Errorf("the kubeconfig's plugin %s: its output is no ExecCredential with a status", p.Command)
	}
	switch s := reply.Status; {
	case reply.APIVersion != p.APIVersion:
		return nil, fmt.Errorf("the kubeconfig's plugin %s: answers with %s, not with %s", p.Command, reply.APIVersion, p.APIVersion)
	case s.Token == "" && s.Cert == "", (s.Cert == "") != (s.Key == ""):
		return nil, fmt.Errorf("the kubeconfig's plugin %s: supplies neither a token nor a certificate with its key", p.Command)
	}
	return reply.Status, nil
}

// info returns the value of KUBERNETES_EXEC_INFO.
func (p *Plugin) info(c *Cluster) (string, error) {
	spec := map[string]any{"interactive": false}
	if p.ClusterInfo {
		ca, err := pemOf(c.CA, c.CAFile)
		if err != nil {
			return "", err
		}
		cluster := map[string]any{"server": c.Server}
		for name, v := range map[string]string{"tls-server-name": c.TLSServerName, "proxy-url": c.ProxyURL, "certificate-authority-data": base64.StdEncoding.EncodeToString(ca)} {
			if v != "" {
				cluster[name] = v
			}
		}
		if c.Insecure {
			cluster["insecure-skip-tls-verify"] = true
		}
		spec["cluster"] = cluster
	}
	text, err := json.Marshal(map[string]any{"apiVersion": p.APIVersion, "kind": "ExecCredential", "spec": spec})
	return string(text), err
}

// mostOutput limits the output of a plugin, bytes.
const mostOutput = 1 << 20

// limitedWriter discards what exceeds mostOutput.
type limitedWriter struct{ b *bytes.Buffer }

func limited(b *bytes.Buffer) io.Writer { return limitedWriter{b} }

func (l limitedWriter) Write(p []byte) (int, error) {
	l.b.Write(p[:min(len(p), mostOutput-l.b.Len())])
	return len(p), nil
}
