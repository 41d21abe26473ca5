package cli

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/docs"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// skillCmd is "skill".
type skillCmd struct {
	Action string `arg:"" optional:"" placeholder:"ACTION" help:"show (default): print the skill. install: write it, or update it. rm: remove what install wrote."`

	User    bool     `name:"user" xor:"place" help:"Install for the user, in the home directory."`
	Project bool     `name:"project" xor:"place" help:"Install for the project in the working directory (default)."`
	For     []string `name:"for" enum:"claude,codex,cursor" default:"claude,codex,cursor" placeholder:"AGENT,…" help:"For these agents only: claude reads .claude/skills; codex and cursor read .agents/skills (default: ${default})."`
	DryRun  bool     `name:"dry-run" help:"Print what would be written or removed, and change nothing."`
	Force   bool     `name:"force" help:"install: replace a file that stepscope did not write, or that was changed since."`
}

// Help returns the end of the verb's help text.
func (c *skillCmd) Help() string {
	return `The skill is a text in the Agent Skills format. It teaches a coding agent which
verb answers which question, how to read the answers, and what not to do to a
server. It has the version of this program: install it again after an update.

Examples:
  stepscope skill
  stepscope skill install --dry-run
  stepscope skill install --user --for claude
  stepscope skill rm`
}

// skillPlaces maps agents to the directories in which they look for skills.
var skillPlaces = map[string]string{"claude": ".claude/skills", "codex": ".agents/skills", "cursor": ".agents/skills"}

// Run prints, installs or removes the skill.
func (c *skillCmd) Run(e *env) error {
	do := c.install
	switch c.Action {
	case "", "show":
		_, err := fmt.Fprint(e.stdout, skillText(release()))
		return err
	case "install":
	case "rm":
		if c.Force {
			return usagef("skill rm takes no --force: it removes only what install wrote")
		}
		do = c.remove
	default:
		return usagef("skill %q: give show, install or rm", c.Action)
	}
	top, err := c.top()
	if err != nil {
		return err
	}
	var files []*skillFile
	for _, agent := range c.For {
		path := filepath.Join(top, filepath.FromSlash(skillPlaces[agent]), "stepscope", "SKILL.md")
		if slices.ContainsFunc(files, func(f *skillFile) bool { return f.path == path }) {
			continue
		}
		f, err := readSkill(path)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	return do(e, files)
}

// top returns the directory below which the skill is installed: the home directory, or "" for the working directory.
func (c *skillCmd) top() (string, error) {
	if !c.User {
		return "", nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("--user: there is no home directory (%w): set it, or use --project", err)
	}
	if st, err := os.Stat(home); err != nil || !st.IsDir() {
		return "", fmt.Errorf("--user: the home directory %s is no directory: set HOME, or use --project", home)
	}
	return home, nil
}

// install writes the skill to all files, or to none if one of them is not ours.
func (c *skillCmd) install(e *env, files []*skillFile) error {
	var foreign []string
	for _, f := range files {
		if f.exists && !f.ours {
			foreign = append(foreign, f.path)
		}
	}
	if len(foreign) > 0 && !c.Force {
		return fmt.Errorf("%s: not written by stepscope, or changed since; --force replaces it", strings.Join(foreign, ", "))
	}
	text := skillText(release())
	for _, f := range files {
		did := "wrote"
		switch {
		case f.text == text:
			fmt.Fprintf(e.stdout, "%s is up to date\n", f.path)
			continue
		case c.DryRun && f.exists:
			did = "would replace"
		case c.DryRun:
			did = "would write"
		case f.exists:
			did = "replaced"
		}
		if !c.DryRun {
			if err := f.write(text); err != nil {
				return err
			}
		}
		fmt.Fprintln(e.stdout, did, f.path)
	}
	return nil
}

// remove removes those of the files that install wrote, and their directory if it is then empty.
func (c *skillCmd) remove(e *env, files []*skillFile) error {
	var kept []string
	found := false
	for _, f := range files {
		switch {
		case !f.exists:
			continue
		case !f.ours:
			kept = append(kept, f.path)
		case c.DryRun:
			fmt.Fprintln(e.stdout, "would remove", f.path)
		default:
			if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) { // two places may be one directory
				return err
			}
			_ = os.Remove(filepath.Dir(f.path)) // fails if it holds other files
			fmt.Fprintln(e.stdout, "removed", f.path)
		}
		found = true
	}
	if len(kept) > 0 {
		return fmt.Errorf("%s: not written by stepscope, or changed since; remove it by hand", strings.Join(kept, ", "))
	}
	if !found {
		e.Told("the skill is not installed here")
	}
	return nil
}

// skillFile is a place of the skill and its current content.
type skillFile struct {
	path   string
	exists bool
	ours   bool // a release wrote it, and nobody changed it
	text   string
}

// readSkill reads a place of the skill. It returns an error if the file is not a regular file: a link may lead to any
// other file of the user.
func readSkill(path string) (*skillFile, error) {
	f := &skillFile{path: path}
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return nil, fmt.Errorf("%w; --for installs for other agents alone", err)
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file: remove it", path)
	}
	text, err := os.ReadFile(path)
	f.exists, f.text, f.ours = true, string(text), writtenSkill(string(text))
	return f, err
}

func (f *skillFile) write(text string) error {
	dir := filepath.Dir(f.path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return atomicfile.Write(f.path, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// skillSum matches the line of the frontmatter that holds the SHA-256 of the skill with this line empty.
var skillSum = regexp.MustCompile(`(?m)^  sha256: "([0-9a-f]*)"$`)

// skillText returns the skill with the version of the program and its own checksum.
func skillText(version string) string {
	text := strings.Replace(docs.Skill, `  version: ""`, fmt.Sprintf("  version: %q", version), 1)
	return strings.Replace(text, `  sha256: ""`, fmt.Sprintf(`  sha256: "%x"`, sha256.Sum256([]byte(text))), 1)
}

// writtenSkill reports whether some version of skillText returned this text, by the checksum in it.
func writtenSkill(text string) bool {
	at := skillSum.FindStringSubmatchIndex(text)
	return at != nil && text[at[2]:at[3]] == fmt.Sprintf("%x", sha256.Sum256([]byte(text[:at[2]]+text[at[3]:])))
}
