package servers

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
)

// Found is an identified server.
type Found struct {
	Kind    Kind
	Version string // "": not reported
	Info    []byte // the reply of /server_info, JSON; nil: none
	Dir     string // stepscope: default directory of profile windows
}

// String describes the server: "vLLM 0.26.0".
func (f *Found) String() string {
	switch {
	case f.Kind == Unknown:
		return "an unknown kind of server"
	case f.Kind == OpenAI:
		return "an OpenAI-compatible server"
	case f.Version == "":
		return string(f.Kind)
	}
	return string(f.Kind) + " " + f.Version
}

// Ask requests a route by GET.
type Ask func(ctx context.Context, route string) (*client.Reply, error)

// Identify determines the kind of a server. An error of ask ends the identification. Info may be set although the kind is unknown: vLLM in development mode and SGLang's mini balancer
// have that route too.
func Identify(ctx context.Context, ask Ask) (f Found, err error) {
	f.Kind = Unknown
	for _, route := range client.InfoRoutes {
		r, err := ask(ctx, route)
		if err != nil {
			return f, err
		}
		if r.Status == http.StatusOK {
			f.Info = r.Body
			break
		}
	}
	var info struct {
		TP      json.RawMessage `json:"tp_size"`
		Version any
	}
	if json.Unmarshal(f.Info, &info) == nil && info.TP != nil {
		f.Kind = SGLang
		f.Version, _ = info.Version.(string)
		var files struct {
			Dir     string `json:"dir"`
			Windows json.RawMessage
		}
		if ok, err := get(ctx, ask, "/profile_files", &files); err != nil {
			return f, err
		} else if ok && files.Windows != nil {
			f.Kind, f.Dir = Stepscope, files.Dir
		}
		return f, nil
	}
	var v struct{ Version string }
	if ok, err := get(ctx, ask, "/version", &v); err != nil {
		return f, err
	} else if ok && v.Version != "" {
		f.Kind, f.Version = VLLM, v.Version
		return f, nil
	}
	var models struct{ Data []struct{ ID string } }
	ok, err := get(ctx, ask, "/v1/models", &models)
	if ok && len(models.Data) > 0 {
		f.Kind = OpenAI
	}
	return f, err
}

// Of identifies a server for advice. Without an answer in 5 s, the kind is Unknown.
func Of(ctx context.Context, s *client.Server) Found {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	f, _ := Identify(ctx, func(ctx context.Context, route string) (*client.Reply, error) {
		return s.Ask(ctx, http.MethodGet, route, nil)
	})
	return f
}

// get requests a JSON document; ok is false if the server has no such document.
func get(ctx context.Context, ask Ask, route string, into any) (ok bool, err error) {
	r, err := ask(ctx, route)
	if err != nil {
		return false, err
	}
	return r.Status == http.StatusOK && json.Unmarshal(r.Body, into) == nil, nil
}
