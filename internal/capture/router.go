package capture

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// worker is a server behind a router, as far as the router tells.
type worker struct{ url, role string }

// isRouter is the error of a router: it has no profile routes (section 7.6 of the
// contract), its workers have.
func (m *member) isRouter(workers []worker) error {
	var flags []string
	for _, w := range workers {
		flag := "--url"
		if w.role != "" {
			flag = "--" + w.role + "-url"
		}
		flags = append(flags, flag+" "+w.url)
	}
	if len(flags) == 0 {
		return fmt.Errorf("%s: is a router, which has no profile routes and does not name its workers: give the URL of each, with --url or --prefill-url and --decode-url", m.URL)
	}
	return fmt.Errorf("%s: is a router, which has no profile routes: profile its workers: %s", m.URL, strings.Join(flags, " "))
}

// balancerWorkers reads the workers in the /server_info of SGLang's mini balancer.
func balancerWorkers(all map[string]json.RawMessage) (out []worker) {
	for _, role := range []string{Prefill, Decode} {
		var list []struct {
			Host string
			Port int
		}
		json.Unmarshal(all[role], &list)
		for _, w := range list {
			// A worker that listens everywhere does not know its own name.
			if w.Host != "" && w.Host != "0.0.0.0" && w.Host != "::" && w.Port > 0 {
				out = append(out, worker{fmt.Sprintf("http://%s:%d", w.Host, w.Port), role})
			}
		}
	}
	return out
}

// gatewayWorkers asks SGLang's model gateway, by its present and its older route.
func (m *member) gatewayWorkers(ctx context.Context) (out []worker, router bool) {
	for _, route := range []string{"/workers", "/list_workers"} {
		r, err := m.ask(ctx, http.MethodGet, route, nil, askPatience)
		if err != nil || r.status != http.StatusOK {
			continue
		}
		var list struct {
			URLs    []string
			Workers []struct {
				URL  string
				Type string `json:"worker_type"`
			}
		}
		if json.Unmarshal(r.body, &list) != nil || list.URLs == nil && list.Workers == nil {
			continue
		}
		for _, url := range list.URLs {
			out = append(out, worker{url: url})
		}
		for _, w := range list.Workers {
			role := strings.ToLower(w.Type)
			if role != Prefill && role != Decode {
				role = ""
			}
			out = append(out, worker{w.URL, role})
		}
		return out, true
	}
	return nil, false
}
