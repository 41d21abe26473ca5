package cli

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/stepscope/stepscope/internal/base/suggest"
)

// modules maps the names of SGLang's programs to the corresponding verbs of stepscope.
var modules = map[string]string{
	"bench_serving": "bench serving", "bench_one_batch": "bench one-batch", "bench_one_batch_server": "bench one-batch-server",
	"bench_offline_throughput": "bench offline",
}

// expand prepares a command line for kong. Flags may be shortened to an unambiguous prefix and written with
// underscores, as in Python's argparse and so in SGLang's commands (--profile_id, --fail). expand returns the verb and
// the expanded arguments. It also reports unknown verbs and flags, because it knows the valid names.
func expand(root *kong.Node, args []string) (out []string, verb string, err error) {
	if len(args) == 0 {
		return []string{"--help"}, "", nil
	}
	if args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	if verb, ok := modules[args[0]]; ok {
		args = append(strings.Fields(verb), args[1:]...)
	}
	node := root
	asks := false // help or the version is requested, so no verb is needed
	for i := 0; i < len(args); i++ {
		a := args[i]
		if len(node.Positional) > 0 && node.Positional[0].Passthrough {
			return append(out, args[i:]...), verb, nil
		}
		var flag *kong.Flag
		switch {
		case a == "--":
			return append(out, args[i:]...), verb, nil
		case strings.HasPrefix(a, "--"):
			name, value, hasValue := strings.Cut(a[2:], "=")
			if other, taken, err := takeForeign(node, args[i:]); err != nil {
				return nil, verb, err
			} else if taken > 0 {
				out = append(out, "--"+foreignFlag+"="+other)
				i += taken - 1
				continue
			}
			if same, taken, err := takeHabit(verb, args[i:]); err != nil {
				return nil, verb, err
			} else if taken > 0 {
				out = append(out, same...)
				i += taken - 1
				continue
			}
			if flag, err = findFlag(node, name); err != nil {
				// The argument is an option of the wrapped program.
				if _, none := findFlag(node, "nsys-arg"); none != nil {
					return nil, verb, err
				}
				if !hasValue {
					return nil, verb, usagef("no flag --%s; options of nsys are written --OPTION=VALUE, those of the program come after --", name)
				}
				out = append(out, "--nsys-arg="+a)
				continue
			}
			a = "--" + flag.Name
			if hasValue {
				out = append(out, a+"="+value)
				continue
			}
		case len(a) > 1 && a[0] == '-':
			if flag, err = findShort(node, a); err != nil {
				return nil, verb, err
			}
			if len(a) > 2 { // -oFILE
				out = append(out, a)
				continue
			}
		case !node.Leaf():
			child := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Name == a || slices.Contains(c.Aliases, a) })
			if child < 0 {
				return nil, verb, noVerb(root, node, a)
			}
			node = node.Children[child]
			verb = verbOf(node)
		}
		out = append(out, a)
		asks = asks || flag != nil && (flag.Name == "help" || flag.Name == "help-all" || flag.Name == "version")
		if flag != nil && flag.Tag != nil && flag.Tag.Get("bare") != "" {
			// The value of this flag is optional.
			if i+1 < len(args) && (isShare(args[i+1]) || len(node.Positional) == 0 && !strings.HasPrefix(args[i+1], "-")) {
				i++
				a += "=" + args[i]
			} else {
				a += "=" + flag.Tag.Get("bare")
			}
			out[len(out)-1] = a
			continue
		}
		if flag != nil && !flag.IsBool() {
			i++
			if i < len(args) {
				_, err := strconv.ParseFloat(args[i], 64)
				// As in Python, an argument that begins with - may be the value of the flag.
				if strings.HasPrefix(args[i], "-") && (err == nil || strings.Contains(args[i], " ")) {
					out[len(out)-1] = a + "=" + args[i]
					continue
				}
			}
			if i == len(args) || len(args[i]) > 1 && args[i][0] == '-' {
				return nil, verb, usagef("%s wants a value: %[1]s %s", a, valueText(flag))
			}
			out = append(out, args[i])
			// As in Python, a list flag may have several values: --cuda-graph-bs 1 2 4.
			for flag.IsSlice() && len(node.Positional) == 0 && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
				out = append(out, a, args[i])
			}
		}
	}
	if !node.Leaf() && !asks && node.DefaultCmd != nil {
		return append(out, node.DefaultCmd.Name), verbOf(node.DefaultCmd), nil
	}
	if !node.Leaf() && !asks {
		return nil, verb, usagef("which verb? %s", strings.Join(verbsOf(node), ", "))
	}
	return out, verb, nil
}

func isShare(s string) bool {
	number, _ := strings.CutSuffix(s, "%")
	_, err := strconv.ParseFloat(number, 64)
	return err == nil
}

// flagsOf returns the flags that apply to a verb.
func flagsOf(n *kong.Node) (flags []*kong.Flag) {
	for _, group := range n.AllFlags(false) {
		flags = append(flags, group...)
	}
	return flags
}

// mostListed is the maximum number of flags that an error about an unknown flag lists.
const mostListed = 20

// findFlag finds a long flag by its name or by an unambiguous prefix of its name.
func findFlag(n *kong.Node, name string) (*kong.Flag, error) {
	name = strings.ReplaceAll(name, "_", "-")
	var found, all []string
	var last *kong.Flag
	for _, f := range flagsOf(n) {
		if f.Name == name || slices.Contains(f.Aliases, name) {
			return f, nil
		}
		if !f.Hidden {
			all = append(all, "--"+f.Name)
		}
		if f.Name == "help-all" && strings.HasPrefix("help", name) {
			continue // --h and --he always mean --help
		}
		if slices.ContainsFunc(append([]string{f.Name}, f.Aliases...), func(n string) bool { return strings.HasPrefix(n, name) }) {
			found, last = append(found, "--"+f.Name), f
		}
	}
	switch len(found) {
	case 1:
		return last, nil
	case 0:
		if near := nearest(name, all); near != "" {
			return nil, usagef("no flag --%s, did you mean %s?", name, near)
		}
		if len(all) > mostListed {
			return nil, usagef("no flag --%s", name)
		}
		return nil, usagef("no flag --%s, there are: %s", name, strings.Join(all, ", "))
	}
	return nil, usagef("--%s could be %s", name, strings.Join(found, " or "))
}

func findShort(n *kong.Node, arg string) (*kong.Flag, error) {
	for _, f := range flagsOf(n) {
		if f.Short == rune(arg[1]) {
			return f, nil
		}
	}
	return nil, usagef("no flag %s here", arg)
}

// noVerb returns the error for an unknown verb and suggests the verb that the user probably meant. If the word is a
// verb of a group, the group was left out; if the word is a path, the verb analyze was left out.
func noVerb(root, at *kong.Node, word string) error {
	for _, v := range verbsOf(root) {
		if strings.HasSuffix(v, " "+word) || at != root && v == word {
			return usagef("no verb %q, did you mean: stepscope %s", word, v)
		}
	}
	if _, err := os.Stat(word); err == nil {
		return usagef("no verb %q; to explain a trace: stepscope analyze %s", word, word)
	}
	if near := suggest.Closest(strings.TrimSpace(verbOf(at)+" "+word), verbsOf(at)); near != "" {
		return usagef("no verb %q, did you mean: stepscope %s", word, near)
	}
	if at == root {
		return usagef("no verb %q; stepscope lists them", word)
	}
	return usagef("no verb %q, there are: %s", word, strings.Join(verbsOf(at), ", "))
}

// verbsOf lists the verbs at and below a node, in the form in which users type them.
func verbsOf(n *kong.Node) (verbs []string) {
	for _, leaf := range n.Leaves(true) {
		verbs = append(verbs, verbOf(leaf))
	}
	return verbs
}

// verbOf returns a verb in the form in which users type it, such as "trace merge".
func verbOf(n *kong.Node) string {
	if n.Parent == nil {
		return ""
	}
	return strings.TrimSpace(verbOf(n.Parent) + " " + n.Name)
}

// nearest returns the flag that the user probably meant: a flag with a similar spelling, or a flag that contains name.
// It returns "" if there is no such flag.
func nearest(name string, all []string) string {
	if near := suggest.Closest("--"+name, all); near != "" {
		return near
	}
	if i := slices.IndexFunc(all, func(flag string) bool { return len(name) > 2 && strings.Contains(flag, name) }); i >= 0 {
		return all[i]
	}
	return ""
}
