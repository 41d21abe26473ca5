// Package cli implements the command line, with one file per verb. It is the only package that converts errors to
// messages and exit statuses.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/tracefile/kineto"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// Exit statuses. They are the same for every verb.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitIncomplete  = 3 // done, but data are missing or were lost
	exitRegression  = 4
	exitInterrupted = 130
)

// env is the environment of a verb: its streams, its settings and its handling of interrupts.
type env struct {
	stdin             io.Reader
	stdout, stderr    *columns.Safe          // for text; control characters in names cannot affect a terminal
	out, errs         io.Writer              // for data (see env.data) and the output of other programs
	*progress.Console                        // writes to stderr, and records whether the result is complete
	args              []string               // the command line, with flags in full
	verb              string                 // such as "trace merge", for the hint after a usage error
	status            int                    // exit status of the program that the verb ran, used if the verb succeeds
	settings          *kept                  // loaded when a flag first needs them
	holds             atomic.Pointer[string] // work for which to wait on an interrupt; nil: none
	interrupted       sync.Once
	cancel            context.CancelFunc // ends the context of the verb
	leave             sync.Once
	left              chan struct{} // closed when the user is gone; see alone
	lost              atomic.Bool   // whether output was written that had no reader
	reach             time.Duration // longest time to wait for a router's list of workers
	// report is the reader of Nsight Systems reports. Tests replace it.
	report kineto.ReadFile
}

func newEnv(stdin io.Reader, stdout, stderr io.Writer) *env {
	e := &env{stdin: stdin, out: stdout, errs: stderr, reach: 5 * time.Second, left: make(chan struct{}), cancel: func() {}}
	e.stdout, e.stderr = &columns.Safe{W: outlet{stdout, e}}, &columns.Safe{W: outlet{stderr, e}}
	e.Console = &progress.Console{W: stderr, Unread: e.unread}
	if f, ok := stderr.(*os.File); ok {
		e.Terminal = term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" && os.Getenv("NO_COLOR") == ""
	}
	return e
}

// usageError is a mistake of the user in flags or arguments.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errRegression is returned by a comparison that found a regression which --fail-on forbids.
var errRegression = errors.New("a regression was found")

// root is the tree of verbs. kong reads the flags and the help from the struct tags.
type root struct {
	Demo demoCmd `cmd:"" group:"See it" help:"See it work: serve, load, record, merge, explain."`

	Bench benchCmd `cmd:"" group:"Measure" help:"Measure a server, or the engine in process."`
	Send  sendCmd  `cmd:"" group:"Measure" aliases:"send_one" help:"Send one request, and print the reply and its speed."`

	Profile profileCmd `cmd:"" group:"Record" aliases:"profiler" help:"Record a window of running servers, and explain it."`
	Watch   watchCmd   `cmd:"" group:"Record" help:"Capture automatically when ranks drift apart or requests become slow."`
	Nsys    nsysCmd    `cmd:"" group:"Record" help:"Run servers under NVIDIA Nsight Systems, and open windows on them."`

	Analyze analyzeCmd `cmd:"" group:"Explain" help:"Find what is slow, what fixing it gains, and how to fix it."`
	Finding findingCmd `cmd:"" group:"Explain" help:"Show all evidence of one finding of analyze."`
	Compare compareCmd `cmd:"" group:"Explain" help:"Show what got slower between captures, ranks or runs."`
	Whatif  whatifCmd  `cmd:"" group:"Explain" help:"Predict how long steps would take if something were faster."`
	View    viewCmd    `cmd:"" group:"Explain" help:"Show captures and runs in the browser: ranks side by side."`

	CI ciCmd `cmd:"" group:"Explain" name:"ci" help:"Gate a build in CI, and comment on its change."`

	MCP mcpCmd `cmd:"" group:"Explain" name:"mcp" help:"Answer a coding agent by the Model Context Protocol."`

	Trace traceCmd `cmd:"" group:"Traces" help:"Merge, check, cut and export trace files, or open one in Perfetto."`

	Serve    serveCmd    `cmd:"" group:"Serve" aliases:"launch_server" help:"Serve a model on the embedded engine, as SGLang does."`
	Route    routeCmd    `cmd:"" group:"Serve" aliases:"launch_router" help:"Route requests, and profiles, to several servers."`
	Generate generateCmd `cmd:"" group:"Serve" help:"Generate pictures from prompts, as sglang generate does."`

	Job jobCmd `cmd:"" group:"Jobs" help:"Run srtctl job files: serve on several nodes, load, record, explain."`

	Runs runsCmd `cmd:"" group:"Runs" help:"List, show and remove recorded runs."`

	Guide       guideCmd      `cmd:"" group:"This program" help:"Print a guide by task, or list them."`
	Skill       skillCmd      `cmd:"" group:"This program" help:"Install instructions for coding agents: a skill."`
	Settings    settingsCmd   `cmd:"" group:"This program" name:"config" help:"Show and change settings that replace repeated flags."`
	VersionVerb versionCmd    `cmd:"" group:"This program" name:"version" help:"Print the version and how it was built."`
	Completion  completionCmd `cmd:"" group:"This program" help:"Print the completion script for a shell."`
	Complete    completeCmd   `cmd:"" name:"__complete" hidden:""`
	Man         manCmd        `cmd:"" hidden:"" help:"Print the manual page."`

	HelpAll helpAllFlag      `name:"help-all" help:"Show all flags of a verb, with their other names."`
	Config  configFile       `name:"config" placeholder:"FILE" help:"The settings file, see stepscope config; for generate, a file of its flags, as in SGLang."`
	Version kong.VersionFlag `help:"Print the version and exit."`
}

const description = `stepscope benchmarks, profiles and explains LLM serving.

Exit status: 0 ok, 1 failed, 2 usage, 3 done but something is missing or lost, 4 regression found, 130 interrupted.`

// Main runs one command line and returns its exit status.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e := newEnv(stdin, stdout, stderr)
	e.cancel = cancel
	signals, aside := e.listen()
	defer func() {
		if ctx.Err() == nil { // after a signal, a copy of the signal must not kill the exiting process
			aside()
		}
	}()
	finished := make(chan struct{})
	defer close(finished)
	go e.interrupts(signals, finished, cancel, aside, atomicfile.Abandon, os.Exit)
	return e.main(ctx, args)
}

func (e *env) main(ctx context.Context, args []string) (status int) {
	// exit is the value of a panic that carries an exit status to Main. kong calls its exit function for --help from
	// within the parser; with the panic, Main always returns.
	type exit int
	defer func() {
		if r := recover(); r != nil {
			code, ok := r.(exit)
			if !ok {
				panic(r)
			}
			status = int(code)
		}
	}()
	var tree root
	parser, err := kong.New(&tree,
		kong.Name("stepscope"), kong.Description(description),
		kong.Writers(e.stdout, e.stderr), kong.Exit(func(code int) { panic(exit(code)) }),
		kong.Vars{"version": "stepscope " + release()}, kong.Help(func(_ kong.HelpOptions, k *kong.Context) error { return e.help(k, false) }),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(e), kong.Resolvers(e), values)
	if err != nil {
		panic(err) // a struct tag of a verb is invalid
	}
	args, e.verb, err = expand(parser.Model.Node, args)
	if err != nil {
		return e.exit(ctx, err)
	}
	e.args = args
	cmd, err := parser.Parse(args)
	if err != nil {
		var setting settingsError
		if errors.As(err, &setting) {
			return e.exit(ctx, usageError(setting))
		}
		// kong's message quotes the name of a missing argument: expected "<path> ...".
		text := err.Error()
		if rest, ok := strings.CutPrefix(text, "expected \""); ok {
			text = "missing " + strings.ReplaceAll(rest, "\"", "")
		}
		return e.exit(ctx, usagef("%s", text))
	}
	if err := checkRules(cmd); err != nil {
		return e.exit(ctx, err)
	}
	if err := checkLimits(cmd.Flags()); err != nil {
		return e.exit(ctx, err)
	}
	if err := readKeys(cmd.Flags()); err != nil {
		return e.exit(ctx, err)
	}
	e.holdBy(e.verb)
	return e.exit(ctx, cmd.Run())
}

// given reports whether the command line contains a flag, regardless of the flag's default.
func given(k *kong.Context, name string) bool {
	return slices.ContainsFunc(k.Args, func(a string) bool { return a == "--"+name || strings.HasPrefix(a, "--"+name+"=") })
}

// exit prints the error of a verb and returns the exit status for it.
func (e *env) exit(ctx context.Context, err error) int {
	var usage usageError
	var unknown *set.IDError
	switch {
	case errors.Is(err, errRegression):
		return exitRegression
	case e.lost.Load():
		return exitInterrupted // no one reads the output
	case err == nil && e.Lacks():
		return max(e.status, exitIncomplete)
	case err == nil:
		return e.status
	case ctx.Err() != nil:
		e.sayInterrupted()
		return exitInterrupted
	case errors.As(err, &usage), errors.As(err, &unknown):
		e.Warn("%v", err)
		fmt.Fprintf(e.stderr, "  hint: %s --help\n", strings.TrimSpace("stepscope "+e.verb))
		return exitUsage
	}
	e.Warn("%v", err)
	return exitFailed
}
