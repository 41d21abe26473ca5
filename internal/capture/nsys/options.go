package nsys

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Options is the set of options of an nsys command, with their dashes.
type Options map[string]bool

var optionLine = regexp.MustCompile(`(?m)^\s*(?:(-[A-Za-z]), )?(--[a-z0-9][a-z0-9-]*)=?`)

// ParseOptions parses the help text of a command.
func ParseOptions(help string) Options {
	o := Options{}
	for _, m := range optionLine.FindAllStringSubmatch(help, -1) {
		for _, name := range m[1:] {
			if name != "" {
				o[name] = true
			}
		}
	}
	return o
}

// Options returns the options that a command supports. The options differ by version, so a query is more reliable than
// a table.
func (t *Tool) Options(ctx context.Context, command string) (Options, error) {
	out, err := t.run(ctx, quick, command, "--help")
	if err != nil {
		return nil, err
	}
	o := ParseOptions(out.stdout)
	if len(o) == 0 {
		return nil, fmt.Errorf("%s %s --help lists no options: %s", t.Path, command, out.problem())
	}
	return o, nil
}

// renamed lists the options whose names depend on the version of nsys. Each entry has all names of one option.
var renamed = [][]string{
	{"--gpu-metrics-device", "--gpu-metrics-devices"},
	{"--python-nvtx-annotations", "--python-functions-trace"},
}

// known searches the commands for one that supports the option. It returns the option's name in that command and the
// index of the command.
func known(option string, commands ...Options) (renamedTo string, by int) {
	name, value, hasValue := strings.Cut(option, "=")
	for _, group := range append([][]string{{name}}, renamed...) {
		if !slices.Contains(group, name) {
			continue
		}
		for _, other := range group {
			for i, o := range commands {
				if !o[other] {
					continue
				}
				if hasValue {
					other += "=" + value
				}
				return other, i
			}
		}
	}
	return option, -1
}

// gives reports whether options contains an option with one of these names.
func gives(options []string, names ...string) bool {
	return slices.ContainsFunc(options, func(o string) bool {
		name, _, _ := strings.Cut(o, "=")
		return slices.Contains(names, name)
	})
}

// StartOptions translates options for start to this version's names.
func (t *Tool) StartOptions(ctx context.Context, options []string) (out []string, err error) {
	if len(options) == 0 {
		return nil, nil
	}
	start, err := t.Options(ctx, "start")
	if err != nil {
		return nil, err
	}
	for _, o := range options {
		name, by := known(o, start)
		if by < 0 {
			return nil, fmt.Errorf("nsys start has no option %s here (see: %s start --help)", optionName(o), t.Path)
		}
		out = append(out, name)
	}
	return out, nil
}
