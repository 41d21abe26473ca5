package cli

import (
	"context"

	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/mcp"
	"github.com/stepscope/stepscope/internal/reference/launch"
)

// mcpCmd is "mcp".
type mcpCmd struct {
	Root []string `name:"root" placeholder:"DIR" help:"Directories below which captures may be read (default: the current directory). The runs are always readable."`

	Listen     bool   `needs:"api-key-file|api-key: clients send the key as a bearer token" help:"Serve the protocol over HTTP instead of stdin and stdout."`
	Port       int    `name:"port" limits:"0..65535" default:"0" help:"With --listen: port on 127.0.0.1 (default: any free one)."`
	APIKey     string `name:"api-key" env:"STEPSCOPE_API_KEY" placeholder:"KEY" help:"With --listen: bearer token that clients must send."`
	APIKeyFile string `name:"api-key-file" into:"api-key" placeholder:"FILE" help:"File that holds only that token."`

	agentFlags
	memoryFlags
	runPlace
}

// Help returns the end of the verb's help text.
func (c *mcpCmd) Help() string {
	return `Answers the questions of a coding agent about runs and captures by the Model Context Protocol.
No answer exceeds 8,000 bytes. Without --live, no tool writes a file or opens a
connection.

Register it with an agent:
  claude mcp add stepscope -- stepscope mcp --root /shared/profiles
  codex mcp add stepscope -- stepscope mcp --root /shared/profiles

Let it also measure a running server, with bounded loads and windows:
  stepscope mcp --live http://localhost:30000

Over HTTP, on this machine only:
  stepscope mcp --listen --port 8765 --api-key-file token`
}

// Run serves the protocol until stdin ends or an interrupt comes.
func (c *mcpCmd) Run(ctx context.Context, e *env) error {
	if len(c.Root) == 0 {
		c.Root = []string{"."}
	}
	done, err := c.watch(e)
	if err != nil {
		return err
	}
	defer done()
	opt := mcp.Options{Version: release(), Roots: c.Root}
	if most, err := c.limit(); err == nil {
		opt.Memory = most / 4 // the rest is for analyses that run
	}
	opt.RunDir, err = c.root()
	if err != nil {
		e.Warn("%v: no runs are shown", err)
	}
	if opt.Live, err = c.live(e, opt.RunDir); err != nil {
		return err
	}
	server, err := mcp.New(opt)
	if err != nil {
		return usageError{err}
	}
	if !c.Listen {
		return server.Run(ctx)
	}
	ln, err := httpguard.Listen("127.0.0.1", c.Port, c.APIKey, false)
	if err != nil {
		return err
	}
	e.Told("serving the Model Context Protocol at http://%s/mcp", ln.Addr())
	return server.Serve(ctx, ln, c.APIKey, launch.NewLog(e.stderr).Structured(levelOf("warning")))
}
