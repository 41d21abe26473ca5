package server

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// Startup holds the startup times.
type Startup struct {
	Engine time.Duration // time to load weights and to create caches and graphs
	All    time.Duration // since the process started
}

// Options configure a Server. The zero value serves on loopback without a key, without metrics and without logs.
type Options struct {
	ServedModelName string // default: the engine's model path
	Version         string
	Args            map[string]any // launch arguments, shown by /server_info
	Command         string         // the command line, without secrets
	Startup         Startup

	APIKey      string // required as "Authorization: Bearer KEY" if set
	AdminAPIKey string // required by profile, flush and abort routes if set
	Insecure    bool   // no key is required beyond loopback

	// AllowedHosts applies to a server that listens on loopback without a key. It lists additional host names with
	// which clients may address that server.
	AllowedHosts []string

	EnableMetrics     bool
	IncrementalOutput bool // events carry only new text
	CacheReport       bool // usage includes cached tokens
	LogRequests       bool
	LogRequestsLevel  int // 0: metadata, 1: also parameters, 2: also texts cut at 2 KiB, 3: complete texts

	MaxBodyBytes  int64           // default 32 MiB
	MaxInFlight   int             // maximum number of sequences; default 4096
	StreamBuffer  int             // maximum backlog of a streaming client in tokens; default 4096
	BodyTimeout   time.Duration   // limit for reading a body; default 60 s
	WriteTimeout  time.Duration   // limit for one write of a stream; default 60 s
	HealthTimeout time.Duration   // limit for the probe; default 20 s
	DrainTimeout  time.Duration   // time limit for running requests at shutdown; default 30 s
	Hurry         <-chan struct{} // closing it ends the drain at once; nil: never

	// ProfileRoot is the directory below which every output_dir must be if the server listens beyond loopback. Default:
	// SGLANG_TORCH_PROFILER_DIR or, if that is not set, /tmp.
	ProfileRoot string

	// Dependencies that tests replace. If a field is nil, the real implementation is used.
	Log    *slog.Logger
	Getenv func(string) string
	Now    func() time.Time
	NewID  func() string // request ids
}

// CommandLine formats a command line and omits secrets.
func CommandLine(args []string) string {
	words := []string{"stepscope"}
	for i, a := range args {
		name, _, valued := strings.Cut(strings.TrimLeft(a, "-"), "=")
		switch {
		case valued && wire.Secret(strings.ReplaceAll(name, "-", "_")):
			a = "--" + name + "=***"
		case i > 0 && strings.HasPrefix(args[i-1], "--") && wire.Secret(strings.ReplaceAll(strings.TrimLeft(args[i-1], "-"), "-", "_")):
			a = "***"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

func (o Options) withDefaults() Options {
	o.BodyTimeout = cmp.Or(o.BodyTimeout, time.Minute)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, time.Minute)
	o.HealthTimeout = cmp.Or(o.HealthTimeout, 20*time.Second)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 30*time.Second)
	o.MaxBodyBytes = cmp.Or(o.MaxBodyBytes, 32<<20)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, 4096)
	o.StreamBuffer = cmp.Or(o.StreamBuffer, 4096)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	return o
}

// newID returns 32 hex digits, like Python's uuid4().hex.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // cannot fail
	return hex.EncodeToString(b[:])
}
