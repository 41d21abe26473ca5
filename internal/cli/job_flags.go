package cli

import (
	"errors"
	"io"

	"github.com/alecthomas/kong"

	"github.com/stepscope/stepscope/internal/job/spec"
	"github.com/stepscope/stepscope/internal/reference/launch"
)

// servedFlags checks the flags of a job whose workers are the embedded server against the flags of "serve". Without
// this check, an unknown flag or a rejected value would be reported only when the worker starts. notes has one note per
// role, which lists the flags of SGLang's server that have no effect. The notes have the same wording as the worker's
// message.
func servedFlags(j *spec.Job) (problems spec.Problems, notes []spec.Note) {
	if j.Backend.Type != spec.StepScope {
		return nil, nil
	}
	for _, role := range j.Roles() {
		var ignored foreign
		at := "backend.sglang_config." + string(role)
		for _, f := range j.Backend.Config[role] {
			name, err := servedFlag(f)
			if err != nil {
				problems = append(problems, j.Problem(at+"."+f.Key, err.Error()))
			}
			if name != "" {
				ignored.Names = append(ignored.Names, name)
			}
		}
		if text := ignored.line(); text != "" {
			notes = append(notes, j.Problem(at, text))
		}
	}
	return problems, notes
}

// servedFlag checks a flag in the same way as the command line of serve. ignored is the name of the flag if it has no
// effect.
func servedFlag(f spec.Flag) (ignored string, err error) {
	var tree struct {
		Serve serveCmd `cmd:""`
	}
	exits := errors.New("it prints something and exits")
	parser, err := kong.New(&tree, kong.Name("stepscope"), values, kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) { panic(exits) }))
	if err != nil {
		panic(err) // a struct tag of a verb is invalid
	}
	if args := f.Args(); args == nil { // false: the flag is not set
		if _, ok := launch.ForeignFlag(f.Key); ok {
			return "", nil
		}
	} else if name, _, err := takeForeign(parser.Model.Node.Children[0], args); err != nil || name != "" {
		return name, err
	}
	flag, err := findFlag(parser.Model.Node.Children[0], f.Key)
	switch {
	case err != nil:
		return "", err
	case flag.Name == "help":
		return "", exits
	case flag.IsBool() && !isBool(f.Value):
		return "", errors.New("--" + f.Key + " takes no value: write true or false")
	case !flag.IsBool() && isBool(f.Value):
		return "", errors.New("--" + f.Key + " wants a value")
	}
	args := append([]string{"serve", "--model-path", "x"}, f.Args()...)
	if args, _, err = expand(parser.Model.Node, args); err != nil {
		return "", err
	}
	cmd, err := parser.Parse(args)
	if err == nil {
		err = checkLimits(cmd.Flags())
	}
	return "", err
}

func isBool(v any) bool { _, ok := v.(bool); return ok }
