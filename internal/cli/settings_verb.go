package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/runs"
)

// settingsCmd is "config".
type settingsCmd struct {
	Show  settingsShowCmd  `cmd:"" default:"1" help:"Show the settings and where they come from."`
	Set   settingsSetCmd   `cmd:"" help:"Write a setting to the file."`
	Unset settingsUnsetCmd `cmd:"" help:"Remove a setting from the file."`
	Path  settingsPathCmd  `cmd:"" help:"Print the path of the file."`
}

type settingsShowCmd struct {
	JSON bool `name:"json" help:"Print as JSON."`
}

// Help returns the end of the verb's help text.
func (c *settingsShowCmd) Help() string {
	return `Settings replace flags that would be repeated on each command line. A flag overrides its environment variable, which overrides the file:
config.yaml in stepscope's directory of the user's configuration, or the file that --config or STEPSCOPE_CONFIG names. Keys are kept in
separate files.

Examples:
  stepscope config
  stepscope config set url http://localhost:30000
  stepscope config unset url`
}

// shownSetting is a line of the output of "config".
type shownSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
	About string `json:"about"`
}

// Run shows the settings.
func (c *settingsShowCmd) Run(e *env) error {
	k, err := readSettings(e.args)
	if err != nil {
		return usageError{err}
	}
	all := []shownSetting{}
	for i := range settings {
		s := &settings[i]
		value, from := k.value(s)
		if value != "" && s.check != nil {
			if err := s.check(value); err != nil {
				return usagef("%s: %v", from, err)
			}
		}
		if s.name == "run_dir" && value == "" {
			value, _ = runs.DefaultRoot()
		}
		all = append(all, shownSetting{s.name, value, cmp.Or(from, "default"), s.about})
	}
	for _, name := range []string{"STEPSCOPE_API_KEY", "STEPSCOPE_ADMIN_API_KEY", "OPENAI_API_KEY", "API_KEY"} {
		if os.Getenv(name) != "" {
			all = append(all, shownSetting{strings.ToLower(strings.TrimPrefix(name, "STEPSCOPE_")), "(not shown)", name, "A key of the server."})
		}
	}
	if c.JSON {
		return e.printJSON(all)
	}
	rows := [][]string{{"setting", "value", "from"}}
	for _, s := range all {
		rows = append(rows, []string{s.Name, cmp.Or(s.Value, "-"), s.From})
	}
	return columns.Left(e.stdout, rows)
}

type settingsSetCmd struct {
	Name  string `arg:"" help:"url, api_key_file, admin_api_key_file, tokenizer, fetch or run_dir."`
	Value string `arg:"" help:"New value; a path is stored as an absolute path."`
}

// Help returns the end of the verb's help text.
func (c *settingsSetCmd) Help() string {
	return `Examples:
  stepscope config set url http://localhost:30000
  stepscope config set run_dir runs
  stepscope config set fetch 'ssh {host} cat {path}'`
}

// Run writes a setting to the file.
func (c *settingsSetCmd) Run(e *env) error {
	s, err := settingNamed(c.Name)
	if err != nil {
		return usageError{err}
	}
	if c.Value == "" || strings.ContainsAny(c.Value, "\r\n\x00") {
		return usagef("%s: give a text of one line; stepscope config unset %s removes it", s.name, s.name)
	}
	if s.path {
		if c.Value, err = filepath.Abs(atHome(c.Value)); err != nil {
			return err
		}
	}
	if s.check != nil {
		if err := s.check(c.Value); err != nil {
			return usagef("%s: %v", s.name, err)
		}
	}
	return e.writeSetting(s, c.Value)
}

type settingsUnsetCmd struct {
	Name string `arg:"" help:"The setting, such as url."`
}

// Help returns the end of the verb's help text.
func (c *settingsUnsetCmd) Help() string {
	return `Examples:
  stepscope config unset url`
}

// Run removes a setting from the file.
func (c *settingsUnsetCmd) Run(e *env) error {
	s, err := settingNamed(c.Name)
	if err != nil {
		return usageError{err}
	}
	return e.writeSetting(s, "")
}

type settingsPathCmd struct{}

// Help returns the end of the verb's help text.
func (c *settingsPathCmd) Help() string {
	return `Examples:
  stepscope config path`
}

// Run prints the path of the file.
func (c *settingsPathCmd) Run(e *env) error {
	path, _ := settingsPath(e.args)
	if path == "" {
		return errNoSettings
	}
	_, err := fmt.Fprintln(e.stdout, path)
	return err
}

var errNoSettings = usagef("no place for settings: neither XDG_CONFIG_HOME nor HOME is set to an absolute path; give a file with --config")

// writeSetting changes one line of the settings file and leaves the other lines unchanged. If value is "", it removes
// the line. Before writing the new text, it parses the text. If the file does not have one setting per line, parsing
// fails, and the user has to change the file by hand.
func (e *env) writeSetting(s *setting, value string) error {
	path, _ := settingsPath(e.args)
	if path == "" {
		return errNoSettings
	}
	text, err := readYAML(path)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("settings: %w", err)
	}
	was := &kept{path: path, values: map[string]string{}, lines: map[string]int{}}
	if err := was.parse(text); err != nil {
		return usageError{err}
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.TrimRight(line, "\r\n"))
	}
	line := s.name + `: "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
	switch at := was.lines[s.name]; {
	case at > 0 && value == "":
		lines = append(lines[:at-1], lines[at:]...)
	case at > 0:
		lines[at-1] = line
	case value != "":
		lines = append(lines, line)
	default:
		e.Warn("%s is not set in %s", s.name, path)
		return nil
	}
	now := &kept{path: path, values: map[string]string{}, lines: map[string]int{}}
	out := strings.Join(lines, "\n")
	if out != "" {
		out += "\n"
	}
	delete(was.values, s.name)
	if value != "" {
		was.values[s.name] = value
	}
	if err := now.parse([]byte(out)); err != nil || fmt.Sprint(now.values) != fmt.Sprint(was.values) {
		return fmt.Errorf("%s is not in the form of lines NAME: VALUE: change %s there by hand", path, s.name)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	if err := atomicfile.Write(path, func(w io.Writer) error { _, err := io.WriteString(w, out); return err }); err != nil {
		return atomicfile.Named(path, err)
	}
	e.Warn("written: %s", path)
	return nil
}
