package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/api/servers"
)

// Backend is a kind of server. It defines the route and the format of the requests.
type Backend struct {
	Name string
	Path string
	Port int // default

	family family
	// If rid is set, the request id is sent in the body, under the key rid. If idHeader is set, the request id is sent
	// in a header.
	rid, idHeader bool
	// If loose is set, streams end without a finish reason and without [DONE].
	loose bool
	// If fixed is set, the body has SGLang's fixed format, without LoRA, images and logprobs.
	fixed bool
}

// Backends holds the backends of SGLang's bench_serving, by name, and openai and openai-chat of vLLM's client. It lacks
// gserver, which bench_serving lists but does not implement.
var Backends = func() map[string]Backend {
	const (
		text  = "/v1/completions"
		chats = "/v1/chat/completions"
		embed = "/v1/embeddings"
	)
	all := map[string]Backend{}
	for _, b := range []Backend{
		{Name: "sglang", Path: "/generate", Port: 30000, family: native, rid: true},
		{Name: "sglang-native", Path: "/generate", Port: 30000, family: native, rid: true},
		{Name: "sglang-oai", Path: text, Port: 30000, family: completions, rid: true},
		{Name: "sglang-oai-chat", Path: chats, Port: 30000, family: chat, rid: true},
		{Name: "sglang-embedding", Path: embed, Port: 30000, family: embeddings, rid: true},
		{Name: "vllm", Path: text, Port: 8000, family: completions, idHeader: true},
		{Name: "vllm-chat", Path: chats, Port: 30000, family: chat, idHeader: true},
		{Name: "vllm-embedding", Path: embed, Port: 8000, family: embeddings, idHeader: true},
		{Name: "openai", Path: text, Port: 8000, family: completions, idHeader: true},
		{Name: "openai-chat", Path: chats, Port: 8000, family: chat, idHeader: true},
		{Name: "lmdeploy", Path: text, Port: 23333, family: completions},
		{Name: "lmdeploy-chat", Path: chats, Port: 30000, family: chat},
		{Name: "trt", Path: "/v2/models/ensemble/generate_stream", Port: 8000, family: trt, loose: true, fixed: true},
		{Name: "truss", Path: "/v1/models/model:predict", Port: 8080, family: completions, loose: true, fixed: true},
	} {
		all[b.Name] = b
	}
	return all
}()

// KindOf returns the kind of server that a backend stands for. The server may be of another kind.
func KindOf(backend string) servers.Kind {
	switch engine, _, _ := strings.Cut(backend, "-"); engine {
	case "sglang":
		return servers.SGLang
	case "vllm", "openai":
		return servers.VLLM
	}
	return servers.Unknown
}

// Counts reports whether the server of b returns its token counts if a request asks for them.
func (b *Backend) Counts() bool { return (b.family == completions || b.family == chat) && !b.fixed }

// Images is the backend of image generation. It is not in Backends, because its replies have no tokens.
const Images = "images"

func backend(name string) (Backend, error) {
	if name == Images {
		return Backend{Name: Images, Path: "/v1/images/generations", family: images}, nil
	}
	b, ok := Backends[name]
	if !ok {
		return b, fmt.Errorf("load: no backend %q: the backends are %s", name, strings.Join(slices.Sorted(maps.Keys(Backends)), ", "))
	}
	return b, nil
}
