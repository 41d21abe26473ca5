package cli

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/capture/collect"
	"github.com/stepscope/stepscope/internal/capture/torch"
)

// profiledFlags select the running servers to record.
type profiledFlags struct {
	URL          []string `name:"url" sep:"none" placeholder:"URL" help:"A server (SGLang or vLLM), or NAME=URL; repeat it for several (default http://localhost:30000). For a router: all servers behind it, by their roles."`
	PrefillURL   []string `name:"prefill-url" sep:"none" placeholder:"URL" help:"A prefill server; repeat it for several."`
	DecodeURL    []string `name:"decode-url" sep:"none" placeholder:"URL" help:"A decode server; repeat it for several."`
	APIKey       string   `name:"api-key" env:"STEPSCOPE_API_KEY" placeholder:"KEY" help:"Key sent as a bearer token."`
	APIKeyFile   string   `name:"api-key-file" into:"api-key" placeholder:"FILE" help:"File that holds only the server's key, for --api-key."`
	AdminKey     string   `name:"admin-api-key" env:"STEPSCOPE_ADMIN_API_KEY" placeholder:"KEY" help:"Key for the profile routes, if a server has a separate one."`
	AdminKeyFile string   `name:"admin-api-key-file" into:"admin-api-key" placeholder:"FILE" help:"File that holds only that key."`
	Header       []string `name:"header" sep:"none" placeholder:"NAME=VALUE" help:"Header sent with each request."`
}

// header returns the header fields that are sent with each request.
func (c *profiledFlags) header() (http.Header, error) {
	h := http.Header{}
	if c.APIKey != "" {
		h.Set("Authorization", "Bearer "+c.APIKey)
	}
	for _, pair := range c.Header {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" || strings.ContainsAny(pair, "\r\n") {
			return nil, fmt.Errorf("--header %q: give NAME=VALUE", pair)
		}
		h.Set(name, value)
	}
	return h, nil
}

// targetName matches a name that precedes a URL, as in pod-0=http://10.0.0.7:30000.
var targetName = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)=(https?://.*)$`)

// targets returns the servers that the flags select.
func (c *profiledFlags) targets() (out []torch.Target, err error) {
	header, err := c.header()
	if err != nil {
		return nil, err
	}
	urls := c.URL
	if len(c.URL)+len(c.PrefillURL)+len(c.DecodeURL) == 0 {
		urls = []string{"http://localhost:30000"}
	}
	for _, group := range []struct {
		role string
		urls []string
	}{{"", urls}, {api.Prefill, c.PrefillURL}, {api.Decode, c.DecodeURL}} {
		for _, url := range group.urls {
			t := torch.Target{URL: url, Role: group.role, Header: header, AdminKey: c.AdminKey}
			if m := targetName.FindStringSubmatch(url); m != nil {
				t.Name, t.URL = m[1], m[2]
			}
			out = append(out, t)
		}
	}
	return out, torch.CheckTargets(out)
}

// fetchFlags define how the files of servers are copied to this machine.
type fetchFlags struct {
	Fetch     string `placeholder:"CMD" help:"Command that prints a server's file {path}, as 'ssh {host} cat {path}'. No shell runs it."`
	FetchList string `name:"fetch-list" placeholder:"CMD" needs:"fetch" help:"Command that lists {dir}; default: that of --fetch with ls -ln."`
}

// template returns the command of --fetch, or nil if the flag is not given.
func (f *fetchFlags) template() (*collect.Template, error) {
	if f.Fetch == "" {
		return nil, nil
	}
	t, err := collect.ParseTemplate(f.Fetch, f.FetchList)
	if err != nil {
		return nil, fmt.Errorf("--fetch: %w", err)
	}
	return t, nil
}
