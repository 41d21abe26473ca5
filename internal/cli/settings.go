package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/base/suggest"
	"github.com/stepscope/stepscope/internal/base/yamltree"
	"github.com/stepscope/stepscope/internal/capture/collect"
)

// setting is a value that users would otherwise repeat on each command line. A flag overrides the setting's environment
// variable, and the environment variable overrides the settings file.
type setting struct {
	name, about string
	flags       []string                 // flags that receive the value, for verbs that call servers
	unless      []string                 // flags that replace or contradict the setting
	path        bool                     // whether the value is a path
	check       func(value string) error // validates a value
}

// env returns the environment variable of the setting.
func (s *setting) env() string { return "STEPSCOPE_" + strings.ToUpper(s.name) }

var settings = []setting{
	{
		name: "url", about: "Server to call.", flags: []string{"url"},
		unless: []string{"host", "port", "model-path", "prefill-url", "decode-url"},
		check:  func(v string) error { _, err := client.New(v, nil); return err },
	},
	{
		name: "api_key_file", about: "File that holds only its key.", flags: []string{"api-key-file"}, unless: []string{"api-key"}, path: true,
		check: func(v string) error { _, err := readKey(v); return err },
	},
	{
		name: "admin_api_key_file", about: "File that holds only its key for profiles.", flags: []string{"admin-api-key-file"}, unless: []string{"admin-api-key"}, path: true,
		check: func(v string) error { _, err := readKey(v); return err },
	},
	{name: "tokenizer", about: "Directory of a tokenizer.json.", flags: []string{"tokenizer", "local-tokenizer-path"}, path: true},
	{
		name: "fetch", about: "Command that prints a file of the server: ssh {host} cat {path}.", flags: []string{"fetch", "profile-fetch"},
		check: func(v string) error { _, err := collect.ParseTemplate(v, ""); return err },
	},
	{name: "run_dir", about: "Directory that holds the runs.", flags: []string{"run-dir"}, path: true},
}

// settingNames lists the names of all settings.
func settingNames() (names []string) {
	for _, s := range settings {
		names = append(names, s.name)
	}
	return names
}

// settingNamed finds a setting by its name.
func settingNamed(name string) (*setting, error) {
	names := settingNames()
	if i := slices.Index(names, strings.ReplaceAll(name, "-", "_")); i >= 0 {
		return &settings[i], nil
	}
	if name == "api_key" || name == "admin_api_key" {
		return nil, fmt.Errorf("%s: a key must not be stored here: write it to a file of its own, and set %s_file", name, name)
	}
	if near := suggest.Closest(name, names); near != "" {
		return nil, fmt.Errorf("there is no setting %s, did you mean %s?", name, near)
	}
	return nil, fmt.Errorf("there is no setting %s, there are: %s", name, strings.Join(names, ", "))
}

// kept is the content of the settings file.
type kept struct {
	path   string
	values map[string]string
	lines  map[string]int
}

// settingsPath returns the path of the settings file. The path is the value of --config if that flag is given,
// otherwise the value of STEPSCOPE_CONFIG if that variable is set, otherwise the default path. named reports whether
// the path is not the default path. The file may be missing only at the default path. path is "" if there is no default
// path.
func settingsPath(args []string) (path string, named bool) {
	for i, a := range args {
		switch value, has := strings.CutPrefix(a, "--config="); {
		case a == "--":
			args = nil
		case has:
			return value, true
		case a == "--config" && i+1 < len(args):
			return args[i+1], true
		}
		if args == nil {
			break
		}
	}
	if path := os.Getenv("STEPSCOPE_CONFIG"); path != "" {
		return path, true
	}
	home := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(home) { // a relative path is treated as unset
		if home = os.Getenv("HOME"); !filepath.IsAbs(home) {
			return "", false
		}
		home = filepath.Join(home, ".config")
	}
	return filepath.Join(home, "stepscope", "config.yaml"), false
}

// readSettings reads the settings file, if it exists.
func readSettings(args []string) (*kept, error) {
	path, named := settingsPath(args)
	k := &kept{path: path, values: map[string]string{}, lines: map[string]int{}}
	if path == "" {
		return k, nil
	}
	text, err := readYAML(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return k, nil
	}
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return k, k.parse(text)
}

// parse reads the settings from the text of a file.
func (k *kept) parse(text []byte) error {
	tree, problems := yamltree.Parse(text)
	if len(problems) > 0 {
		return fmt.Errorf("%s:%d: %s", k.path, problems[0].Line, problems[0].Text)
	}
	if tree.Kind != yamltree.Map && tree.Kind != yamltree.Null {
		return fmt.Errorf("%s: expected lines of NAME: VALUE, such as url: http://localhost:30000", k.path)
	}
	for _, entry := range tree.Entries {
		s, err := settingNamed(entry.Key)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", k.path, entry.Line, err)
		}
		value, ok := entry.Value.Plain().(string)
		switch {
		case entry.Value.Kind == yamltree.Null:
			continue
		case !ok || value == "" || strings.ContainsAny(value, "\r\n\x00"):
			return fmt.Errorf("%s:%d: %s: expected a text of one line", k.path, entry.Line, s.name)
		}
		if s.path {
			if value = atHome(value); !filepath.IsAbs(value) {
				return fmt.Errorf("%s:%d: %s: %s depends on the working directory: give an absolute path, or one that begins with ~/", k.path, entry.Line, s.name, value)
			}
		}
		k.values[s.name], k.lines[s.name] = value, entry.Line
	}
	return nil
}

// atHome expands a leading ~/ in a path.
func atHome(path string) string {
	if below, ok := strings.CutPrefix(path, "~/"); ok && os.Getenv("HOME") != "" {
		return filepath.Join(os.Getenv("HOME"), below)
	}
	return path
}

// value returns the value that the environment or the file gives a setting, and the source of the value.
func (k *kept) value(s *setting) (value, from string) {
	if value := os.Getenv(s.env()); value != "" {
		return value, s.env()
	}
	if value := k.values[s.name]; value != "" {
		return value, fmt.Sprintf("%s:%d", k.path, k.lines[s.name])
	}
	return "", ""
}

// standsBack reports whether the command line or a key in the environment overrides a setting.
func (s *setting) standsBack(k *kong.Context) bool {
	return slices.ContainsFunc(append(slices.Clone(s.unless), s.flags...), func(flag string) bool {
		return given(k, flag) || strings.HasSuffix(flag, "api-key") && os.Getenv("STEPSCOPE_"+strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))) != ""
	})
}

// settingOf returns the setting from which a flag of a verb takes its value, or nil. Verbs that serve use no settings:
// the keys and addresses of a server must be given explicitly.
func settingOf(verb *kong.Node, flag string) *setting {
	i := slices.IndexFunc(settings, func(s setting) bool { return slices.Contains(s.flags, flag) })
	calls := slices.ContainsFunc(verb.Flags, func(f *kong.Flag) bool { return f.Name == "url" })
	if i < 0 || !calls && settings[i].name != "run_dir" {
		return nil
	}
	return &settings[i]
}

// settingsError is an error in a setting. The type prevents kong from rewording the error.
type settingsError struct{ error }

// valueFor returns the value that the settings give to a flag of a verb. It returns "" if the settings give none or the
// command line overrides the setting.
func (e *env) valueFor(k *kong.Context, verb *kong.Node, flag string) (value string, err error) {
	s := settingOf(verb, flag)
	if s == nil || s.standsBack(k) {
		return "", nil
	}
	if e.settings == nil {
		if e.settings, err = readSettings(e.args); err != nil {
			return "", settingsError{err}
		}
	}
	value, from := e.settings.value(s)
	if value != "" && s.check != nil {
		if err := s.check(value); err != nil {
			return "", settingsError{fmt.Errorf("%s: %w", from, err)}
		}
	}
	return value, nil
}

// Resolve returns the value that the settings give to a flag that is not on the command line.
func (e *env) Resolve(k *kong.Context, at *kong.Path, f *kong.Flag) (any, error) {
	if at.Command == nil || e.verb == "generate" {
		return nil, nil
	}
	value, err := e.valueFor(k, at.Command, f.Name)
	if value == "" || err != nil {
		return nil, err
	}
	return value, nil
}

// Validate implements kong.Resolver.
func (e *env) Validate(*kong.Application) error { return nil }
